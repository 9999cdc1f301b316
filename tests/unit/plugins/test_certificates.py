"""Keys and certificates: forms, extensions, and the time of renewal."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID

from sandbox.plugins.protocol.errors import ProviderError
from sandbox.plugins.tls import certificates, keys, names, uses

DEFAULTS = {
    "validityPeriodHours": 24,
    "allowedUses": [],
    "earlyRenewalHours": 0,
    "isCaCertificate": False,
    "setSubjectKeyId": False,
    "setAuthorityKeyId": False,
}


def _key(algorithm: str = "ECDSA", curve: str = "P256") -> dict[str, Any]:
    return keys.create({"algorithm": algorithm, "rsaBits": 2048, "ecdsaCurve": curve})[1]


@pytest.mark.parametrize(
    ("algorithm", "curve", "header"),
    [
        ("RSA", "P224", "RSA PRIVATE KEY"),
        ("ECDSA", "P256", "EC PRIVATE KEY"),
        ("ECDSA", "P521", "EC PRIVATE KEY"),
        ("ED25519", "P224", "PRIVATE KEY"),
    ],
)
def test_forms_of_a_key(algorithm: str, curve: str, header: str) -> None:
    made = _key(algorithm, curve)
    assert made["privateKeyPem"].startswith(f"-----BEGIN {header}-----\n")
    assert made["privateKeyPemPkcs8"].startswith("-----BEGIN PRIVATE KEY-----\n")
    first = load_pem_private_key(made["privateKeyPem"].encode(), None)
    assert keys.algorithm_of(keys.load(made["privateKeyPemPkcs8"])) == algorithm
    from_ssh = load_ssh_private_key(made["privateKeyOpenssh"].encode(), None)
    assert from_ssh.public_key() == first.public_key()
    assert made["publicKeyOpenssh"].endswith("\n")
    assert made["publicKeyFingerprintSha256"].startswith("SHA256:")
    assert made["publicKeyFingerprintMd5"].count(":") == 15


def test_the_curve_that_ssh_does_not_know() -> None:
    made = _key("ECDSA", "P224")
    assert made["privateKeyOpenssh"] == made["publicKeyOpenssh"] == ""


def test_what_is_no_key_is_refused_without_being_shown() -> None:
    with pytest.raises(ProviderError) as caught:
        keys.load("-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----")
    assert "hunter2" not in str(caught.value)


def _self_signed(**inputs: Any) -> x509.Certificate:
    given = {**DEFAULTS, "privateKeyPem": _key()["privateKeyPem"], "subject": {"commonName": "a"}, **inputs}
    return x509.load_pem_x509_certificate(certificates.create_self_signed(given)[1]["certPem"].encode())


def _extension(certificate: x509.Certificate, kind: Any) -> Any:
    return certificate.extensions.get_extension_for_class(kind)


def test_an_authority() -> None:
    root = _self_signed(isCaCertificate=True, maxPathLength=1, allowedUses=["cert_signing", "crl_signing"])
    assert _extension(root, x509.BasicConstraints).value == x509.BasicConstraints(True, 1)
    usage = _extension(root, x509.KeyUsage)
    assert usage.critical
    assert usage.value.key_cert_sign
    assert usage.value.crl_sign
    assert not usage.value.digital_signature
    assert _extension(root, x509.SubjectKeyIdentifier)
    with pytest.raises(x509.ExtensionNotFound):
        _extension(root, x509.AuthorityKeyIdentifier)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"isCaCertificate": True, "subject": {}}, "subject"),
        ({"maxPathLength": 1}, "maxPathLength"),
        ({"setAuthorityKeyId": True}, "setAuthorityKeyId"),
        ({"ipAddresses": ["nowhere"]}, "ipAddresses"),
        ({"subject": {"country": "Germany"}}, "subject.country"),
    ],
)
def test_contradictions_are_refused(inputs: dict[str, Any], message: str) -> None:
    with pytest.raises(ProviderError, match=message):
        _self_signed(**inputs)


def test_alternative_names_are_critical_without_a_subject() -> None:
    assert _extension(_self_signed(subject=None, dnsNames=["a.test"]), x509.SubjectAlternativeName).critical
    assert not _extension(_self_signed(dnsNames=["a.test"]), x509.SubjectAlternativeName).critical


def test_a_signed_certificate_names_its_issuer_and_keeps_the_names_of_the_request() -> None:
    root_key, leaf_key = _key(), _key("ED25519")
    subject = {"commonName": "root", "organization": "o"}
    root = certificates.create_self_signed(
        {**DEFAULTS, "privateKeyPem": root_key["privateKeyPem"], "subject": subject, "isCaCertificate": True}
    )[1]
    request = certificates.create_request(
        {"privateKeyPem": leaf_key["privateKeyPem"], "dnsNames": ["a.test"], "uris": ["spiffe://a/b"]}
    )[1]
    made = certificates.create_locally_signed(
        {
            **DEFAULTS,
            "certRequestPem": request["certRequestPem"],
            "caCertPem": root["certPem"],
            "caPrivateKeyPem": root_key["privateKeyPem"],
            "allowedUses": ["client_auth", "server_auth"],
        }
    )[1]
    certificate = x509.load_pem_x509_certificate(made["certPem"].encode())
    issuer = x509.load_pem_x509_certificate(root["certPem"].encode())
    certificate.verify_directly_issued_by(issuer)
    identifier = _extension(certificate, x509.AuthorityKeyIdentifier).value.key_identifier
    assert identifier == _extension(issuer, x509.SubjectKeyIdentifier).value.digest
    alternatives = _extension(certificate, x509.SubjectAlternativeName).value
    assert alternatives.get_values_for_type(x509.UniformResourceIdentifier) == ["spiffe://a/b"]
    assert list(_extension(certificate, x509.ExtendedKeyUsage).value) == [
        ExtendedKeyUsageOID.CLIENT_AUTH,
        ExtendedKeyUsageOID.SERVER_AUTH,
    ]
    assert made["caKeyAlgorithm"] == "ECDSA"


def test_subjects_are_written_in_the_order_of_the_official_plug_in() -> None:
    parts = {"commonName": "c", "organization": "o", "country": "DE", "streetAddresses": ["1", "2"], "locality": ""}
    assert [one.value for one in names.subject(parts)] == ["DE", "o", "1", "2", "c"]


def test_every_word_for_a_use_means_something() -> None:
    for word in uses.WORDS:
        assert uses.key_usage([word]) or uses.extended_key_usage([word])


@pytest.mark.parametrize(
    ("hours", "early", "expected"), [(24, 0, False), (24, 23, False), (24, 24, True), (0, 0, True)]
)
def test_made_inside_the_renewal_window(hours: int, early: int, expected: bool) -> None:
    inputs = {**DEFAULTS, "validityPeriodHours": hours, "earlyRenewalHours": early}
    assert certificates.renews_at_once(inputs) is expected


@pytest.mark.parametrize(
    ("end", "early", "expected"),
    [
        ("2030-01-02T00:00:00Z", 0, False),
        ("2030-01-02T00:00:00.123456789Z", 23, False),
        ("2030-01-02T00:00:00Z", 24, True),
        ("2030-01-01T00:00:00Z", 0, True),
        ("2030-01-01T02:00:00+02:00", 0, True),
    ],
)
def test_due_for_renewal(end: str, early: int, expected: bool) -> None:
    now = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
    assert certificates.is_due({"validityEndTime": end, "earlyRenewalHours": early}, now) is expected
