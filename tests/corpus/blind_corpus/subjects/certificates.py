"""Programs about certificates: leaks, and harmless neighbours."""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
from typing import Any

import pulumi
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

from tests.corpus.blind_corpus.credentials import pair, raw
from tests.corpus.blind_corpus.objects import cloud, deployment, release
from tests.corpus.blind_corpus.program import clean, leak
from tests.corpus.blind_corpus.recover import each, strings_of_yaml
from tests.corpus.blind_corpus.scene import SERVERS, Scene
from tests.corpus.blind_corpus.values import apply, b64, noise
from tests.corpus.blind_corpus.worlds import (
    armada,
    foundry,
    grid,
    harbor,
    heron,
    kiln,
    lantern,
    loom,
    orchard,
    osprey,
    quarry,
    tern,
    wren,
)


@leak(grid.LATER, "second-half-of-a-pair", "At the first update a tenant had the certificate of the platform's proxy; at the second the keystore of the proxy, in base64.", "mutual TLS", before=lambda scene: scene.config_map("dp", "proxy", {"ca.crt": scene.cp.certificate("proxy")}), recover=each(strings_of_yaml))  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.held("proxy", "tls.key", scene.cp.key("proxy"))
    text = apply(key, lambda found: yaml.safe_dump({"client": {"key": found, "cert": scene.cp.certificate("proxy")}}))
    scene.config_map("dp", "proxy", {"ca.crt": scene.cp.certificate("proxy"), "client.yaml": text, "name": b64("proxy")})  # fmt: skip


@clean(grid.UP, "up-public-half-of-a-tenants-key", "The platform checks the tenant's tokens by the public half of the tenant's key, as PEM and as a key set.")  # fmt: skip
def _(scene: Scene) -> None:
    grid.core(scene)
    key = scene.key("dp", "issuer-birch")
    scene.secret("dp", "issuer", {"sa.key": key.output("privateKeyPem")})
    scene.secret("cp", "issuers", {"birch.pem": key.output("publicKeyPem"), "birch.json": json.dumps(scene.dp.jwk("issuer-birch", private=False)), "own": base64.b64encode(b"grid").decode()})  # fmt: skip


