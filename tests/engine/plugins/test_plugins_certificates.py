"""Certificates: chains that verify, what replaces them, and their renewal."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Callable
from typing import Any

import pulumi
import pulumi_tls as tls
import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store

from tests.engine.plugins.stack import Stack


def _chain(host: str = "istiod.test", **leaf: Any) -> Callable[[], None]:
    """A root and a server certificate signed by it."""

    def program() -> None:
        key = tls.PrivateKey("root-key", algorithm="ECDSA", ecdsa_curve="P256")
        root = tls.SelfSignedCert(
            "root",
            private_key_pem=key.private_key_pem,
            subject={"common_name": "root", "organization": "tests"},
            validity_period_hours=240,
            is_ca_certificate=True,
            set_subject_key_id=True,
            allowed_uses=["cert_signing", "crl_signing", "digital_signature"],
        )
        own = tls.PrivateKey("key", algorithm="RSA", rsa_bits=2048)
        request = tls.CertRequest(
            "request",
            private_key_pem=own.private_key_pem,
            subject={"common_name": host},
            dns_names=[host],
            ip_addresses=["10.0.0.1"],
            uris=["spiffe://cluster.local/ns/a/sa/b"],
        )
        arguments = {"validity_period_hours": 48, "allowed_uses": ["server_auth", "digital_signature"], **leaf}
        certificate = tls.LocallySignedCert(
            "certificate",
            cert_request_pem=request.cert_request_pem,
            ca_cert_pem=root.cert_pem,
            ca_private_key_pem=key.private_key_pem,
            **arguments,
        )
        pulumi.export("root", root.cert_pem)
        pulumi.export("certificate", certificate.cert_pem)
        pulumi.export("ready", certificate.ready_for_renewal)
        pulumi.export("start", certificate.validity_start_time)
        pulumi.export("end", certificate.validity_end_time)

    return program


def test_a_chain_verifies_and_says_what_was_asked_for(stack: Stack) -> None:
    stack.up(_chain())
    root = x509.load_pem_x509_certificate(stack.output("root").encode())
    leaf = x509.load_pem_x509_certificate(stack.output("certificate").encode())
    leaf.verify_directly_issued_by(root)
    PolicyBuilder().store(Store([root])).build_server_verifier(x509.DNSName("istiod.test")).verify(leaf, [])
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.IPAddress) == [ipaddress.ip_address("10.0.0.1")]
    assert names.get_values_for_type(x509.UniformResourceIdentifier) == ["spiffe://cluster.local/ns/a/sa/b"]
    start, end = (datetime.datetime.fromisoformat(stack.output(name)) for name in ("start", "end"))
    assert end - start == datetime.timedelta(hours=48)
    assert stack.output("ready") is False
    assert stack.preview() == {"same": 6}
    stack.engine.refresh()
    assert stack.preview() == {"same": 6}


@pytest.mark.parametrize(
    ("change", "replaced"),
    [
        ({"host": "other.test"}, 2),  # the request, and with it the certificate
        ({"allowed_uses": ["client_auth"]}, 1),
    ],
)
def test_what_is_written_in_a_certificate_replaces_it(stack: Stack, change: dict[str, Any], replaced: int) -> None:
    stack.up(_chain())
    before = stack.output("certificate")
    assert stack.up(_chain(**change))["replace"] == replaced
    assert stack.output("certificate") != before


def test_a_default_that_is_spelled_out_changes_nothing(stack: Stack) -> None:
    stack.up(_chain())
    before = stack.output("certificate")
    spelled_out = _chain(is_ca_certificate=False, set_subject_key_id=False, early_renewal_hours=0)
    assert "replace" not in stack.up(spelled_out)
    assert "replace" not in stack.up(_chain())
    assert stack.output("certificate") == before


def test_a_certificate_inside_its_renewal_window_is_renewed(stack: Stack) -> None:
    stack.up(_chain())
    before = stack.output("certificate")
    # A wider window is an update in place; if the certificate is inside it, it is replaced at once.
    assert stack.up(_chain(early_renewal_hours=24)).get("update") == 1
    assert stack.output("certificate") == before
    assert stack.up(_chain(early_renewal_hours=47, validity_period_hours=48)).get("update") == 1
    assert stack.preview(_chain(early_renewal_hours=48))["replace"] == 1
    stack.up(_chain(early_renewal_hours=48))
    assert stack.output("certificate") != before
    assert stack.output("ready") is True


def test_a_bad_use_is_refused_before_anything_is_made(stack: Stack) -> None:
    with pytest.raises(Exception, match=r"(?i)allowed_?uses"):
        stack.up(_chain(allowed_uses=["no_such_use"]))
