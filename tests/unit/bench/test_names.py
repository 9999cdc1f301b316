"""What is measured of names, and what it is measured on."""

from __future__ import annotations

import pytest
import yaml
from pulumi_hosted_mesh.dns.arguments import reader_arguments
from pulumi_hosted_mesh.dns.plan import pairs
from pulumi_hosted_mesh.spec.dns import DnsBridge
from pulumi_hosted_mesh.spec.load import read_document

from bench.names import answered, figures, world
from bench.names.figures import BRIDGE, INSIDE, Changes, Many, Rest
from bench.samples import Samples

METRICS = """\
# TYPE apiserver_longrunning_requests gauge
apiserver_longrunning_requests{component="apiserver",resource="services",verb="WATCH"} 5
apiserver_longrunning_requests{component="apiserver",resource="pods",verb="WATCH"} 7
apiserver_longrunning_requests{component="apiserver",resource="services",subresource="proxy",verb="CONNECT"} 7
apiserver_flowcontrol_dispatched_requests_total{flow_schema="inside",priority_level="workload-low"} 8
apiserver_flowcontrol_dispatched_requests_total{flow_schema="inside",priority_level="another"} 1e+02
apiserver_flowcontrol_dispatched_requests_total{flow_schema="service-accounts",priority_level="workload-low"} 999
apiserver_flowcontrol_rejected_requests_total{flow_schema="inside",priority_level="workload-low"} 999
"""


def test_requests_are_counted_by_who_asks() -> None:
    assert figures.requests_in(METRICS, "inside") == 108
    assert figures.requests_in(METRICS, "hosted-mesh-dns") == 0
    assert figures.watches_in(METRICS) == 5


def test_p99_is_a_change_that_was_seen() -> None:
    seen = Samples([float(number) for number in range(200, 0, -1)])
    assert (seen.quantile(0.5), seen.quantile(0.99), seen.quantile(1.0)) == (100.5, 198.0, 200.0)
    assert Samples([3.0, 1.0, 2.0]).quantile(0.99) == 3.0


def test_the_bridge_is_compared_by_its_median_change() -> None:
    inside = Samples([5.0, 6.0, 7.0])
    rows = figures.changes_grid(
        [Changes(1, Samples([6.0, 5.0, 60.0]), inside), Changes(2, Samples([12.0, 11.0, 13.0]), inside)]
    ).rows
    assert rows == [
        ["1", "3", "6.0 s", "60.0 s", "6.0 s", "7.0 s", "1.00", "met"],
        ["2", "3", "12.0 s", "13.0 s", "6.0 s", "7.0 s", "2.00", "not met"],
    ]


def test_a_watch_that_does_not_end_while_the_bench_looks_counts_too() -> None:
    inside = Rest(INSIDE, 120, 2, 4)
    assert figures.rest_grid(Rest(BRIDGE, 120, 0, 12), inside).rows == [
        [BRIDGE, "120 s", "0", "12", "0.20", "0.20", "met"],
        [INSIDE, "120 s", "2", "4", "1.00", "-", "-"],
    ]
    assert figures.rest_grid(Rest(BRIDGE, 120, 1, 12), inside).rows[0][5:] == ["0.70", "not met"]
    # One that asked for nothing shows nobody to be half of it.
    assert figures.rest_grid(Rest(BRIDGE, 120, 0, 0), Rest(INSIDE, 120, 0, 4)).rows[0][5:] == ["inf", "not met"]


def test_records_per_second() -> None:
    assert figures.many_grid([Many(BRIDGE, 10_000, 80)]).rows == [[BRIDGE, "10,000", "80 s", "125"]]


def test_the_names_of_many_gateways_are_as_many_as_asked_for() -> None:
    made = world.gateways("data-plane", 250, 100)
    hosts = [host for one in made for host in one["spec"]["servers"][0]["hosts"]]
    assert [len(one["spec"]["servers"][0]["hosts"]) for one in made] == [100, 100, 50]
    assert len(set(hosts)) == 250
    assert len({one["metadata"]["name"] for one in made}) == 3
    zone = "/".join(reversed(hosts[0].split(".")))
    assert f"/skydns/{zone}".startswith(world.key_prefix(world.BRIDGE_PREFIX, "data-plane"))


def test_both_ways_are_asked_for_the_same() -> None:
    """The same sources and zone; and a view each of one DNS server."""
    bridge = read_document(DnsBridge, {**world.DOCUMENT, "edges": [{"name": "data-plane"}]})
    (pair,) = pairs(bridge)
    manifests = world.inside("data-plane", "192.0.2.1")
    (deployment,) = (one for one in manifests if one["kind"] == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"] == bridge.images.external_dns
    for argument in reader_arguments(pair.edge):
        if argument.startswith(("--source", "--policy", "--service-type")):
            assert argument in container["args"]
    assert f"--domain-filter={pair.include[0]}" in container["args"]
    parts = [*yaml.safe_load_all(world.SERVERS.read_text())]
    (corefile,) = (one["data"]["Corefile"] for one in parts if one["kind"] == "ConfigMap")
    for prefix, port in ((world.BRIDGE_PREFIX, world.BRIDGE_PORT), (world.INSIDE_PREFIX, world.INSIDE_PORT)):
        assert f"path {prefix.rstrip('/')}\n" in corefile.partition(f"{world.ZONE}:{port} {{")[2].partition("errors")[0]


@pytest.mark.parametrize("after", [1, 3])
def test_the_moment_is_that_of_the_first_right_answer(after: int) -> None:
    looks = {53: 0, 1053: 0}

    def look(port: int) -> set[str]:
        looks[port] += 1
        return {"192.0.2.1"} if port == 1053 or looks[port] >= after else set()

    found = answered.when(look, [53, 1053], {"192.0.2.1"}, limit=30)
    first, second = found["53"], found["1053"]
    assert first is not None
    assert second is not None
    assert looks == {53: after, 1053: 1}
    assert (first > second) is (after > 1)


def test_what_never_comes_has_no_moment() -> None:
    assert answered.when(lambda _: set(), [53], {"192.0.2.1"}, limit=0.05) == {"53": None}
