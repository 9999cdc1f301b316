"""Programs about DNS: leaks, and harmless neighbours."""

from __future__ import annotations

import base64
import textwrap

import pulumi

from tests.corpus.blind_corpus.credentials import kept
from tests.corpus.blind_corpus.objects import release
from tests.corpus.blind_corpus.program import clean, leak
from tests.corpus.blind_corpus.recover import after, each
from tests.corpus.blind_corpus.scene import Scene
from tests.corpus.blind_corpus.values import HEX, apply, b64, drawn, noise
from tests.corpus.blind_corpus.worlds import grid, kiln, lantern, loom, osprey


@leak(grid.ACCOUNTS, "mail-key-in-pieces", "A DKIM record in the tenant's zone is split at 255 letters; the key is the private half of the platform's pair.", "DKIM keys", recover=each(lambda text: b"".join(text.split(b'""')).split(b"p=")[1].strip(b'"'), base64.b64decode, lambda der: base64.b64encode(der).replace(b"\n", b"")))  # fmt: skip
def _(scene: Scene) -> None:
    der = b64(scene.cp.key_der("dkim"))
    scene.cp.given.append(der)
    key = scene.held("dkim", "private.der", der)
    text = apply(key, lambda found: '"' + '""'.join(textwrap.wrap(f"v=DKIM1; k=ed25519; p={found}", 120, break_on_hyphens=False)) + '"')  # fmt: skip
    grid.birch(scene, "aws:route53/record:Record", "dkim", {"zoneId": "Z0BIRCH", "name": f"grid._domainkey.{grid.BIRCH}", "type": "TXT", "ttl": 300, "records": [text]}, region=grid.REGION)  # fmt: skip


@clean(osprey.HALVES, "fact-signature-record-of-mail", "The provider's mail server signs for the tenant's domain; the public key is a record in the tenant's zone.")  # fmt: skip
def _(scene: Scene) -> None:
    osprey.hub(scene)
    scene.secret("cp", "dkim", {"alder.private": pulumi.Output.secret(scene.cp.rsa("dkim alder"))}, namespace="mail")
    record = f"v=DKIM1; k=ed25519; p={b64(noise('dkim public', 32))}"
    osprey.alder(scene, "cloudflare:index/dnsRecord:DnsRecord", "dkim-record", {"zoneId": drawn("alder zone", 32, HEX), "name": f"osprey._domainkey.{osprey.ALDER}", "type": "TXT", "ttl": 3600, "content": record})  # fmt: skip


@clean(osprey.ISSUED, "issued-key-for-one-zone", "A key by which the tenant updates its own zone on the provider's name server: the server has it under the tenant's name, and the tenant's external-dns.")  # fmt: skip
def _(scene: Scene) -> None:
    osprey.hub(scene)
    for name, side in osprey.both(scene).items():
        word = osprey.theirs(scene, "tsig", 44, tenant=name)
        scene.secret(
            "cp", f"tsig-{name}", {"name": f"{name}.{osprey.DOMAIN}.", "secret": word}, namespace=f"tenant-{name}"
        )
        scene.secret(side, "rfc2136", {"rfc2136_tsig_keyname": f"{name}.{osprey.DOMAIN}.", "rfc2136_tsig_secret": word}, namespace="external-dns")  # fmt: skip


@leak(osprey.MESHES, "account-key-of-acme", "The tenant's issuer is to use the same ACME account: its key, which the provider's issuer made its account with, is copied.", "cert-manager ACME account keys")  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "acme-account")
    scene.secret("cp", "acme-account", {"tls.key": key.output("privateKeyPem")}, namespace="cert-manager")
    for side in ("cp", "dp"):
        acme = {"server": "https://acme-v02.api.letsencrypt.org/directory", "email": f"tls@{osprey.DOMAIN}", "privateKeySecretRef": {"name": "acme-account"}, "disableAccountKeyGeneration": side == "dp", "solvers": [{"http01": {"gatewayHTTPRoute": {"labels": {"mesh": osprey.MESH}}}}]}  # fmt: skip
        scene.object(side, "cert-manager.io/v1:ClusterIssuer", "acme", {"spec": {"acme": acme}})
    scene.secret("dp", "acme-account", {"tls.key": key.output("privateKeyPem")}, namespace="cert-manager")


@leak(osprey.STORES, "names-by-the-hubs-account", "external-dns has the same environment in both clusters, since its values were copied: the provider's AWS key is in it.", "external-dns credentials, an env block copied")  # fmt: skip
def _(scene: Scene) -> None:
    secret = kept(scene, "route53", "secretAccessKey", 40)
    env = [{"name": "AWS_REGION", "value": osprey.REGION}, {"name": "AWS_ACCESS_KEY_ID", "value": f"AKIA{drawn('route53', 16)}"}, {"name": "AWS_SECRET_ACCESS_KEY", "value": secret}]  # fmt: skip
    for side, zone in (("cp", osprey.DOMAIN), ("dp", osprey.ALDER)):
        release(scene, side, "external-dns", {"provider": {"name": "aws"}, "domainFilters": [zone], "txtOwnerId": side, "env": env})  # fmt: skip


