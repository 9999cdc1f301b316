"""Certificate requests and certificates, with the same extensions in the same order as the official plug-in."""

from __future__ import annotations

import datetime
import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from sandbox.plugins.bridged.resources import Values
from sandbox.plugins.protocol.errors import ProviderError
from sandbox.plugins.tls import keys, names, uses

_SERIAL_BITS: Final = 128


@dataclass(frozen=True)
class Issuer:
    """The signing authority. key_identifier: of the issuer's certificate, None without one."""

    name: x509.Name
    key: keys.PrivateKey
    key_identifier: bytes | None


def create_request(inputs: Values) -> tuple[str, dict[str, Any]]:
    """The outputs of a CertRequest resource."""
    key = keys.load(inputs["privateKeyPem"])
    builder = x509.CertificateSigningRequestBuilder().subject_name(names.subject(inputs.get("subject")))
    alternatives = names.alternative_names(inputs)
    if alternatives:
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    request = builder.sign(key, _hash(key))
    identity = hashlib.sha1(request.public_bytes(Encoding.DER).strip()).hexdigest()  # noqa: S324 - an identifier
    pem = request.public_bytes(Encoding.PEM).decode()
    return identity, {"certRequestPem": pem, "keyAlgorithm": keys.algorithm_of(key)}


def create_self_signed(inputs: Values) -> tuple[str, dict[str, Any]]:
    """The outputs of a SelfSignedCert resource."""
    key = keys.load(inputs["privateKeyPem"])
    name = names.subject(inputs.get("subject"))
    issuer = Issuer(name, key, None)
    identity, outputs = _issue(inputs, issuer, name, names.alternative_names(inputs), key.public_key())
    return identity, {**outputs, "keyAlgorithm": keys.algorithm_of(key)}


def create_locally_signed(inputs: Values) -> tuple[str, dict[str, Any]]:
    """The outputs of a LocallySignedCert resource."""
    request = _load(x509.load_pem_x509_csr, inputs["certRequestPem"], "certRequestPem is not a PEM certificate request")
    authority = _load(x509.load_pem_x509_certificate, inputs["caCertPem"], "caCertPem is not a PEM certificate")
    key = keys.load(inputs["caPrivateKeyPem"])
    if key.public_key() != authority.public_key():
        raise ProviderError("caPrivateKeyPem is not the key of the certificate in caCertPem")
    alternatives = _extension(request, x509.SubjectAlternativeName)
    identifier = _extension(authority, x509.SubjectKeyIdentifier)
    issuer = Issuer(authority.subject, key, identifier.digest if identifier else None)
    identity, outputs = _issue(
        inputs, issuer, request.subject, names.carried_over(list(alternatives or ())), request.public_key()
    )
    return identity, {**outputs, "caKeyAlgorithm": keys.algorithm_of(key)}


def _issue(
    inputs: Values, issuer: Issuer, name: x509.Name, alternatives: Sequence[x509.GeneralName], public: Any
) -> tuple[str, dict[str, Any]]:
    is_authority = bool(inputs["isCaCertificate"])
    if is_authority and not list(name):
        raise ProviderError("subject must contain at least one distinguished name for a certificate authority (CA)")
    start = datetime.datetime.now(datetime.UTC)
    end = start + datetime.timedelta(hours=inputs["validityPeriodHours"])
    serial = secrets.randbelow(1 << _SERIAL_BITS) or 1
    builder = x509.CertificateBuilder(
        issuer_name=issuer.name,
        subject_name=name,
        public_key=public,
        serial_number=serial,
        not_valid_before=start.replace(microsecond=0),
        not_valid_after=end.replace(microsecond=0),
    )
    for extension, critical in _extensions(inputs, issuer, name, alternatives, public):
        builder = builder.add_extension(extension, critical)
    certificate = builder.sign(issuer.key, _hash(issuer.key))
    return str(serial), {
        "certPem": certificate.public_bytes(Encoding.PEM).decode(),
        "readyForRenewal": renews_at_once(inputs),
        "validityStartTime": _rfc3339(start),
        "validityEndTime": _rfc3339(end),
    }


def _extensions(
    inputs: Values, issuer: Issuer, name: x509.Name, alternatives: Sequence[x509.GeneralName], public: Any
) -> list[tuple[x509.ExtensionType, bool]]:
    is_authority = bool(inputs["isCaCertificate"])
    found: list[tuple[x509.ExtensionType, bool]] = []
    usage, extended = uses.key_usage(inputs["allowedUses"]), uses.extended_key_usage(inputs["allowedUses"])
    if usage is not None:
        found.append((usage, True))
    if extended is not None:
        found.append((extended, False))
    # Go's library reads a path length of 0 as absent here, and -1 likewise.
    length = inputs.get("maxPathLength")
    if length and length > 0 and not is_authority:
        raise ProviderError("maxPathLength: only a certificate authority may have one")
    found.append((x509.BasicConstraints(is_authority, length if length and length > 0 else None), True))
    identifier = _key_identifier(public)
    wants_identifier = is_authority or inputs["setSubjectKeyId"]
    if wants_identifier:
        found.append((x509.SubjectKeyIdentifier(identifier), False))
    # Go's library repeats the issuer's identifier only where issuer and subject have different names.
    authority = issuer.key_identifier if issuer.name != name else None
    if inputs.get("setAuthorityKeyId"):
        if not wants_identifier:
            raise ProviderError("setAuthorityKeyId: the certificate has no subject key identifier to repeat")
        authority = identifier
    if authority:
        found.append((x509.AuthorityKeyIdentifier(authority, None, None), False))
    if alternatives:
        found.append((x509.SubjectAlternativeName(alternatives), not list(name)))
    return found


def renews_at_once(inputs: Values) -> bool:
    """Whether a new certificate with these inputs starts inside its own renewal window."""
    hours = inputs["validityPeriodHours"]
    return bool(hours == 0 or inputs["earlyRenewalHours"] >= hours)


def is_due(state: Values, now: datetime.datetime | None = None) -> bool:
    """Whether the certificate of this state is inside its renewal window. now: with a zone; default: the clock."""
    if not isinstance(state.get("validityEndTime"), str):
        return False
    end = datetime.datetime.fromisoformat(state["validityEndTime"])
    hours = state.get("earlyRenewalHours") or 0
    return (now or datetime.datetime.now(datetime.UTC)) >= end - datetime.timedelta(hours=hours)


def _key_identifier(public: Any) -> bytes:
    if isinstance(public, ed25519.Ed25519PublicKey):
        # The official plug-in hashes the key as a DER octet string, not its bare bytes as RFC 5280 suggests.
        raw = public.public_bytes(Encoding.Raw, PublicFormat.Raw)
        return hashlib.sha1(bytes([4, len(raw)]) + raw).digest()  # noqa: S324 - an identifier
    return x509.SubjectKeyIdentifier.from_public_key(public).digest


def _hash(key: keys.PrivateKey) -> hashes.SHA256 | hashes.SHA384 | hashes.SHA512 | None:
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return None
    if isinstance(key, ec.EllipticCurvePrivateKey):
        if key.curve.key_size > 384:
            return hashes.SHA512()
        return hashes.SHA384() if key.curve.key_size == 384 else hashes.SHA256()
    return hashes.SHA256()


def _extension(holder: Any, kind: Any) -> Any:
    try:
        return holder.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None


def _load(loader: Any, pem: str, problem: str) -> Any:
    try:
        return loader(pem.encode())
    except ValueError:
        raise ProviderError(problem) from None


def _rfc3339(moment: datetime.datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
