"""A name is the bridge's only if its own object says that it is there, and somebody lives who would change it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from lightkube.models.coordination_v1 import Lease, LeaseSpec

from sandbox.proof.deployed import NotObserved
from sandbox.proof.names import holder, published

HOST = "istiod.demo.test"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def endpoint(*targets: str, reason: str = "Programmed", host: str = HOST) -> dict[str, Any]:
    conditions = [{"type": "Accepted", "reason": "Accepted"}, {"type": "Ready", "reason": reason}] if reason else []
    spec = {"endpoints": [{"dnsName": host, "recordType": "A", "targets": [*targets]}]}
    return {"metadata": {"name": host}, "spec": spec, "status": {"conditions": conditions}}


def test_the_record_has_the_host_with_all_of_its_addresses() -> None:
    others = [{"metadata": {"name": "empty"}, "spec": {}}, endpoint("192.0.2.1", host="other.demo.test")]
    found = published([*others, endpoint("192.0.2.2", "192.0.2.1")], HOST, ["192.0.2.1", "192.0.2.2"])
    assert found == f"hosted-mesh-dns/{HOST}"


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ([], "no DNSEndpoint"),
        ([endpoint("192.0.2.1", host="other.demo.test")], "no DNSEndpoint"),
        ([endpoint("192.0.2.1", "192.0.2.2")], "no DNSEndpoint"),
        ([endpoint("192.0.2.1", reason="Pending")], "says Pending"),
        ([endpoint("192.0.2.1", reason="")], "says nothing"),
    ],
    ids=["none", "another host", "another address", "not there yet", "without conditions"],
)
def test_a_record_that_is_not_there_is_none(given: list[dict[str, Any]], reason: str) -> None:
    with pytest.raises(NotObserved, match=reason):
        published(given, HOST, ["192.0.2.1"])


def lease(seconds_ago: float, by: str = "pod") -> Lease:
    renewed = NOW - timedelta(seconds=seconds_ago)
    return Lease(spec=LeaseSpec(holderIdentity=by, renewTime=renewed, leaseDurationSeconds=15))


def test_who_publishes_has_renewed_its_lease_in_time() -> None:
    assert holder([Lease(spec=LeaseSpec()), lease(14)], NOW) == "pod"
    with pytest.raises(NotObserved, match="pod has not renewed its Lease for 16 s"):
        holder([lease(16)], NOW)
    for given in ([], [Lease(spec=LeaseSpec())], [lease(1, by="")]):
        with pytest.raises(NotObserved, match="no Lease"):
            holder(given, NOW)