@clean(loom.MADE, "hosts-out-of-a-gateways-status", "The mesh team's gateway answers its address; the tenant's remote profile and a record of its zone get it.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    loom.loom(scene)
    gateway = scene.answered("cp", "gateway.networking.k8s.io/v1:Gateway", "xds", {"spec": {"gatewayClassName": "istio", "listeners": [{"name": "xds", "hostname": f"xds.{loom.DOMAIN}", "port": 15012, "protocol": "TLS", "tls": {"mode": "Passthrough"}}]}}, status={"addresses": [{"type": "IPAddress", "value": "198.51.100.41"}]})  # fmt: skip
    address = gateway.output("status").apply(lambda status: ((status or {}).get("addresses") or [{"value": "192.0.2.1"}])[0]["value"])  # fmt: skip
    release(scene, "dp", "istiod-remote", {"istiodRemote": {"enabled": True}, "global": {"remotePilotAddress": address, "externalIstiod": True, "meshID": loom.LOOM}})  # fmt: skip
    loom.maple(scene, "aws:route53/record:Record", "xds", {"zoneId": "Z04417MAPLE", "name": f"xds.mesh.{loom.MAPLE}", "type": "A", "ttl": 60, "records": [address]}, region=loom.REGION)  # fmt: skip


loom.files(
    loom.FILES, "zone-with-public-keys", "a zone with public keys and challenges", {f"db.{loom.MAPLE}": loom.ZONE}
)


@kiln.clean(kiln.READ, "status-of-the-teams-gateway", "The team's gateway answers with an address, which is in the tenant's entry and zone.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    kiln.workshop(scene)
    gate = scene.answered("cp", "v1:Service", "xds", {"spec": {"type": "LoadBalancer", "loadBalancerSourceRanges": ["192.0.2.0/24"], "ports": [{"name": "tls-xds", "port": 15012}]}}, status={"loadBalancer": {"ingress": [{"ip": "198.51.100.7"}]}})  # fmt: skip
    address = gate.output("status").apply(lambda found: ((found or {}).get("loadBalancer") or {"ingress": [{"ip": "pending"}]})["ingress"][0]["ip"])  # fmt: skip
    scene.object("dp", "networking.istio.io/v1:ServiceEntry", "xds", {"spec": {"hosts": [f"xds.{kiln.DOMAIN}"], "resolution": "STATIC", "ports": [{"number": 15012, "name": "tls-xds", "protocol": "TLS"}], "endpoints": [{"address": address}]}})  # fmt: skip
    kiln.account(scene, "fern", "aws:route53/record:Record", "xds", {"zoneId": "Z05533FERN", "name": f"xds.{kiln.FERN}", "type": "A", "ttl": 60, "records": [address]}, region=kiln.REGION)  # fmt: skip


@lantern.leak(lantern.CHARTS, "key-of-transfers-in-an-argument", "The tenant's external-dns has the key for the hub's zone as an argument, since it reads no file for it.", "external-dns rfc2136", recover=each(after(b"--rfc2136-tsig-secret=")))  # fmt: skip
def _(scene: Scene) -> None:
    made = scene.cp.raw("lantern tsig")
    scene.cp.given.append(b64(made))
    held = scene.held("tsig", "secret", b64(made))
    args = ["--source=service", "--provider=rfc2136", f"--rfc2136-host=ns1.{lantern.DOMAIN}", "--rfc2136-tsig-keyname=lantern", pulumi.Output.concat("--rfc2136-tsig-secret=", held)]  # fmt: skip
    scene.object("dp", "apps/v1:Deployment", "external-dns", {"spec": {"selector": {"matchLabels": {"app": "dns"}}, "template": {"metadata": {"labels": {"app": "dns"}}, "spec": {"containers": [{"name": "dns", "image": "external-dns:v0.15.0", "args": args}]}}}})  # fmt: skip


@lantern.leak(lantern.NOTES, "noted-login-in-a-dns-record", "A login with a reason is in a text record of the tenant's zone, so that agents find it.", "data-plane-owned")  # fmt: skip
def _(scene: Scene) -> None:
    login = scene.password("cp", "enrolment").output("result")
    lantern.kept_for(scene, "aster", "enrolment", login)
    lantern.account(scene, "aster", "aws:route53/record:Record", "enrol", {"zoneId": "Z07719ASTER", "name": f"_enrol.{lantern.ASTER}", "type": "TXT", "ttl": 300, "records": [pulumi.Output.concat("v=lantern1; p=", login)]}, region=lantern.REGION)  # fmt: skip
