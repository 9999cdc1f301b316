"""An issuer of tokens of a test's own: HTTPS in this process, with keys of each kind."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils

from sandbox.clusters.credentials.certificates import Pair, issue, new_authority
from tests.support.serving import HttpsServer, serving

Config = dict[str, Any]
AUDIENCE = "hosted-mesh"
GRANTS: list[Config] = [
    {"role": "provider", "group": "mesh-admins"},
    {"role": "tenant", "group": "acme-writers", "tenant": "acme"},
    {"role": "reader", "group": "acme-readers", "tenant": "acme"},
    {"role": "tenant", "group": "other-writers", "tenant": "other"},
    {"role": "reader", "user": "system:serviceaccount:ci:look", "tenant": "acme"},
    {"role": "tenant", "tenantClaim": "organisation"},
]
_HASHES = {"256": hashes.SHA256(), "384": hashes.SHA384(), "512": hashes.SHA512()}
_CURVES = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}
Answer = tuple[int, dict[str, str], bytes | Iterator[bytes]]
"""Status, headers and body, which may come in parts."""


def encoded(value: Any) -> str:
    content = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def number(value: int, size: int = 0) -> str:
    return encoded(value.to_bytes(max(size, (value.bit_length() + 7) // 8)))


@dataclass(frozen=True)
class Signer:
    """A private key with its id and algorithm."""

    kid: str
    algorithm: str
    key: Any

    @classmethod
    def make(cls, kid: str, algorithm: str = "ES256") -> Signer:
        if algorithm in _CURVES:
            return cls(kid, algorithm, ec.generate_private_key(_CURVES[algorithm]))
        if algorithm == "EdDSA":
            return cls(kid, algorithm, ed25519.Ed25519PrivateKey.generate())
        return cls(kid, algorithm, rsa.generate_private_key(public_exponent=65537, key_size=2048))

    @property
    def jwk(self) -> Config:
        public, own = self.key.public_key(), {"kid": self.kid, "use": "sig"}
        if isinstance(public, rsa.RSAPublicKey):
            numbers = public.public_numbers()
            return {**own, "kty": "RSA", "n": number(numbers.n), "e": number(numbers.e)}
        if isinstance(public, ed25519.Ed25519PublicKey):
            return {**own, "kty": "OKP", "crv": "Ed25519", "x": encoded(public.public_bytes_raw())}
        size = (public.key_size + 7) // 8
        curve = {256: "P-256", 384: "P-384", 521: "P-521"}[public.key_size]
        place = public.public_numbers()
        return {**own, "kty": "EC", "crv": curve, "x": number(place.x, size), "y": number(place.y, size)}

    def sign(self, content: bytes) -> bytes:
        if isinstance(self.key, ed25519.Ed25519PrivateKey):
            return self.key.sign(content)
        digest = _HASHES[self.algorithm[2:]]
        if isinstance(self.key, rsa.RSAPrivateKey):
            pss = padding.PSS(padding.MGF1(digest), digest.digest_size)
            how = pss if self.algorithm.startswith("PS") else padding.PKCS1v15()
            return self.key.sign(content, how, digest)
        size = (self.key.key_size + 7) // 8
        pair = utils.decode_dss_signature(self.key.sign(content, ec.ECDSA(digest)))
        return b"".join(one.to_bytes(size) for one in pair)

    def token(self, claims: Any, **header: Any) -> str:
        whole = {"alg": self.algorithm, "kid": self.kid, "typ": "JWT", **header}
        return signed({name: value for name, value in whole.items() if value is not None}, claims, self.sign)


def signed(header: Any, claims: Any, sign: Callable[[bytes], bytes]) -> str:
    content = f"{encoded(header)}.{encoded(claims)}"
    return f"{content}.{encoded(sign(content.encode()))}"


def by_hmac(secret: bytes) -> Callable[[bytes], bytes]:
    return lambda content: hmac.new(secret, content, hashlib.sha256).digest()


@dataclass
class Issuer:
    """An issuer that a test may break. answers: of paths in place of its own. seen: requested paths."""

    authority: Path
    signer: Signer = field(default_factory=lambda: Signer.make("first"))
    url: str = ""
    answers: dict[str, Answer | Callable[[], Answer]] = field(default_factory=dict)
    keys: list[Config] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def claims(self, *groups: str, **more: Any) -> Config:
        """Claims that are valid now. more: others, None to leave one out."""
        now = int(time.time())
        found = {"iss": self.url, "aud": AUDIENCE, "sub": "u-1", "exp": now + 600, "iat": now, "nbf": now}
        found |= {"groups": list(groups), **more}
        return {name: value for name, value in found.items() if value is not None}

    def token(self, *groups: str, **more: Any) -> str:
        return self.signer.token(self.claims(*groups, **more))

    def settings(self, **more: Any) -> Config:
        found = {"url": self.url, "audiences": [AUDIENCE], "certificateAuthority": str(self.authority)}
        return {**found, "grants": GRANTS, **more}

    def answer(self, path: str) -> Answer:
        self.seen.append(path)
        found = self.answers.get(path)
        if found is not None:
            return found() if callable(found) else found
        documents = {
            "/.well-known/openid-configuration": {"issuer": self.url, "jwks_uri": f"{self.url}/keys"},
            "/keys": {"keys": self.keys or [self.signer.jwk]},
        }
        if path not in documents:
            return 404, {}, b""
        return 200, {"Content-Type": "application/json"}, json.dumps(documents[path]).encode()


def json_answer(value: Any) -> Answer:
    return 200, {"Content-Type": "application/json"}, json.dumps(value).encode()


@contextmanager
def issuing(folder: Path, name: str = "issuer", pair: Pair | None = None) -> Iterator[Issuer]:
    """An issuer while the block runs. pair: its server's certificate, in place of one by its authority."""
    authority = new_authority(name)
    (folder / f"{name}.pem").write_bytes(authority.certificate)
    made = Issuer(folder / f"{name}.pem")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.headers.append(dict(self.headers))
            status, headers, body = made.answer(self.path)
            self.send_response(status)
            for key, value in headers.items():
                self.send_header(key, value)
            if isinstance(body, bytes):
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            for part in [body] if isinstance(body, bytes) else body:
                self.wfile.write(part)

        def log_message(self, *_arguments: Any) -> None:
            """Prints nothing."""

    server = HttpsServer(pair or issue(authority, "127.0.0.1", names=("127.0.0.1", "localhost")), folder, Handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # of a client that does not trust it
    with serving(server):
        made.url = server.address
        yield made
