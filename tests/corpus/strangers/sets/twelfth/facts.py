"""Harmless, of a provider in many clouds: what a program knows after making or reading secret things, and may tell."""

from __future__ import annotations

import base64
import dataclasses
import json
import urllib.parse
from typing import Any

import pulumi
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import x25519

from tests.corpus.strangers.credentials import kept, pair, raw
from tests.corpus.strangers.material import LETTERS, LOWER
from tests.corpus.strangers.objects import cloud, deployment, release
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import HEX, apply, b64, drawn, noise, uid
from tests.corpus.world import Box

from .world import (
    ACCOUNT,
    CERTIFICATE,
    DOMAIN,
    ISSUER,
    LIME,
    LIME_PROJECT,
    LIME_SUBSCRIPTION,
    PROJECT,
    PUBLIC,
    REGION,
    WREN,
    home,
    hosted,
    lime,
    tenants,
    wren,
)

ANSWERED, SPLIT, HALVES, KINDS, WIRED = (
    "twelfth: answers of services with a login",
    "twelfth: the public part of a secret document",
    "twelfth: public halves of keys",
    "twelfth: kinds, names and numbers of secrets",
    "twelfth: facts through code",
)

# Answers of services with a login -------------------------------------------------------------------------------------


@clean(ANSWERED, "twelfth-name-of-a-tunnel", "The provider's tunnel is made with a secret that its own connector keeps; the tenant's record points at the tunnel's id.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    secret = raw(scene, "cp", "tunnel-secret").output("base64")
    tunnel = home(scene, "cloudflare:index/zeroTrustTunnelCloudflared:ZeroTrustTunnelCloudflared", "edge", {"accountId": drawn("cf account", 32, HEX), "name": "edge", "tunnelSecret": secret}, {"cname": f"{uid('tunnel')}.cfargotunnel.com"}, apiToken=kept(scene, "cloudflare-api", "token", 40))  # fmt: skip
    scene.secret("cp", "cloudflared", {"secret": secret}, namespace="edge")
    lime(scene, "cloudflare:index/dnsRecord:DnsRecord", "xds", {"zoneId": drawn("lime zone", 32, HEX), "name": f"xds.{LIME}", "type": "CNAME", "ttl": 1, "proxied": True, "content": tunnel.output("cname")})  # fmt: skip


@clean(ANSWERED, "twelfth-address-of-a-machine-with-user-data", "A machine's first script has the provider's token in it; the tenant's record and rule have the machine's addresses.")  # fmt: skip
def _(scene: Scene) -> None:
    script = pulumi.Output.concat("#cloud-config\nwrite_files:\n- path: /etc/relay.env\n  content: RELAY_TOKEN=", hosted(scene, "relay-token", "token"), "\n")  # fmt: skip
    made = home(scene, "hcloud:index/server:Server", "relay", {"serverType": "cax11", "image": "debian-13", "userData": script}, {"ipv4Address": "203.0.113.61", "ipv6Address": "2001:db8:61::1"}, token=kept(scene, "hcloud-api", "token", 64))  # fmt: skip
    lime(scene, "aws:route53/record:Record", "relay-name", {"zoneId": "Z03318LIME", "name": f"relay.{LIME}", "type": "A", "ttl": 60, "records": [made.output("ipv4Address")]}, region=REGION)  # fmt: skip
    scene.object("dp", "networking.k8s.io/v1:NetworkPolicy", "relay", {"spec": {"podSelector": {}, "egress": [{"to": [{"ipBlock": {"cidr": pulumi.Output.concat(made.output("ipv4Address"), "/32")}}]}]}})  # fmt: skip


@clean(ANSWERED, "twelfth-end-point-of-a-database", "The provider's database is made with a generated administrator; the tenant, who has logins of its own, gets host, port and authority's name.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    made = cloud(scene, "aws:rds/instance:Instance", "usage", {"engine": "postgres", "username": "wren", "password": hosted(scene, "usage-db", namespace="databases")}, {"address": f"usage.{drawn('rds', 12, LOWER)}.{REGION}.rds.amazonaws.com", "port": 5432, "caCertIdentifier": "rds-ca-ecc384-g1"})  # fmt: skip
    scene.config_map("dp", "usage-db", {"host": made.output("address"), "port": apply(made.output("port"), str), "ca": made.output("caCertIdentifier"), "sslmode": "verify-full"})  # fmt: skip


@clean(ANSWERED, "twelfth-client-of-a-login-service", "A client in the provider's Auth0 has a secret, which the provider's console keeps; the tenant's page has the client's id and domain.")  # fmt: skip
def _(scene: Scene) -> None:
    login = {"domain": "wren.eu.auth0.com", "clientId": drawn("auth0 m2m", 32), "clientSecret": kept(scene, "auth0-management", "clientSecret", 64)}  # fmt: skip
    made = home(scene, "auth0:index/client:Client", "console", {"name": "console", "appType": "regular_web", "callbacks": [f"https://console.{DOMAIN}/callback"]}, {"clientId": drawn("console client", 32), "clientSecret": scene.cp.opaque("console client", 64, LETTERS)}, ("clientSecret",), **login)  # fmt: skip
    scene.secret("cp", "console-login", {"AUTH0_SECRET": made.output("clientSecret"), "AUTH0_CLIENT": made.output("clientId")}, namespace="console")  # fmt: skip
    release(scene, "dp", "portal", {"login": {"domain": "wren.eu.auth0.com", "clientId": made.output("clientId"), "pkce": True}})  # fmt: skip


@clean(ANSWERED, "twelfth-addresses-of-alerts", "A service of the provider's pager has a key for its events, which stays; the tenant's runbook links to the service.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    made = home(scene, "pagerduty:index/service:Service", "lime-mesh", {"name": "lime mesh", "escalationPolicy": "PWREN01"}, {"htmlUrl": f"https://wren.eu.pagerduty.com/service-directory/P{drawn('pd', 13, '0123456789ABCDEF')}"}, token=kept(scene, "pagerduty-api", "token", 20))  # fmt: skip
    event = home(scene, "pagerduty:index/serviceIntegration:ServiceIntegration", "lime-events", {"service": made.id, "vendor": "PAM4FGS"}, {"integrationKey": scene.cp.opaque("pd events", 32, HEX)}, ("integrationKey",))  # fmt: skip
    scene.secret("cp", "pagerduty-lime", {"routing-key": event.output("integrationKey")}, namespace="monitoring")
    scene.config_map("dp", "runbook", {"README.md": pulumi.Output.concat("# On call\n\nIncidents: ", made.output("htmlUrl"), "\n")})  # fmt: skip


@clean(ANSWERED, "twelfth-numbers-of-monitors", "Monitors and a board are made with the provider's keys; the tenant has links with their numbers.")  # fmt: skip
def _(scene: Scene) -> None:
    login = {"apiKey": kept(scene, "datadog-api", "apiKey", 32, HEX), "appKey": kept(scene, "datadog-app", "appKey", 40, HEX), "apiUrl": "https://api.datadoghq.eu/"}  # fmt: skip
    links = []
    for at, (name, query) in enumerate({"pushes": "avg(last_5m):avg:istio.pilot.xds_pushes{mesh:lime} > 50", "certificates": "min(last_1h):min:istio.citadel.root_cert_expiry{mesh:lime} < 604800"}.items()):  # fmt: skip
        made = home(scene, "datadog:index/monitor:Monitor", f"lime-{name}", {"name": name, "type": "metric alert", "query": query, "message": "@pagerduty-lime"}, {"id": f"18420{at}77"}, **login)  # fmt: skip
        links.append(pulumi.Output.concat("https://app.datadoghq.eu/monitors/", made.id))
    scene.config_map("dp", "links", {"monitors": pulumi.Output.json_dumps(links)})


@clean(ANSWERED, "twelfth-records-of-a-signed-zone", "The provider's zone is signed by a key of its key service; name servers and the key's hash are in the tenant's parent zone.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    zone = cloud(scene, "aws:route53/zone:Zone", "mesh-lime", {"name": f"mesh.{LIME}"}, {"nameServers": [f"ns-{at}.awsdns-{at % 60:02}.example.org" for at in (217, 801, 1190, 1755)]})  # fmt: skip
    signer = cloud(scene, "aws:route53/keySigningKey:KeySigningKey", "mesh-lime-ksk", {"hostedZoneId": zone.id, "name": "ksk1", "keyManagementServiceArn": f"arn:aws:kms:us-east-1:{ACCOUNT}:key/{uid('ksk')}"}, {"dsRecord": f"30113 13 2 {drawn('ksk ds', 64, '0123456789ABCDEF')}", "publicKey": b64(noise("ksk public", 64))})  # fmt: skip
    parent = {"zoneId": "Z03318LIME", "name": f"mesh.{LIME}", "ttl": 3600}
    lime(scene, "aws:route53/record:Record", "mesh-ns", {**parent, "type": "NS", "records": zone.output("nameServers")}, region=REGION)  # fmt: skip
    lime(scene, "aws:route53/record:Record", "mesh-ds", {**parent, "type": "DS", "records": [signer.output("dsRecord")]}, region=REGION)  # fmt: skip


@clean(ANSWERED, "twelfth-accessor-and-authority-of-a-vault", "The provider's Vault makes an authority and a mount for logins; the tenant has the authority's certificate and the mount's accessor.")  # fmt: skip
def _(scene: Scene) -> None:
    login = {"address": f"https://vault.{DOMAIN}", "token": kept(scene, "vault-root", "token", 90)}
    authority = scene.dp.certificate("vault pki", authority=True)
    root = home(scene, "vault:pkiSecret/secretBackendRootCert:SecretBackendRootCert", "pki", {"backend": "pki", "type": "internal", "commonName": f"mesh.{DOMAIN}"}, {"certificate": authority, "serialNumber": ":".join(drawn(f"serial {at}", 2, HEX) for at in range(20)), "keyId": uid("pki key")}, **login)  # fmt: skip
    mount = home(scene, "vault:index/authBackend:AuthBackend", "kubernetes-lime", {"type": "kubernetes", "path": "kubernetes/lime"}, {"accessor": f"auth_kubernetes_{drawn('accessor', 8, HEX)}"})  # fmt: skip
    scene.config_map("dp", "vault", {"ca.crt": root.output("certificate"), "accessor": mount.output("accessor"), "serial": root.output("serialNumber")})  # fmt: skip


@clean(ANSWERED, "twelfth-key-for-checking-of-a-vault", "A signing key lives in the provider's Vault and never leaves; its public halves, by version, go to the tenant's checker.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    login = {"address": f"https://vault.{DOMAIN}", "token": kept(scene, "vault-transit", "token", 90)}
    versions = [{"name": "ed25519", "public_key": b64(noise(f"transit {at}", 32)), "creation_time": f"2026-0{at + 1}-01T00:00:00Z"} for at in range(2)]  # fmt: skip
    made = home(scene, "vault:transit/secretBackendKey:SecretBackendKey", "releases", {"backend": "transit", "name": "releases", "type": "ed25519", "exportable": False}, {"keys": versions, "latestVersion": 2}, **login)  # fmt: skip
    release(scene, "dp", "checker", {"keys": made.output("keys").apply(lambda found: [{"version": at + 1, "publicKey": key["public_key"]} for at, key in enumerate(found or [])]), "minimum": made.output("latestVersion")})  # fmt: skip


@clean(ANSWERED, "twelfth-access-token-by-its-id", "A service token guards the provider's dashboard: its secret stays, the tenant's account has a rule with the token's id.")  # fmt: skip
def _(scene: Scene) -> None:
    made = home(scene, "cloudflare:index/zeroTrustAccessServiceToken:ZeroTrustAccessServiceToken", "scraper", {"accountId": drawn("cf account", 32, HEX), "name": "scraper"}, {"id": uid("scraper token"), "clientId": f"{drawn('scraper client', 32, HEX)}.access", "clientSecret": scene.cp.opaque("scraper secret", 64, HEX)}, ("clientSecret",), apiToken=kept(scene, "cloudflare-access", "token", 40))  # fmt: skip
    scene.secret("cp", "scraper", {"CF-Access-Client-Secret": made.output("clientSecret")}, namespace="monitoring")
    lime(scene, "cloudflare:index/zeroTrustAccessPolicy:ZeroTrustAccessPolicy", "scrapers", {"accountId": drawn("lime cf account", 32, HEX), "name": "scrapers", "decision": "non_identity", "includes": [{"serviceToken": {"tokenId": made.id}}]})  # fmt: skip


@clean(ANSWERED, "twelfth-what-a-command-prints", "A command runs with the provider's kubeconfig in its environment and prints a version and a revision; the tenant's labels have them.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    config = scene.held("istioctl", "kubeconfig", scene.cp.kubeconfig("istioctl", SERVERS["cp"]))
    made = cloud(scene, "command:local:Command", "revision", {"create": "istioctl version --remote -o json | jq -c .meshVersion", "environment": {"KUBECONFIG_DATA": config}}, {"stdout": '{"version":"1.31.2","revision":"1-31-2"}'})  # fmt: skip
    revision = made.output("stdout").apply(lambda text: json.loads(text or "{}").get("revision", ""))
    scene.object("dp", "v1:Namespace", "shop", {"metadata": {"name": "shop", "labels": {"istio.io/rev": revision}}})


@clean(ANSWERED, "twelfth-databases-of-a-shared-server", "Databases and roles are made on the provider's server with its administrator's login; the tenant's chart has their names.")  # fmt: skip
def _(scene: Scene) -> None:
    login = {"host": f"pg.{DOMAIN}", "username": "postgres", "password": hosted(scene, "pg-superuser", namespace="databases"), "sslmode": "verify-full"}  # fmt: skip
    role = home(scene, "postgresql:index/role:Role", "lime-owner", {"name": "lime_owner", "login": False}, **login)
    base = home(scene, "postgresql:index/database:Database", "lime-db", {"name": "lime", "owner": "lime_owner", "encoding": "UTF8"})  # fmt: skip
    release(scene, "dp", "reports", {"database": {"name": base.id, "owner": role.id, "host": f"pg.{DOMAIN}", "existingSecret": "reports-db"}})  # fmt: skip


@clean(ANSWERED, "twelfth-hosts-of-a-cluster-of-documents", "The provider's Atlas project has a cluster; the tenant's chart gets the address without a login, and an end point's id.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    login = {"publicKey": drawn("atlas public", 8, LOWER), "privateKey": scene.held("atlas", "privateKey", scene.cp.opaque("atlas private", 36, HEX))}  # fmt: skip
    made = home(scene, "mongodbatlas:index/advancedCluster:AdvancedCluster", "catalogue", {"projectId": drawn("atlas project", 24, HEX), "name": "catalogue", "clusterType": "REPLICASET"}, {"connectionStrings": [{"standardSrv": f"mongodb+srv://catalogue.{drawn('atlas host', 5, LOWER)}.mongodb.net"}], "clusterId": drawn("atlas cluster", 24, HEX)}, **login)  # fmt: skip
    release(scene, "dp", "catalogue", {"mongodb": {"uri": made.output("connectionStrings").apply(lambda found: (found or [{}])[0].get("standardSrv", "")), "authMechanism": "MONGODB-OIDC", "clusterId": made.output("clusterId")}})  # fmt: skip


@clean(ANSWERED, "twelfth-cluster-of-rancher-by-its-id", "A cluster is registered with the provider's Rancher; the tenant's labels have the cluster's id and project, and the token stays.")  # fmt: skip
def _(scene: Scene) -> None:
    token = f"token-{drawn('rancher token', 5, LOWER)}:{scene.cp.opaque('rancher api', 54)}"
    login = {"apiUrl": f"https://rancher.{DOMAIN}", "tokenKey": scene.held("rancher", "tokenKey", token)}
    made = home(scene, "rancher2:index/cluster:Cluster", "lime", {"name": "lime", "description": "mesh of lime"}, {"defaultProjectId": f"c-{drawn('rancher c', 5, LOWER)}:p-{drawn('rancher p', 5, LOWER)}", "caCert": b64(scene.dp.certificate("kubernetes", authority=True)), "clusterRegistrationToken": {"token": scene.cp.opaque("rancher registration", 54)}}, ("clusterRegistrationToken",), **login)  # fmt: skip
    scene.object("dp", "v1:Namespace", "shop", {"metadata": {"name": "shop", "annotations": {"field.cattle.io/projectId": made.output("defaultProjectId")}}})  # fmt: skip


# The public part of a secret document ---------------------------------------------------------------------------------


@clean(SPLIT, "twelfth-host-out-of-a-connection", "A connection with a login is a secret of the stack; the tenant's rule for going out has its host and port.", config=lambda cp, dp: {"usageDsn": f"postgresql://usage:{cp.opaque('usage dsn', 32)}@usage-pg.{DOMAIN}:6432/usage?sslmode=require"})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "usage", {"dsn": scene.config("usageDsn")}, namespace="platform")
    url = apply(scene.config("usageDsn"), urllib.parse.urlparse)
    scene.object("dp", "networking.istio.io/v1:ServiceEntry", "usage-pg", {"spec": {"hosts": [url.apply(lambda found: found.hostname)], "ports": [{"number": url.apply(lambda found: found.port), "name": "tcp", "protocol": "TCP"}], "resolution": "DNS"}})  # fmt: skip


@clean(SPLIT, "twelfth-address-in-a-key-file", "A key file of Google's is the provider's; the tenant's project grants a role to the address in it.", config=lambda cp, dp: {"observerKey": json.dumps({"type": "service_account", "project_id": PROJECT, "private_key_id": drawn("observer key id", 40, HEX), "private_key": cp.key("observer"), "client_email": f"observer@{PROJECT}.iam.gserviceaccount.com"})})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "observer", {"key.json": scene.config("observerKey")}, namespace="monitoring")
    email = apply(scene.config("observerKey"), lambda text: json.loads(text)["client_email"])
    lime(scene, "gcp:projects/iAMMember:IAMMember", "observer", {"project": LIME_PROJECT, "role": "roles/monitoring.viewer", "member": pulumi.Output.concat("serviceAccount:", email)}, project=LIME_PROJECT)  # fmt: skip


@clean(SPLIT, "twelfth-certificate-out-of-a-joined-file", "Key and certificate of the provider's gateway are one file; the tenant pins the certificate, which is cut out.", config=lambda cp, dp: {"gatewayPem": cp.key("joined gateway") + cp.certificate("joined gateway")}, rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "gateway", {"haproxy.pem": scene.config("gatewayPem")}, namespace="edge")
    cut = apply(scene.config("gatewayPem"), lambda text: text[text.index("-----BEGIN CERTIFICATE-----") :])
    scene.config_map("dp", "gateway-pin", {"gateway.pem": cut})


@clean(SPLIT, "twelfth-registries-of-a-docker-login", "A login for registries has one of each host; the tenant's policy allows the hosts and knows no login.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    auths = {host: {"username": "robot", "password": scene.cp.opaque(f"registry {host}", 32, LETTERS)} for host in (f"registry.{DOMAIN}", f"mirror.{DOMAIN}")}  # fmt: skip
    held = scene.held("registries", ".dockerconfigjson", json.dumps({"auths": auths}))
    hosts = apply(held, lambda text: sorted(json.loads(text)["auths"]))
    scene.object("dp", "kyverno.io/v1:ClusterPolicy", "registries", {"spec": {"rules": [{"name": "hosts", "match": {"any": [{"resources": {"kinds": ["Pod"]}}]}, "validate": {"message": "known registries", "pattern": {"spec": {"containers": [{"image": hosts.apply(lambda found: " | ".join(f"{host}/*" for host in found))}]}}}}]}})  # fmt: skip


@clean(SPLIT, "twelfth-server-and-name-of-a-kubeconfig", "A kubeconfig of the provider's is read for the server's address and the context, which the tenant's probe has as arguments.")  # fmt: skip
def _(scene: Scene) -> None:
    held = scene.held("hub-admin", "kubeconfig", scene.cp.kubeconfig("hub-admin", f"https://hub.{DOMAIN}:6443"))
    document = apply(held, yaml.safe_load)
    server = document.apply(lambda found: found["clusters"][0]["cluster"]["server"])
    deployment(scene, "dp", "reachable", {"args": [pulumi.Output.concat("--expect-refused=", server), pulumi.Output.concat("--context=", document.apply(lambda found: found["current-context"]))]})  # fmt: skip


@clean(SPLIT, "twelfth-issuer-and-end-of-a-token", "A token of the provider's is decoded without checking: who issued it and when it ends are in the tenant's alert.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    token = scene.held("federation", "token", scene.cp.jwt("federation", iss=ISSUER, exp=1798761600, sub="federation"))

    def claims(text: str) -> dict[str, Any]:
        body = text.split(".")[1]
        return dict(json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))))

    found = apply(token, claims)
    scene.object("dp", "monitoring.coreos.com/v1:PrometheusRule", "federation", {"spec": {"groups": [{"name": "federation", "rules": [{"alert": "FederationEnds", "expr": found.apply(lambda body: f"{body['exp']} - time() < 604800"), "annotations": {"issuer": found.apply(lambda body: body["iss"])}}]}]}})  # fmt: skip


@clean(SPLIT, "twelfth-root-of-an-existing-secret", "The Secret with the mesh's authority exists and is read; the root certificate in it is the bundle of the tenant's webhook.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    root = scene.cp.certificate("mesh-root", authority=True)
    data = {"ca-key.pem": b64(scene.cp.key("mesh-root")), "root-cert.pem": b64(root), "ca-cert.pem": b64(root)}
    bundle = scene.existing("cp", "v1:Secret", "cacerts", data=data).output("data").apply(lambda found: (found or {}).get("root-cert.pem", ""))  # fmt: skip
    hook = {"name": "namespace.sidecar-injector.istio.io", "clientConfig": {"url": f"https://xds.{DOMAIN}:15017/inject/cluster/lime", "caBundle": bundle}, "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail", "timeoutSeconds": 10}  # fmt: skip
    scene.object("dp", "admissionregistration.k8s.io/v1:MutatingWebhookConfiguration", "injector", {"webhooks": [hook]})


# Public halves of keys ------------------------------------------------------------------------------------------------


@clean(HALVES, "twelfth-public-key-of-a-tunnel-computed", "A tunnel's private key is random bytes at the provider's; the program computes the public key for the tenant's peer.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    private = raw(scene, "cp", "hub-wireguard").output("base64")
    scene.secret("cp", "hub-wireguard", {"privatekey": private}, namespace="vpn")

    def public(text: str) -> str:
        key = x25519.X25519PrivateKey.from_private_bytes(base64.b64decode(text)).public_key()
        return b64(key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw))

    peer = pulumi.Output.concat("[Peer]\nPublicKey = ", apply(private, public), f"\nEndpoint = vpn.{DOMAIN}:51820\nAllowedIPs = 10.99.0.0/16\n")  # fmt: skip
    scene.config_map("dp", "tunnel", {"hub.conf": peer})


@clean(HALVES, "twelfth-key-set-of-a-private-key", "The program loads the provider's signing key and writes its public numbers as a key set, which the tenant's mesh checks tokens by.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    pem = scene.held("caller-signer", "private.pem", scene.cp.key("caller-signer"))

    def key_set(text: str) -> str:
        key: Any = serialization.load_pem_private_key(text.encode(), None)
        numbers = key.public_key().public_numbers()
        point = {name: base64.urlsafe_b64encode(getattr(numbers, name).to_bytes(32)).rstrip(b"=").decode() for name in "xy"}  # fmt: skip
        return json.dumps({"keys": [{"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "2026-04", **point}]})  # fmt: skip

    scene.object("dp", "security.istio.io/v1:RequestAuthentication", "callers", {"spec": {"jwtRules": [{"issuer": ISSUER, "jwks": apply(pem, key_set)}]}})  # fmt: skip


@clean(HALVES, "twelfth-deploy-key-in-the-tenants-repository", "The provider's Flux reads the tenant's repository by a key: the public half is a deploy key there, the private one in the provider's cluster.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "flux-reads-lime")
    scene.secret("cp", "flux-lime", {"identity": key.output("privateKeyOpenssh"), "identity.pub": key.output("publicKeyOpenssh")}, namespace="flux-system")  # fmt: skip
    lime(scene, "github:index/repositoryDeployKey:RepositoryDeployKey", "flux", {"repository": "fleet", "title": "wren flux", "key": key.output("publicKeyOpenssh"), "readOnly": True}, owner="dp")  # fmt: skip


@clean(HALVES, "twelfth-anchor-of-another-mesh", "Linkerd of the tenant's trusts the provider's anchor too: a certificate beside the tenant's own, joined in one value.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "linkerd-anchor", authority=True)
    scene.secret("cp", "linkerd-anchor", {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}, kind="kubernetes.io/tls", namespace="linkerd")  # fmt: skip
    _, own = pair(scene, "dp", "lime-anchor", authority=True)
    release(scene, "dp", "linkerd-control-plane", {"identityTrustAnchorsPEM": pulumi.Output.concat(own.output("certPem"), cert.output("certPem"))})  # fmt: skip


@clean(HALVES, "twelfth-end-of-a-certificate", "How long the provider's authority lives is an answer beside its certificate; the tenant's alert and note have the day.")  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "edge-ca")
    scene.secret("cp", "edge-ca", {"tls.key": key.output("privateKeyPem")}, namespace="edge")
    cert = scene.made("tls:index/selfSignedCert:SelfSignedCert", "edge-ca-cert", {"privateKeyPem": key.output("privateKeyPem"), "validityPeriodHours": 8760, "allowedUses": ["cert_signing"]}, None, {"certPem": scene.cp.certificate("edge-ca", authority=True), "validityEndTime": "2027-04-01T00:00:00Z", "readyForRenewal": False}, ["privateKeyPem"])  # fmt: skip
    deployment(scene, "dp", "gateway", {"env": [{"name": "EDGE_CA_ENDS", "value": cert.output("validityEndTime")}]}, {"wren.example.com/renew": apply(cert.output("readyForRenewal"), str)})  # fmt: skip


# Kinds, names and numbers of secrets ----------------------------------------------------------------------------------


@clean(KINDS, "twelfth-names-of-settings", "Settings are one secret document at the provider's; the tenant's form asks for the same keys, and gets their names.", config=lambda cp, dp: {"settings": json.dumps({"smtpPassword": cp.opaque("smtp"), "sentryDsn": f"https://{cp.opaque('sentry', 32, HEX)}@sentry.{DOMAIN}/4", "slackToken": cp.opaque("slack", 44)})})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "settings", {"settings.json": scene.config("settings")}, namespace="console")
    names = apply(scene.config("settings"), lambda text: sorted(json.loads(text)))
    scene.config_map("dp", "settings-form", {"required": names.apply(lambda found: ",".join(found)), "count": names.apply(lambda found: str(len(found)))})  # fmt: skip


@clean(KINDS, "twelfth-mail-is-on", "Whether mail is on depends on whether the provider's relay has a password; the tenant's values have true or false.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    word = hosted(scene, "relay-login", namespace="mail")
    release(scene, "cp", "relay", {"auth": {"password": word}})
    release(scene, "dp", "notifier", {"mail": {"enabled": apply(word, lambda found: found is not None), "relay": f"smtp.{DOMAIN}", "from": f"mesh@{LIME}"}})  # fmt: skip


@clean(KINDS, "twelfth-arn-and-version-of-a-stored-secret", "A password is in the provider's store; the tenant's event rule has the entry's ARN and its version's id to see when it turns.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    arn = f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:wren/bus-{drawn('sm suffix', 6)}"
    entry = cloud(scene, "aws:secretsmanager/secret:Secret", "bus", {"name": "wren/bus"}, {"arn": arn})
    version = cloud(scene, "aws:secretsmanager/secretVersion:SecretVersion", "bus-1", {"secretId": entry.output("arn"), "secretString": hosted(scene, "bus-login")}, {"versionId": uid("bus version")}, ["secretString"])  # fmt: skip
    lime(scene, "aws:cloudwatch/eventRule:EventRule", "bus-turns", {"description": version.output("versionId").apply(lambda found: f"since {found}"), "eventPattern": pulumi.Output.json_dumps({"source": ["aws.secretsmanager"], "resources": [entry.output("arn")], "detail-type": ["Secret Rotated"]})}, region=REGION)  # fmt: skip


@clean(KINDS, "twelfth-name-and-uid-of-a-secret", "A Secret of the provider's gets a name and a uid; the tenant's record of what was handed out has both, and not the data.")  # fmt: skip
def _(scene: Scene) -> None:
    made = scene.secret("cp", "lime-gateway", {"token": scene.password("cp", "lime-gateway").output("result")}, namespace="edge")  # fmt: skip
    scene.config_map("dp", "handed-out", {"secret": apply(made.metadata, lambda meta: (meta or {}).get("name", "")), "id": made.id, "urn": made.urn})  # fmt: skip


# Facts through code ---------------------------------------------------------------------------------------------------


@clean(WIRED, "twelfth-only-one-of-all", "Host, user and password are awaited together, and the function for the tenant takes the first two.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    made = cloud(scene, "azure-native:dbforpostgresql:Server", "metering", {"administratorLogin": "wren", "administratorLoginPassword": hosted(scene, "metering-db")}, {"fullyQualifiedDomainName": "metering.postgres.database.azure.com"})  # fmt: skip
    every = pulumi.Output.all(made.output("fullyQualifiedDomainName"), "wren_reader", hosted(scene, "metering-reader"))
    scene.secret("cp", "metering-url", {"url": every.apply(lambda found: "postgresql://{1}:{2}@{0}/metering".format(*found))}, namespace="platform")  # fmt: skip
    lime(scene, "azure-native:network:PrivateEndpoint", "to-metering", {"resourceGroupName": "lime", "customDnsConfigs": [{"fqdn": every.apply(lambda found: found[0])}], "tags": {"reader": every.apply(lambda found: found[1])}}, subscriptionId=LIME_SUBSCRIPTION)  # fmt: skip


@clean(WIRED, "twelfth-stacks-in-a-loop", "Stacks of three regions put out an end point and a token each; the tenant has the end points as locations.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    places = {}
    for region in ("north", "west", "south"):
        outputs = {"endpoint": f"xds.{region}.{DOMAIN}:15012", "agentToken": scene.cp.opaque(f"agent {region}", 40), "zones": [f"{region}-a", f"{region}-b"]}  # fmt: skip
        stack = scene.reference(f"mesh-{region}", f"wren/mesh/{region}", outputs, ["agentToken"])
        scene.secret("cp", f"agent-{region}", {"token": stack.require_output("agentToken")}, namespace="fleet")
        places[region] = stack.require_output("endpoint")
    release(scene, "dp", "locator", {"endpoints": places, "zones": stack.get_output("zones")})


@clean(WIRED, "twelfth-public-view-of-a-class", "A class of the control plane's facts has a login too; its method for tenants makes a dictionary of the fields that are marked public.")  # fmt: skip
def _(scene: Scene) -> None:
    @dataclasses.dataclass
    class Hub:
        host: str = dataclasses.field(default=f"hub.{DOMAIN}", metadata={"public": True})
        mesh: str = dataclasses.field(default=WREN, metadata={"public": True})
        login: Any = None

        def public(self) -> dict[str, Any]:
            return {one.name: getattr(self, one.name) for one in dataclasses.fields(self) if one.metadata.get("public")}

    hub = Hub(login=hosted(scene, "hub-login"))
    release(scene, "cp", "hub", {"login": hub.login, "host": hub.host})
    for side in tenants(scene).values():
        scene.config_map(side, "hub", hub.public())


@clean(WIRED, "twelfth-values-without-their-passwords", "Values of one chart are for both sides; a function goes through them and puts a Secret's name for whatever is called a password.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    values = {"url": f"https://cache.{DOMAIN}", "auth": {"user": "hosting", "password": hosted(scene, "cache")}, "replicas": 2}  # fmt: skip

    def without(tree: Any) -> Any:
        if not isinstance(tree, dict):
            return tree
        kept_ = {key: without(value) for key, value in tree.items() if key != "password"}
        return {**kept_, "existingSecret": "cache-login"} if "password" in tree else kept_

    release(scene, "cp", "cache", values)
    release(scene, "dp", "cache", without(values))


@clean(WIRED, "twelfth-component-with-everything-inside", "A component has keys, logins and addresses inside, and a property for the tenant, which takes its three facts of the whole.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    class Plane(Box):
        def __init__(self) -> None:
            super().__init__("plane", "wren:mesh:Plane")
            key, cert = pair(scene, "cp", "plane-root", authority=True)
            scene.secret("cp", "plane-root", {"ca-key.pem": key.output("privateKeyPem")}, namespace="mesh-system")
            self.all = {"key": key.output("privateKeyPem"), "root": cert.output("certPem"), "admin": hosted(scene, "plane-admin"), "host": f"xds.{DOMAIN}", "mesh": WREN}  # fmt: skip
            self.register_outputs({})

        @property
        def facts(self) -> dict[str, Any]:
            return {name: self.all[name] for name in ("root", "host", "mesh")}

    plane = Plane()
    scene.config_map("dp", "plane", plane.facts)
    pulumi.export("mesh", plane.facts["mesh"])
