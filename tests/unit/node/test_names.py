"""Addresses and name files of Pods; log lines."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lightkube.models.core_v1 import HostAlias, PodSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import Pod

from sandbox.node.addresses import AddressesExhaustedError, AddressPool
from sandbox.node.kubelet_api import log_stream
from sandbox.node.pod import names
from sandbox.node.runtime.rootfs import NameService

DNS = names.ClusterDns("10.96.0.10", "cluster.local")


def name_service(**spec: object) -> NameService:
    pod = Pod(metadata=ObjectMeta(name="web-0", namespace="shop"), spec=PodSpec(containers=[], **spec))
    return names.name_service(pod, "10.1.0.7", DNS)


def test_cluster_first() -> None:
    assert name_service().resolv_conf == (
        "nameserver 10.96.0.10\nsearch shop.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n"
    )


def test_hosts() -> None:
    found = name_service(subdomain="web", hostAliases=[HostAlias(ip="1.2.3.4", hostnames=["a", "b"])])
    assert "10.1.0.7\tweb-0.web.shop.svc.cluster.local web-0\n" in found.hosts
    assert found.hosts.endswith("1.2.3.4\ta b\n")
    assert name_service(hostname="other").hostname == "other"


@given(st.lists(st.booleans(), max_size=40))
def test_addresses_are_unique_while_held(steps: list[bool]) -> None:
    pool = AddressPool("10.1.0.0/28", reserved=["10.1.0.1"])
    held: list[str] = []
    for take in steps:
        if take and len(held) < 13:
            address = pool.take()
            assert address not in held
            assert address != "10.1.0.1"
            held.append(address)
        elif held:
            pool.release(held.pop(0))


def test_an_address_is_not_given_again_at_once_and_can_be_asked_for() -> None:
    pool = AddressPool("10.1.0.0/29", reserved=[])
    first = pool.take()
    pool.release(first)
    assert pool.take() != first
    assert pool.take(first) == first
    assert pool.take(first) != first
    assert pool.take("10.2.0.1") != "10.2.0.1"


def test_an_exhausted_range_says_so() -> None:
    pool = AddressPool("10.1.0.0/30", reserved=["10.1.0.1"])
    pool.take()
    with pytest.raises(AddressesExhaustedError, match=r"10\.1\.0\.0/30"):
        pool.take()


def test_log_lines_are_shown_as_asked() -> None:
    line = b"2026-01-02T03:04:05.000001Z stdout F hello  world\n"
    assert log_stream.Options().show(line) == b"hello  world\n"
    assert log_stream.Options(timestamps=True).show(line) == b"2026-01-02T03:04:05.000001Z hello  world\n"
    assert log_stream.Options(since=datetime(2026, 1, 3, tzinfo=UTC)).show(line) == b""
    parsed = log_stream.Options.parse({"follow": "true", "tailLines": "3", "sinceTime": "2026-01-03T00:00:00Z"})
    assert (parsed.follow, parsed.tail, parsed.previous) == (True, 3, False)
