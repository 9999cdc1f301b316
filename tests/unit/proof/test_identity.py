"""Each way in which a workload's certificate can be a wrong one is seen."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from cryptography import x509

from sandbox.proof.deployed import NotObserved
from sandbox.proof.identity import seen_in
from tests.support.authorities import DAY, NOW, SPIFFE, Authority, pem

ROOT = Authority("root")
ISSUER = Authority("issuer", ROOT)
FOREIGN = Authority("root")  # of the same name, as a forger would choose
FOREIGN_ISSUER = Authority("issuer", FOREIGN)
EXPIRED_ISSUER = Authority("expired", ROOT, ends=NOW - DAY)
NO_AUTHORITY = Authority("workload", ISSUER, ca=False)


def dump(*chain: x509.Certificate, listeners: int = 2) -> dict[str, Any]:
    """A proxy's config dump with this chain, leaf first."""
    inline = base64.b64encode(b"".join(pem(one) for one in chain)).decode()
    secret = {"tls_certificate": {"certificate_chain": {"inline_bytes": inline}}}
    active = [{"name": "default", "secret": secret}] if chain else []
    found = [{"name": str(number)} for number in range(listeners)]
    return {
        "configs": [
            {"@type": "type.googleapis.com/envoy.admin.v3.SecretsConfigDump", "dynamic_active_secrets": active},
            {"@type": "type.googleapis.com/envoy.admin.v3.ListenersConfigDump", "dynamic_listeners": found},
        ]
    }


def seen(given: dict[str, Any]) -> int:
    return seen_in(given, SPIFFE, pem(ROOT.certificate).decode())


@pytest.mark.parametrize("root", [(), (ROOT.certificate,)], ids=["without the root", "with the root"])
def test_a_chain_of_the_meshs_root_is_seen(root):
    assert seen(dump(ISSUER.workload(), ISSUER.certificate, *root)) == 2


WRONG = {
    "a foreign root": (
        (FOREIGN_ISSUER.workload(), FOREIGN_ISSUER.certificate, FOREIGN.certificate),
        "lead to the mesh",
    ),
    "a foreign root, left out": ((FOREIGN_ISSUER.workload(), FOREIGN_ISSUER.certificate), "lead to the mesh"),
    "a foreign issuer under our own": ((FOREIGN_ISSUER.workload(), ISSUER.certificate), "lead to the mesh"),
    "our own root added to a foreign chain": (
        (FOREIGN_ISSUER.workload(), FOREIGN_ISSUER.certificate, ROOT.certificate),
        "lead to the mesh",
    ),
    "an issuer that is missing": ((ISSUER.workload(),), "lead to the mesh"),
    "signed by a workload": (
        (NO_AUTHORITY.workload(), NO_AUTHORITY.certificate, ISSUER.certificate),
        "a signer is no authority",
    ),
    "another's name": ((ISSUER.workload(SPIFFE + "s"), ISSUER.certificate), "not for spiffe://"),
    "another trust domain": ((ISSUER.workload(SPIFFE.replace("mesh", "other")), ISSUER.certificate), "not for"),
    "a second name beside the right one": ((ISSUER.workload(SPIFFE, SPIFFE + "s"), ISSUER.certificate), "not for"),
    "one that has run out": ((ISSUER.workload(ends=NOW - DAY), ISSUER.certificate), "not valid now"),
    "an issuer that has run out": ((EXPIRED_ISSUER.workload(), EXPIRED_ISSUER.certificate), "not valid now"),
    "none": ((), "no workload certificate"),
}


@pytest.mark.parametrize("name", WRONG)
def test_any_other_is_not(name):
    chain, reason = WRONG[name]
    with pytest.raises(NotObserved, match=reason):
        seen(dump(*chain))


def test_a_proxy_that_istiod_told_nothing_is_seen():
    with pytest.raises(NotObserved, match="no listener"):
        seen(dump(ISSUER.workload(), ISSUER.certificate, listeners=0))
