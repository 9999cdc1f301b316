"""States of keys, certificates and random values, shown by their form: no value that was made is in them."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from sandbox.plugins.protocol.values import UNKNOWN, Secret
from tests.recorded.plain import shown

Values = dict[str, Any]
_BRIDGES_OWN: Final = "__pulumi_raw_state_delta"
_PEM: Final = re.compile(r"-----BEGIN ([A-Z ]+)-----\n.*-----END \1-----\n?", re.DOTALL)
# Of values that were made: what they must look like, and what stands for them.
_SHAPES: Final = (
    (r"ssh-(rsa|ed25519) \S+\n|ecdsa-sha2-\S+ \S+\n", "<openssh public key, with a line feed>"),
    (r"(ssh-\S+|ecdsa-sha2-\S+) \S+", "<openssh public key>"),
    (r"SHA256:[A-Za-z0-9+/]{43}", "<SHA256 fingerprint>"),
    (r"([0-9a-f]{2}:){15}[0-9a-f]{2}", "<MD5 fingerprint>"),
    (r"\$2a\$10\$.{53}", "<bcrypt, 10 rounds>"),
)
_MADE: Final = {
    "hex": r"[0-9a-f]*",
    "dec": r"[0-9]+",
    "b64Std": r"[A-Za-z0-9+/]*=*",
    "b64Url": r"[A-Za-z0-9_-]*",
    "base64": r"[A-Za-z0-9+/]+=*",
}
_CLASSES: Final = {"lower": r"[a-z]", "upper": r"[A-Z]", "digits": r"[0-9]", "special": r"[^a-zA-Z0-9]"}


class BridgedWorld:
    """Nothing but state."""

    def state(self, outputs: Values, inputs: Values, before: Values) -> Values:
        """The outputs; after the first time only those that are no longer the same, byte for byte."""
        prefix = inputs.get("prefix") or ""
        facts = {name: _output(name, value, prefix) for name, value in sorted(outputs.items())}
        if not before:
            return facts
        same = {name for name, value in outputs.items() if name in before and before[name] == value}
        gone = dict.fromkeys(sorted({*before} - {*outputs}), "<gone>")
        return {**{name: value for name, value in facts.items() if name not in same}, **gone}

    def planned(self, outputs: Values, inputs: Values, before: Values) -> Values:
        return self.state(outputs, inputs, before)

    def identity(self, identity: str) -> str:
        return _id(identity)

    def message(self, text: str) -> str:
        return text.strip()

    def drift(self, outputs: Values, patch: Mapping[str, Any]) -> None:
        raise AssertionError("nobody else can change what is in state alone")


def _output(name: str, value: Any, prefix: str) -> Any:
    if name == _BRIDGES_OWN:
        return "<there>"
    if isinstance(value, Secret):
        return {"secret": _output(name, value.value, prefix)}
    if not isinstance(value, str) or value is UNKNOWN:
        return shown(value)
    if name == "id":
        return _id(value)
    if name == "result":
        there = [each for each, pattern in _CLASSES.items() if re.search(pattern, value)]
        return f"<{len(value)} of {', '.join(there)}>"
    if name in _MADE:
        assert value.startswith(prefix), f"{name} does not begin with {prefix}"
        return _form(name, value.removeprefix(prefix), prefix)
    if re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S+", value):
        assert datetime.datetime.fromisoformat(value).tzinfo, name
        return "<time>"
    for pattern, word in _SHAPES:
        if re.fullmatch(pattern, value):
            return word
    return _pem(value) if _PEM.match(value) else value


def _form(name: str, value: str, prefix: str) -> str:
    assert re.fullmatch(_MADE[name], value), f"{name} has an odd form"
    length = "some" if name == "dec" else len(value)  # a number may begin with zeros, which are not written
    return f"{prefix}<{length} {name}>"


def _id(value: str) -> str:
    if value == "none":
        return value
    if re.fullmatch(r"[0-9a-f]{40}", value):
        return "<40 hex>"
    return "<decimal>" if re.fullmatch(r"\d{15,}", value) else f"<{len(value)} characters>"


def _pem(text: str) -> Any:
    parts = [(found[1], found[0]) for found in _PEM.finditer(text)]
    assert len(parts) == 1, [label for label, _ in parts]
    label, one = parts[0]
    end = "with" if text.endswith("\n") else "without"
    facts: Values = {"PEM": f"{label}, {end} a line feed"}
    if label == "OPENSSH PRIVATE KEY":
        return facts
    if label.endswith("PRIVATE KEY"):
        return {**facts, "key": _key(load_pem_private_key(one.encode(), None).public_key())}
    if label == "PUBLIC KEY":
        return {**facts, "key": _key(load_pem_public_key(one.encode()))}
    if label == "CERTIFICATE REQUEST":
        request = x509.load_pem_x509_csr(one.encode())
        return {**facts, **_named(request), "valid": request.is_signature_valid}
    return {**facts, **_certificate(x509.load_pem_x509_certificate(one.encode()))}


def _key(key: Any) -> str:
    if isinstance(key, rsa.RSAPublicKey):
        return f"RSA {key.key_size}"
    return f"ECDSA {key.curve.name}" if isinstance(key, ec.EllipticCurvePublicKey) else type(key).__name__


def _named(one: x509.Certificate | x509.CertificateSigningRequest) -> Values:
    algorithm = one.signature_hash_algorithm
    return {
        "subject": one.subject.rfc4514_string(),
        "key": _key(one.public_key()),
        "signed with": algorithm.name if algorithm else "its own",
        "extensions": [_extension(extension) for extension in one.extensions],
    }


def _certificate(one: x509.Certificate) -> Values:
    lasts = one.not_valid_after_utc - one.not_valid_before_utc
    return {
        **_named(one),
        "issuer": one.issuer.rfc4514_string(),
        "version": one.version.name,
        "hours": lasts.total_seconds() / 3600,
        "long serial number": one.serial_number.bit_length() > 64,
    }


def _extension(one: x509.Extension[Any]) -> str:
    value = one.value
    if isinstance(value, x509.SubjectKeyIdentifier):
        text = f"{len(value.digest)} bytes"
    elif isinstance(value, x509.AuthorityKeyIdentifier):
        text = f"{len(value.key_identifier or b'')} bytes, issuer {value.authority_cert_issuer}"
    elif isinstance(value, x509.SubjectAlternativeName):
        text = ", ".join(f"{type(name).__name__} {name.value}" for name in value)
    elif isinstance(value, x509.ExtendedKeyUsage):
        text = ", ".join(usage.dotted_string for usage in value)
    else:
        text = str(value)
    return f"{one.oid.dotted_string}{' critical' if one.critical else ''}: {text}"