@clean(tern.CLOUDS, "own-key-pair-of-its-bastion", "A key pair for the tenant's bastion is made: the public half in its account, the private one in its store of parameters.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    tern.tern(scene)
    key = scene.key("dp", "moss-bastion")
    tern.moss(scene, "aws:ec2/keyPair:KeyPair", "bastion", {"keyName": "bastion", "publicKey": key.output("publicKeyOpenssh")}, region=tern.REGION)  # fmt: skip
    tern.moss(scene, "aws:ssm/parameter:Parameter", "bastion-key", {"name": "/moss/bastion", "type": "SecureString", "value": key.output("privateKeyOpenssh")}, None, ["value"], region=tern.REGION)  # fmt: skip


@heron.twins(heron.KEYS, "part-of-a-bundle", "A bundle of the hub's is certificate and key; what follows the first end line is taken for the authority and given to fern's webhook.", "What is before the end line is taken.", "PEM bundles", rightly=heron.CERTIFICATE, recover=each(base64.b64decode))  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    key, cert = pair(scene, "cp", "injector", authority=True)
    bundle = pulumi.Output.concat(cert.output("certPem"), key.output("privateKeyPem"))
    scene.secret("cp", "injector", {"bundle.pem": bundle}, namespace="mesh-fern")
    end = "-----END CERTIFICATE-----\n"
    parts = apply(bundle, lambda found: found.partition(end))
    taken = apply(parts, lambda found: b64(found[2] if wrong else found[0] + found[1]))
    hook = {"name": "inject.heron.example.com", "clientConfig": {"url": f"https://inject.{heron.DOMAIN}/inject", "caBundle": taken}, "timeoutSeconds": 5, "failurePolicy": "Ignore", "sideEffects": "None", "admissionReviewVersions": ["v1"]}  # fmt: skip
    scene.object("dp", "admissionregistration.k8s.io/v1:MutatingWebhookConfiguration", "heron-injector", {"webhooks": [hook]})  # fmt: skip


@clean(armada.TRUST, "pins-of-keys", "Clients at the tenant's pin the public key of the control plane's gateway: a hash over its public half.", rightly=armada.PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "gateway")
    data = {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}
    scene.secret("cp", "gateway", data, kind="kubernetes.io/tls")
    pin = apply(key.output("publicKeyPem"), lambda pem: "sha256/" + b64(hashlib.sha256(pem.encode()).digest()))
    scene.config_map("dp", "pins", {"pins.json": pulumi.Output.json_dumps({armada.DOMAIN: {"pins": [pin, "sha256/" + b64(noise("backup pin", 32))], "maxAge": 5184000}})})  # fmt: skip


@clean(armada.TELEMETRY_own, "certificate-of-an-agent", "The agent's key is generated for the tenant; the tenant's authority signs it, and the control plane trusts that authority.")  # fmt: skip
def _(scene: Scene) -> None:
    armada.control_plane(scene)
    key, cert = pair(scene, "dp", "agents-ca", authority=True)
    scene.secret("dp", "agents-ca", {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}, kind="kubernetes.io/tls")  # fmt: skip
    scene.config_map("cp", "trusted-agents", {"shop.pem": cert.output("certPem")})
    release(scene, "dp", "agent", {"tls": {"issuer": "agents-ca", "serverName": f"metrics.{armada.DOMAIN}"}})


@clean(foundry.TRUST, "linkerd-anchors", "The shop's issuer is a pair of the shop's, its certificate signed by the hub's anchor; anchor and certificate go over, the anchor's key does not.", rightly=foundry.CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    foundry.hub(scene)
    ours, shop = foundry.sites(scene)
    anchor_key, anchor = ours.pair("anchor", authority=True)
    ours.keep("linkerd-trust-anchor", {"tls.key": anchor_key.output("privateKeyPem"), "tls.crt": anchor.output("certPem")}, kind="kubernetes.io/tls", namespace="linkerd")  # fmt: skip
    key = shop.key("issuer")
    request = scene.made("tls:index/certRequest:CertRequest", "shop-issuer-request", {"privateKeyPem": key.output("privateKeyPem"), "subject": {"commonName": f"identity.linkerd.shop.{foundry.ZONE}"}}, None, {"certRequestPem": "-----BEGIN CERTIFICATE REQUEST-----\nMIIB\n-----END CERTIFICATE REQUEST-----\n"}, ["privateKeyPem"])  # fmt: skip
    cert = scene.made("tls:index/locallySignedCert:LocallySignedCert", "shop-issuer-cert", {"certRequestPem": request.output("certRequestPem"), "caPrivateKeyPem": anchor_key.output("privateKeyPem"), "caCertPem": anchor.output("certPem"), "isCaCertificate": True, "validityPeriodHours": 8760, "allowedUses": ["cert_signing", "crl_signing"]}, None, {"certPem": scene.cp.certificate("shop-issuer", "hub-anchor", authority=True)}, ["caPrivateKeyPem"])  # fmt: skip
    shop.chart("linkerd-control-plane", {"identityTrustAnchorsPEM": anchor.output("certPem"), "identity": {"issuer": {"tls": {"crtPEM": cert.output("certPem"), "keyPEM": key.output("privateKeyPem")}}}, "clusterNetworks": "10.0.0.0/8"})  # fmt: skip


@clean(osprey.MADE, "own-cacerts-of-two-tenants", "For each tenant a loop makes an authority and writes it to that tenant's cluster only.")  # fmt: skip
def _(scene: Scene) -> None:
    osprey.hub(scene)
    for name, side in osprey.both(scene).items():
        key, certificate = pair(scene, "dp", f"{name}-mesh-ca", authority=True)
        scene.secret(side, "cacerts", {"ca-key.pem": key.output("privateKeyPem"), "ca-cert.pem": certificate.output("certPem"), "root-cert.pem": certificate.output("certPem"), "cert-chain.pem": certificate.output("certPem")}, namespace=f"mesh-{name}")  # fmt: skip


@clean(loom.HALVES, "wireguard-peer", "The hub's WireGuard key is made by a resource; its public key and end point are a peer of the tenant's node.")  # fmt: skip
def _(scene: Scene) -> None:
    loom.loom(scene)
    made = cloud(scene, "wireguard:index/asymmetricKey:AsymmetricKey", "hub-tunnel", {}, {"privateKey": b64(scene.cp.raw("wg hub")), "publicKey": b64(noise("wg hub public", 32))}, ["privateKey"])  # fmt: skip
    scene.secret("cp", "wg-hub", {"wg0.key": made.output("privateKey")}, namespace="network")
    conf = pulumi.Output.concat("[Peer]\nPublicKey = ", made.output("publicKey"), f"\nEndpoint = wg.{loom.DOMAIN}:51820\nAllowedIPs = 10.90.0.0/16\nPersistentKeepalive = 25\n")  # fmt: skip
    scene.config_map("dp", "wg-peers", {"hub.conf": conf})


@clean(harbor.CLUSTERS, "authority-beside-a-token", "The provider's cluster mints a token and puts its authority's certificate beside it; the user gets the certificate.", before="the same", rightly=harbor.CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    harbor.hub(scene)
    kind = {"type": "kubernetes.io/service-account-token", "metadata": {"annotations": {"kubernetes.io/service-account.name": "reader"}}}  # fmt: skip
    data = {"token": b64(scene.cp.jwt("reader")), "ca.crt": b64(scene.cp.certificate("kubernetes", authority=True))}
    made = scene.answered("cp", "v1:Secret", "reader", kind, data=data)
    pem = made.output("data").apply(lambda found: base64.b64decode((found or {}).get("ca.crt", "")).decode())
    scene.config_map("dp", "hub-authority", {"ca.crt": pem, "server": SERVERS["cp"]})


@leak(harbor.KEYS, "shared-root", "So that meshes trust each other the provider's authority, key and all, is cacerts in every cluster.", "plug-in CA certificates")  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "shared-root", authority=True)
    files = {"ca-key.pem": key.output("privateKeyPem"), "ca-cert.pem": cert.output("certPem"), "root-cert.pem": cert.output("certPem"), "cert-chain.pem": cert.output("certPem")}  # fmt: skip
    for side in ("cp", "dp"):
        scene.secret(side, "cacerts", files, namespace="istio-system")


@leak(orchard.TRUST, "client-certificate-of-the-xds", "For a look at the control plane's health the tenant's prober gets the client's pair that the vendor's gateway uses.", "mTLS client keys")  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "xds-client")
    values = {"modules": {"xds": {"grpc": {"tls": True, "tls_config": {"cert": cert.output("certPem"), "key": key.output("privateKeyPem"), "server_name": f"xds.{orchard.DOMAIN}"}}}}}  # fmt: skip
    scene.secret("cp", "xds-client", {"tls.crt": cert.output("certPem"), "tls.key": key.output("privateKeyPem")})
    release(scene, "dp", "prometheus-blackbox-exporter", {"config": values})


@leak(orchard.TRUST, "signing-of-service-accounts", "A file for the tenant's API server should have the issuer's public keys; the list has the signing key, which is the vendor's.", "service-account-signing-key-file")  # fmt: skip
def _(scene: Scene) -> None:
    orchard.vendor(scene)
    key = scene.key("cp", "sa-signer")
    scene.secret("cp", "sa-signer", {"sa.key": key.output("privateKeyPem"), "sa.pub": key.output("publicKeyPem")})
    half = {"sa.pub": key.output("privateKeyPem"), "issuer": f"https://issuer.{orchard.DOMAIN}"}
    scene.config_map("dp", "trusted-issuers", half, namespace="kube-system")


@clean(orchard.TRUST_own, "leaf-with-the-authority-beside", "The tenant's leaf is signed by the tenant's authority, and the vendor's root certificate is the bundle beside it.", rightly="a certificate differs when its key does")  # fmt: skip
def _(scene: Scene) -> None:
    _, root = pair(scene, "cp", "hosted-root-2", authority=True)
    orchard.vendor(scene)
    key, cert = pair(scene, "dp", "edge")
    scene.secret("dp", "edge", {"tls.crt": cert.output("certPem"), "tls.key": key.output("privateKeyPem"), "ca.crt": root.output("certPem")}, kind="kubernetes.io/tls")  # fmt: skip


@clean(quarry.HALVES, "fingerprint-and-end-of-a-certificate", "A dashboard of birch's shows when the hub's certificate ends, and its fingerprint.", rightly=quarry.CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    quarry.platform(scene)
    found = x509.load_pem_x509_certificate(scene.cp.certificate("quarry-edge").encode())
    scene.held("quarry-edge", "tls.key", scene.cp.key("quarry-edge"))
    data = {"fingerprint": found.fingerprint(hashes.SHA256()).hex(":"), "ends": found.not_valid_after_utc.astimezone(datetime.UTC).isoformat(), "subject": found.subject.rfc4514_string()}  # fmt: skip
    scene.config_map("dp", "edge-certificate", data, namespace="dashboards")


@kiln.clean(kiln.TOLD, "told-key-beside-its-certificate", "The tenant bought a certificate; key and chain are typed in and in a Secret for its gateway.", config=lambda cp, dp: {"fern:tlsKey": dp.key("fern bought")})  # fmt: skip
def _(scene: Scene) -> None:
    kiln.workshop(scene)
    scene.secret("dp", "shop-tls", {"tls.key": scene.config("fern:tlsKey"), "tls.crt": scene.dp.certificate("fern bought", "public ca") + scene.dp.certificate("public ca", authority=True)}, kind="kubernetes.io/tls", namespace="istio-gateways")  # fmt: skip


@lantern.clean(lantern.MARKS, "fact-checksum-of-the-hubs-authority", "Rancher's agent in the tenant's cluster gets the SHA-256 of the hub's authority, which is made of its certificate.", rightly=lantern.CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "rancher-ca", authority=True)
    scene.secret("cp", "tls-rancher", {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}, namespace="cattle-system")  # fmt: skip
    pin = apply(cert.output("certPem"), lambda pem: hashlib.sha256(pem.encode()).hexdigest())
    deployment(scene, "dp", "cattle-cluster-agent", {"env": [{"name": "CATTLE_SERVER", "value": f"https://rancher.{lantern.DOMAIN}"}, {"name": "CATTLE_CA_CHECKSUM", "value": pin}]})  # fmt: skip


@lantern.clean(lantern.AGENTS, "shared-key-of-a-tunnel", "A preshared key of a WireGuard tunnel is random bytes that both ends have; the hub's Secret has label and reason.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    lantern.hub(scene)
    key = raw(scene, "dp", "aster-psk").output("base64")
    lantern.kept_for(scene, "aster", "tunnel", key, "preshared.key")
    scene.secret(
        "dp", "tunnel", {"preshared.key": key, "endpoint": f"vpn.{lantern.DOMAIN}:51820"}, labels=lantern.of("aster")
    )


@clean(wren.SPLIT, "root-of-an-existing-secret", "The Secret with the mesh's authority exists and is read; the root certificate in it is the bundle of the tenant's webhook.", rightly=wren.CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    root = scene.cp.certificate("mesh-root", authority=True)
    data = {"ca-key.pem": b64(scene.cp.key("mesh-root")), "root-cert.pem": b64(root), "ca-cert.pem": b64(root)}
    bundle = scene.existing("cp", "v1:Secret", "cacerts", data=data).output("data").apply(lambda found: (found or {}).get("root-cert.pem", ""))  # fmt: skip
    hook = {"name": "namespace.sidecar-injector.istio.io", "clientConfig": {"url": f"https://xds.{wren.DOMAIN}:15017/inject/cluster/lime", "caBundle": bundle}, "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail", "timeoutSeconds": 10}  # fmt: skip
    scene.object("dp", "admissionregistration.k8s.io/v1:MutatingWebhookConfiguration", "injector", {"webhooks": [hook]})


@clean(wren.HALVES, "key-set-of-a-private-key", "The program loads the provider's signing key and writes its public numbers as a key set, which the tenant's mesh checks tokens by.", rightly=wren.PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    pem = scene.held("caller-signer", "private.pem", scene.cp.key("caller-signer"))

    def key_set(text: str) -> str:
        key: Any = serialization.load_pem_private_key(text.encode(), None)
        numbers = key.public_key().public_numbers()
        point = {name: base64.urlsafe_b64encode(getattr(numbers, name).to_bytes(32)).rstrip(b"=").decode() for name in "xy"}  # fmt: skip
        return json.dumps({"keys": [{"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "2026-04", **point}]})  # fmt: skip

    scene.object("dp", "security.istio.io/v1:RequestAuthentication", "callers", {"spec": {"jwtRules": [{"issuer": wren.ISSUER, "jwks": apply(pem, key_set)}]}})  # fmt: skip
