"""A request counts as the caller's only by what the called workload's own proxy says of it."""

from __future__ import annotations

import pytest

from sandbox.proof.deployed import NotObserved
from sandbox.proof.traffic import arrived_from

SPIFFE = "spiffe://mesh.test/ns/bookshop/sa/frontend"
SEEN = f'By=spiffe://mesh.test/ns/bookshop/sa/backend;Hash=1f;Subject="";URI={SPIFFE}'


@pytest.mark.parametrize("header", [SEEN, f"By=x;URI=spiffe://mesh.test/ns/edge/sa/gateway,{SEEN}"])
def test_the_callers_identity_is_seen(header):
    arrived_from({"x-forwarded-client-cert": header}, SPIFFE)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-forwarded-client-cert": ""},
        {"x-forwarded-client-cert": SEEN.replace("frontend", "frontend2")},
        {"x-forwarded-client-cert": SEEN.replace(";URI", ";DNS")},
        {"x-forwarded-client-cert": f"{SEEN},By=x;URI=spiffe://mesh.test/ns/bookshop/sa/other"},
        {"x-other": SEEN},
    ],
    ids=["plain text", "empty", "a longer name", "no URI", "the caller's own word before another's", "another header"],
)
def test_a_200_without_it_is_not(headers):
    with pytest.raises(NotObserved, match="without the identity"):
        arrived_from(headers, SPIFFE)
