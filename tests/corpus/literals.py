"""Credentials made for the corpus: real in structure, good for nothing. Made anew in each process, kept within it."""

from __future__ import annotations

import base64
import datetime
import functools
import hashlib
import json
import random
import secrets
import string
from collections.abc import Mapping
from typing import Any, Final

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

DYNAMIC: Final = "corpus-serialized-provider"
FINE_IN_A_SECRET: Final = frozenset({"password in a URL", "registry login", "access token", "password file"})
"""A user may keep these in a Secret of their own."""


@functools.cache
def opaque(name: str, length: int = 28) -> str:
    """A random token, one per name and process; lower case, so that it may also be a Kubernetes name."""
    del name
    return "".join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(length - 1)) + "x"


def filler(size: int) -> str:
    """Text that looks like a settings file."""
    line = "upstream: example-{n}.internal.example.com weight: {n} checksum: {c}\n"
    source = random.Random(size)
    parts, total = [], 0
    while total < size:
        parts.append(line.format(n=source.randrange(10**6), c=f"{source.getrandbits(128):032x}"))
        total += len(parts[-1])
    return "".join(parts)


@functools.cache
def _key(name: str) -> ec.EllipticCurvePrivateKey:
    del name
    return ec.generate_private_key(ec.SECP256R1())


def private_key(name: str) -> str:
    return (
        _key(name)
        .private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        .decode()
    )


def private_key_der(name: str) -> str:
    der = _key(name).private_bytes(
        serialization.Encoding.DER, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    return base64.b64encode(der).decode()


def public_key(name: str) -> str:
    return (
        _key(name)
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        .decode()
    )


def pin_of(pem: str) -> str:
    """How clients write down which key they expect, as RFC 7469 does."""
    return "sha256/" + base64.b64encode(hashlib.sha256(pem.encode()).digest()).decode()


@functools.cache
def certificate(name: str, *, authority: bool = False) -> str:
    """A self-signed certificate for the key of that name."""
    return _certificate(name, _key(name).public_key(), _key(name), authority=authority)


def certificate_of(inputs: Mapping[str, Any]) -> str:
    """The certificate that the tls package makes: for a key that signs itself, or for a request that an authority
    signs."""
    signer: Any = serialization.load_pem_private_key(_pem(inputs, "caPrivateKeyPem", "privateKeyPem"), None)
    request = inputs.get("certRequestPem")
    public: Any = x509.load_pem_x509_csr(str(request).encode()).public_key() if request else signer.public_key()
    return _certificate("made", public, signer, authority=inputs.get("isCaCertificate") is True)


def certificate_request(inputs: Mapping[str, Any]) -> str:
    """The request that the tls package makes for a key."""
    key: Any = serialization.load_pem_private_key(_pem(inputs, "privateKeyPem"), None)
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "made")])
    made = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, _hash(key))
    return made.public_bytes(serialization.Encoding.PEM).decode()


def _hash(key: Any) -> hashes.SHA256 | None:
    return None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()


def _pem(inputs: Mapping[str, Any], *names: str) -> bytes:
    return str(next((inputs[name] for name in names if name in inputs), "")).encode()


def _certificate(name: str, public: Any, signer: Any, *, authority: bool) -> str:
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=90))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(f"{name}.example.com")]), critical=False)
        .sign(signer, _hash(signer))
    )
    return made.public_bytes(serialization.Encoding.PEM).decode()


def authority(name: str = "own-ca") -> tuple[str, str]:
    """An authority's certificate and key."""
    return certificate(name, authority=True), private_key(name)


def token(claims: dict[str, object]) -> str:
    """A JWT with a random signature."""
    parts = [{"alg": "RS256", "kid": "k"}, claims]
    body = ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts)
    return f"{body}.{base64.urlsafe_b64encode(secrets.token_bytes(64)).rstrip(b'=').decode()}"


def service_account_token() -> str:
    return token(
        {
            "iss": "https://kubernetes.default.svc.cluster.local",
            "sub": "system:serviceaccount:mesh-demo:istiod",
            "kubernetes.io": {"namespace": "mesh-demo"},
        }
    )


def kubeconfig(server: str, bearer: str = "", *, key: str = "token") -> str:
    """A kubeconfig with a bearer token, or another credential under its key."""
    return _kubeconfig(server, bearer or opaque("kubeconfig", 40), key)


@functools.lru_cache(10_000)
def _kubeconfig(server: str, bearer: str, key: str) -> str:
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": server}}],
            "users": [{"name": "u", "user": {key: bearer}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        }
    )


@functools.cache
def _credentials() -> dict[str, str]:
    key_id = "AKIA" + "".join(secrets.choice(string.ascii_uppercase + string.digits) for _ in range(16))
    login = base64.b64encode(f"robot:{secrets.token_urlsafe(20)}".encode()).decode()
    google = {"type": "service_account", "private_key": private_key("google"), "client_email": "a@b.example.com"}
    jwk = {"kty": "EC", "crv": "P-256", "d": secrets.token_urlsafe(32), "x": "abc", "y": "def"}
    return {
        "private key": private_key("loose"),
        "kubeconfig": kubeconfig("https://10.1.2.3:6443"),
        "service-account token": service_account_token(),
        "bearer token": token({"iss": "https://login.example.com", "sub": "robot"}),
        "client key of a kubeconfig": f"client-key-data: {base64.b64encode(private_key('client').encode()).decode()}\n",
        "AWS key": f"[default]\naws_access_key_id = {key_id}\naws_secret_access_key = {opaque('aws', 40)}\n",
        "Google key file": json.dumps(google),
        "TSIG key": f'key "external-dns" {{ algorithm hmac-sha256; secret "{secrets.token_hex(16)}"; }};',
        "JWK": json.dumps(jwk),
        "password in a URL": f"postgres://app:{secrets.token_urlsafe(16)}@db.example.com/app",
        "registry login": json.dumps({"auths": {"registry.example.com": {"auth": login}}}),
        "access token": "ghp_" + "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(36)),
        "password file": "admin:$2y$05$" + "".join(secrets.choice(string.ascii_letters) for _ in range(53)) + "\n",
    }


def credentials() -> dict[str, str]:
    """One of each kind of credential."""
    return dict(_credentials())
