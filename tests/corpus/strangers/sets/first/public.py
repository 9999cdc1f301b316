"""Harmless: public halves and public facts of the provider's, in all the forms in which users need them."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from typing import Any

import pulumi
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12

from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import clean

PUBLIC = "public facts"
RIGHTLY = "certificates and public keys differ when their keys do"


def _der(scene: Scene, name: str = "istiod") -> bytes:
    certificate = x509.load_pem_x509_certificate(scene.cp.certificate(name).encode())
    return certificate.public_bytes(serialization.Encoding.DER)


def _b64(data: bytes | str) -> str:
    return base64.b64encode(data.encode() if isinstance(data, str) else data).decode()


def _trust(scene: Scene) -> bytes:
    certificate = x509.load_pem_x509_certificate(scene.cp.certificate("istiod").encode())
    return pkcs12.serialize_java_truststore(
        [pkcs12.PKCS12Certificate(certificate, b"mesh")], serialization.NoEncryption()
    )


def _chain(scene: Scene) -> str:
    return scene.cp.certificate("istiod", "issuer") + scene.cp.certificate("issuer", authority=True)


KUBECONFIG = {"apiVersion": "v1", "kind": "Config", "users": [{"name": "u", "user": {"exec": {"command": "login"}}}]}
FORMS: list[tuple[str, str, Callable[[Scene], str]]] = [
    ("certificate", "a certificate", lambda s: s.cp.certificate("istiod")),
    ("chain", "a certificate chain", _chain),
    ("certificate-on-one-line", "a certificate with \\n for its line breaks", lambda s: s.cp.certificate("istiod").replace("\n", "\\n")),
    ("certificate-in-der", "a certificate in DER, in base64", lambda s: _b64(_der(s))),
    ("certificate-coded", "the base64 of a PEM certificate", lambda s: _b64(s.cp.certificate("istiod"))),
    ("public-key", "a public key", lambda s: s.cp.public_key("istiod")),
    ("ssh-public-key", "a line for authorized_keys", lambda s: s.cp.public_ssh("istiod") + " robot@platform\n"),
    ("known-hosts", "lines of known_hosts", lambda s: f"git.example.com,192.0.2.7 {s.cp.public_ssh('istiod')}\n"),
    ("jwks", "a key set without private parts", lambda s: json.dumps({"keys": [s.cp.jwk("istiod", private=False)]})),
    ("x5c", "a SPIFFE bundle", lambda s: json.dumps({"keys": [{**s.cp.jwk("istiod", private=False), "x5c": [_b64(_der(s))]}]})),
    ("fingerprint", "a certificate's fingerprint", lambda s: hashlib.sha256(_der(s)).hexdigest()),
    ("fingerprint-with-colons", "a fingerprint as openssl prints it", lambda s: hashlib.sha256(_der(s)).hexdigest().upper()),
    ("trust-store", "a PKCS#12 trust store without any key", lambda s: _b64(_trust(s))),
    ("kubeconfig-without-credentials", "a kubeconfig that logs in by a command", lambda s: yaml.safe_dump({**KUBECONFIG, "clusters": [{"name": "c", "cluster": {"server": "https://dp.example.com:6443", "certificate-authority-data": _b64(s.cp.certificate("istiod"))}}]})),
    ("pinned-key", "the pin of a public key", lambda s: "sha256//" + _b64(hashlib.sha256(s.cp.public_key("istiod").encode()).digest())),
]  # fmt: skip


def _form(name: str, what: str, make: Callable[[Scene], str], *, marked: bool) -> None:
    @clean(PUBLIC, f"{name}-of-a-held-key", f"The provider has the key; the user gets {what}.", rightly=RIGHTLY)
    def _(scene: Scene) -> None:
        key = pulumi.Output.secret(scene.cp.key("istiod"))
        scene.secret("cp", "istiod", {"tls.key": key, "tls.crt": scene.cp.certificate("istiod")})
        text = make(scene)
        scene.config_map("dp", "trust", {"value": pulumi.Output.secret(text) if marked else text})


for _at, _given in enumerate(FORMS):
    _form(*_given, marked=False)


@clean(
    PUBLIC,
    "certificate-not-known-yet",
    "An authority's certificate, made here, is the user's trust root.",
    rightly=RIGHTLY,
)
def _(scene: Scene) -> None:
    key = scene.key("cp", "root")
    scene.secret("cp", "root", {"tls.key": key.output("privateKeyPem")})
    inputs: dict[str, Any] = {"privateKeyPem": key.output("privateKeyPem"), "isCaCertificate": True}
    inputs |= {"validityPeriodHours": 8760, "earlyRenewalHours": 720, "allowedUses": ["cert_signing"]}
    answers = {"certPem": scene.cp.certificate("root", authority=True), "validityEndTime": "2027-01-01T00:00:00Z"}
    made = scene.made("tls:index/selfSignedCert:SelfSignedCert", "root-cert", inputs, None, answers, ["privateKeyPem"])
    notes = {"example.com/renew-before": made.output("validityEndTime")}
    scene.config_map("dp", "istio-ca-root-cert", {"root-cert.pem": made.output("certPem")}, annotations=notes)


@clean(
    PUBLIC,
    "public-key-of-a-made-key-second-time",
    "The public half of a generated key, once it is known.",
    before="the same",
    rightly=RIGHTLY,
)
def _(scene: Scene) -> None:
    key = scene.key("cp", "signer")
    scene.secret("cp", "signer", {"key.pem": key.output("privateKeyPem")})
    scene.config_map("dp", "verify", {"cosign.pub": key.output("publicKeyPem"), "ssh": key.output("publicKeyOpenssh")})


@clean(PUBLIC, "bundle-in-a-webhook", "A webhook's CA bundle is two certificates in base64.", rightly=RIGHTLY)
def _(scene: Scene) -> None:
    scene.secret("cp", "issuer", {"tls.key": pulumi.Output.secret(scene.cp.key("issuer"))})
    config = {"url": "https://istiod.example.com:15017/inject", "caBundle": _b64(_chain(scene))}
    hook: dict[str, Any] = {
        "name": "namespace.sidecar-injector.istio.io",
        "clientConfig": config,
        "sideEffects": "None",
    }
    hook |= {"timeoutSeconds": 5, "failurePolicy": "Fail", "admissionReviewVersions": ["v1"]}
    scene.object("dp", "admissionregistration.k8s.io/v1:MutatingWebhookConfiguration", "injector", {"webhooks": [hook]})


@clean(
    PUBLIC,
    "plain-outputs-of-another-stack",
    "Of another stack the user gets the host and the certificate.",
    rightly=RIGHTLY,
)
def _(scene: Scene) -> None:
    outputs = {"host": "istiod.example.com", "root": scene.cp.certificate("root"), "admin": scene.cp.opaque("admin")}
    other = scene.reference("istiod", "organization/istiod/prod", outputs, ["admin"])
    scene.config_map("dp", "mesh", {"host": other.get_output("host"), "root-cert.pem": other.get_output("root")})


@clean(
    PUBLIC,
    "certificate-marked-by-another-stack",
    "Another stack marks even its certificate as a secret.",
    rightly=RIGHTLY,
)
def _(scene: Scene) -> None:
    outputs = {"root": scene.cp.certificate("root")}
    other = scene.reference("root", "organization/root/prod", outputs, ["root"])
    scene.config_map("dp", "mesh", {"root-cert.pem": other.get_output("root")})


@clean(
    PUBLIC,
    "certificate-out-of-a-secret-with-a-key",
    "The certificate is taken out of the Secret that has the key.",
    rightly=RIGHTLY,
    before="the same",
)
def _(scene: Scene) -> None:
    data = {"tls.crt": _b64(scene.cp.certificate("istiod")), "tls.key": _b64(scene.cp.key("istiod"))}
    read = scene.answered("cp", "v1:Secret", "istiod-tls", {"type": "kubernetes.io/tls"}, data=data)
    pem = read.output("data").apply(lambda found: base64.b64decode(found["tls.crt"]).decode())
    scene.config_map("dp", "trust", {"ca.crt": pem})


@clean(PUBLIC, "dns-key-record", "A public key in a TXT record of a zone (DKIM).", rightly=RIGHTLY)
def _(scene: Scene) -> None:
    scene.secret("cp", "mail", {"key.pem": pulumi.Output.secret(scene.cp.key("mail"))})
    body = "".join(scene.cp.public_key("mail").splitlines()[1:-1])
    inputs = {"zoneId": "z", "name": "m._domainkey", "type": "TXT", "content": f"v=DKIM1; k=ec; p={body}"}
    scene.made("cloudflare:index/dnsRecord:DnsRecord", "dkim", inputs)
