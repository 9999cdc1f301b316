"""Proxies push their metrics to the collector on the control plane: exact numbers, identities by certificate."""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.core_v1 import Pod as PodModel
from lightkube.resources.core_v1 import Namespace, Pod
from pulumi_hosted_mesh.observability import dashboards

from sandbox.clusters import Cluster, Sandbox
from sandbox.proof import workloads
from sandbox.proof.deployed import Deployed, NotObserved, eventually
from sandbox.proof.processes import Process
from sandbox.proof.shown_traffic import require_push
from sandbox.toolchain import Tools
from tests.live.mesh.observed import EDGE, GATEWAY, TOTAL, Edges, Observed
from tests.live.mesh.pushing import (
    Gateway,
    apply_all,
    document,
    forged_tenant,
    has_address,
    pushing,
    ready,
    route,
)
from tests.live.mesh.span_receiver import (
    SERVER,
    TRACES,
    both_ends,
    has_spans,
    receiver_of_spans,
    settled_spans,
    spans_of,
)
from tests.live.observability.kiali_graph import Graph, Kiali, RefusedError
from tests.support.gateways import PROBE
from tests.support.kubectl import Kubectl

NAMESPACE = "counted"
THIEF = "thief"
CALLERS = (workloads.CALLER, THIEF)
# Of the committed document: the address for Pods of the control plane.
API_SERVER = "https://api.data-plane.sandbox.test:6443"
STEADY = Path(__file__).parents[1] / "revisions" / "programs" / "steady.py"
STATS = "type.googleapis.com/envoy.extensions.access_loggers.stats.v3.Config"
MANAGER = "envoy.filters.network.http_connection_manager"
EnvoyFilter = create_namespaced_resource("networking.istio.io", "v1alpha3", "EnvoyFilter", "envoyfilters")
FORGED_CODE, FOREIGN_CODE = "298", "299"


@pytest.fixture(scope="module")
def deployed(live_sandbox: Sandbox, tools: Tools) -> Deployed:
    return Deployed.of(live_sandbox, tools)


@pytest.fixture(scope="module")
def pushes(deployed: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """Its update with another `kiali`."""
    parts = {
        "prometheus": {"placement": "control-plane", "scrapeInterval": "2s"},
        "kiali": {"readers": ["login"], "apiServer": API_SERVER},
        "traces": TRACES,
        "accessLogs": "gateways",
    }
    gateways = ({"name": GATEWAY, "chartValues": {"readinessProbe": PROBE}},)
    folder = tmp_path_factory.mktemp("metrics")
    with pushing(deployed, folder, document(deployed.mesh.name, **parts), gateways) as change:
        yield change


@pytest.fixture(scope="module")
def observed(deployed: Deployed, pushes: Callable[..., Any]) -> Iterator[Observed]:
    """A caller, a thief with a forging proxy, and the called workload, in a namespace of their own."""
    eventually(lambda: has_address(deployed), seconds=120)
    ports = {name: {"name": "http", "port": workloads.PORT} for name in (*CALLERS, workloads.CALLED)}
    made = list(workloads.manifests(deployed.mesh.injection_labels, ports, namespace=NAMESPACE))
    for manifest in made:
        if manifest["kind"] == "Deployment" and manifest["metadata"]["name"] == THIEF:
            manifest["spec"]["template"]["metadata"]["annotations"] = forged_metadata()
    try:
        namespace, *others = map(workloads.parse, made)
        apply_all(deployed, namespace, forging_filter(deployed), *route(deployed, NAMESPACE), *others)
        pods = {name: eventually(lambda: pushes_metrics(deployed, name), seconds=180) for name in ports}  # noqa: B023
        # Its first Pod may have the bootstrap of before the update.
        kubectl = Kubectl.of(deployed.sandbox.data_plane, deployed.tools)
        there = (f"deployment/{GATEWAY}", f"--namespace={deployed.mesh.namespace}")
        kubectl("rollout", "restart", *there)
        kubectl("rollout", "status", *there, "--timeout=240s")
        eventually(lambda: no_gateway_ends(deployed), seconds=120)
        found = Observed(deployed, NAMESPACE, pods)
        for name in CALLERS:
            eventually(lambda: found.knows_the_called(name), seconds=120)  # noqa: B023 (called at once)
        yield found
    finally:
        deployed.data_plane.delete(Namespace, NAMESPACE)
        deployed.data_plane.delete(Gateway, GATEWAY, namespace=deployed.mesh.namespace)


def no_gateway_ends(deployed: Deployed) -> None:
    """Raises NotObserved while a Pod of before still ends, and may be given a request."""
    pods = list(deployed.data_plane.list(Pod, namespace=deployed.mesh.namespace, labels={"app": GATEWAY}))
    if any(pod.metadata and pod.metadata.deletionTimestamp for pod in pods):
        raise NotObserved(f"one of {len(pods)} Pods of the gateway still ends")


def pushes_metrics(deployed: Deployed, name: str) -> PodModel:
    return require_push(deployed, ready(deployed, NAMESPACE, name))


def forged_metadata() -> dict[str, str]:
    """The thief's proxy calls itself by the other workload's name."""
    proxy = {"proxyMetadata": {"ISTIO_META_WORKLOAD_NAME": workloads.CALLED}}
    return {"proxy.istio.io/config": json.dumps(proxy)}


def forging_filter(deployed: Deployed) -> Any:
    """Two more loggers of the thief's proxy, which an administrator of the data plane may add.

    One reports each request as received by the called workload, from the other caller. One reports in the name of
    another tenant, cluster and network.
    """
    domain = deployed.mesh.trust_domain
    of = {name: f"spiffe://{domain}/ns/{NAMESPACE}/sa/{name}" for name in (*CALLERS, workloads.CALLED)}
    received = {
        "reporter": "destination",
        "source_principal": of[workloads.CALLER],
        "destination_workload": workloads.CALLED,
        "destination_principal": of[workloads.CALLED],
        "response_code": FORGED_CODE,
    }
    foreign = {
        "reporter": "source",
        "source_workload": THIEF,
        "source_principal": of[THIEF],
        "response_code": FOREIGN_CODE,
        "response_flags": "-",
        **dict.fromkeys(("tenant", "cluster", "network", "pod"), "other"),
    }
    loggers = [logger(f"forged-{position}", tags) for position, tags in enumerate((received, foreign))]
    kind = "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
    patch = {
        "applyTo": "NETWORK_FILTER",
        "match": {"context": "SIDECAR_OUTBOUND", "listener": {"filterChain": {"filter": {"name": MANAGER}}}},
        "patch": {"operation": "MERGE", "value": {"typed_config": {"@type": kind, "access_log": loggers}}},
    }
    spec = {"workloadSelector": {"labels": {"app": THIEF}}, "configPatches": [patch]}
    return EnvoyFilter.from_dict({"metadata": {"name": "forged", "namespace": NAMESPACE}, "spec": spec})


def logger(name: str, tags: Mapping[str, str]) -> dict[str, Any]:
    """An access logger that counts each request with constant tags."""
    stat = {"name": TOTAL, "tags": [{"name": tag, "value_format": value} for tag, value in tags.items()]}
    config = {"@type": STATS, "stat_prefix": "istiocustom", "counters": [{"stat": stat, "value_fixed": 1}]}
    return {"name": name, "typed_config": config}


def labels_of(samples: list[tuple[str, dict[str, str], float]], name: str) -> set[str]:
    return {labels[name] for metric, labels, _ in samples if metric == TOTAL}


def test_kialis_graph_equals_the_requests(observed: Observed) -> None:
    """The first test of the file: the graph of a minute has this traffic alone."""
    kiali = Kiali(observed.deployed, "obs-demo")
    # Twice the same: Prometheus counts an increase from a series' first sample on, and extrapolates by its share.
    plan = {"_200": 91, "_404": 4, "_500": 5}
    before, sent = observed.edges(), observed.edge(workloads.CALLER, **plan)
    observed.send(workloads.CALLER, **plan)
    # Proxies that have just started may push their first message later.
    observed.settles(before + sent, seconds=120)
    eventually(lambda: has_data(observed, f'{TOTAL}{{response_code="500"}}'), seconds=120)
    observed.send(workloads.CALLER, **plan)
    graph = has_graph(observed, kiali, {"200": 91.0, "404": 4.0, "500": 5.0})
    edge = (workloads.CALLER, workloads.CALLED)
    assert graph.nodes == {(observed.deployed.mesh.name, NAMESPACE, name) for name in edge}
    assert list(graph.edges) == [edge]
    assert graph.errors == {edge: 9.0}
    # All of them are in the window, which is a minute, or the namespace's age. Prometheus extrapolates to its ends.
    assert graph.rates[edge] > 0.95 * 100 / 60
    found = {(one["cluster"], one["name"]) for one in kiali.get("namespaces")}
    assert found >= {("control-plane", "obs-demo"), (observed.deployed.mesh.name, NAMESPACE)}
    # The graph has the caller's reports alone: the called workload's may arrive in the next test.
    observed.settles(before + sent + sent)


def has_graph(observed: Observed, kiali: Kiali, percentages: dict[str, float]) -> Graph:
    """The graph, once the edge of caller and called workload has these percentages by code."""

    def equal() -> Graph:
        found = kiali.graph(NAMESPACE)
        if found.edges.get((workloads.CALLER, workloads.CALLED)) != percentages:
            raise NotObserved(str(found))
        return found

    return eventually(equal, seconds=180)


def test_numbers_equal_the_requests_by_edge_and_code(observed: Observed) -> None:
    before = observed.edges()
    observed.send(workloads.CALLER, _200=17, _404=5, _500=3)
    observed.settles(before + observed.edge(workloads.CALLER, _200=17, _404=5, _500=3))


def test_gateways_are_counted_too_and_alone_write_access_logs(observed: Observed) -> None:
    before, deployed = observed.edges(), observed.deployed
    observed.send_from_outside(_202=1, _404=3)
    observed.settles(before + observed.edge(GATEWAY, _202=1, _404=3))
    found = deployed.data_plane.list(Pod, namespace=deployed.mesh.namespace, labels={"app": GATEWAY})
    gateways = [pod for pod in found if pod.metadata and pod.metadata.deletionTimestamp is None]

    def written() -> None:
        found = observed.requests_in_logs(*gateways)
        if len([line for line in found if "/status/404" in line and " 404 " in line]) != 3:
            raise NotObserved(f"the gateway's log has {found}")

    eventually(written, seconds=120)
    assert observed.requests_in_logs(*observed.pods.values()) == []


def test_a_forging_proxy_counts_for_its_own_identity_alone(observed: Observed) -> None:
    """Its own report has the forged name of a workload, but its certificate's principal."""
    before = observed.edges()
    observed.send(THIEF, _200=4)
    foreign = ("source", THIEF, observed.principal(THIEF), "unknown", "unknown", FOREIGN_CODE)
    own = observed.edge(THIEF, called_by=workloads.CALLED, _200=4)
    observed.settles(before + own + Edges({foreign: 4}))
    assert observed.own("rejected_series_total", reason="forged") == 1
    samples, mesh = observed.samples(), observed.deployed.mesh.name
    assert [labels_of(samples, name) for name in ("tenant", "cluster", "network")] == [{mesh}] * 3
    assert "other" not in labels_of(samples, "pod")


def test_prometheus_has_the_numbers_and_each_panel_has_data(observed: Observed) -> None:
    before = observed.edges()
    observed.send(workloads.CALLER, _200=6, _500=2)
    expected = before + observed.edge(workloads.CALLER, _200=6, _500=2)
    observed.settles(expected)
    query = f'sum by ({", ".join((*EDGE, "response_code"))}) ({TOTAL}{{tenant="demo"}})'

    def equal() -> None:
        found = Edges()
        for labels, value in observed.prometheus(query):
            edge = (*(labels.get(name, "") for name in EDGE), labels["response_code"])
            if edge in expected:
                found[edge] = int(value)
        if found != expected:
            raise NotObserved(f"too many: {found - expected}, missing: {expected - found}")

    eventually(equal, seconds=120)
    for panel in dashboards.PANELS:
        for expression, _ in panel.queries:
            eventually(lambda: has_data(observed, expression.replace("$mesh", "demo")), seconds=120)  # noqa: B023


def has_data(observed: Observed, query: str) -> None:
    if not any(value == value for _, value in observed.prometheus(query)):
        raise NotObserved(f"Prometheus has nothing for {query}")


def test_requests_go_on_while_the_collector_is_killed_and_numbers_continue(observed: Observed, tmp_path: Path) -> None:
    before, file = observed.edges(), tmp_path / "counts.json"
    with subprocess.Popen(
        observed.from_pod(workloads.CALLER, STEADY, "new", str(file)), stdin=subprocess.PIPE
    ) as steady:
        try:
            wait_for(lambda: file.exists() and json.loads(file.read_text())["sent"] > 20, "requests")
            old = observed.collector()
            observed.kill(old)
            killed = time.monotonic()
            wait_for(lambda: restarted(observed, old), "another collector")
            eventually(lambda: has_numbers(observed), seconds=120)
            gap = time.monotonic() - killed
        finally:
            steady.communicate(timeout=60)
    counts = json.loads(file.read_text())
    assert counts["lost"] == []
    assert gap < 60
    observed.settles(before + observed.edge(workloads.CALLER, _200=counts["sent"]))


def restarted(observed: Observed, old: Process) -> bool:
    try:
        return observed.collector().pid != old.pid
    except NotObserved:
        return False


def has_numbers(observed: Observed) -> None:
    if not observed.edges():
        raise NotObserved("the collector has no requests")


def wait_for(look: Callable[[], bool], what: str) -> None:
    def seen() -> None:
        if not look():
            raise NotObserved(what)

    eventually(seen, seconds=120)


@pytest.fixture(scope="module")
def receiver(observed: Observed) -> Iterator[Callable[[int], None]]:
    """Starts and ends the receiver of spans."""
    with receiver_of_spans(observed.deployed) as scale:
        yield scale


def test_spans_at_the_receiver_equal_the_requests(observed: Observed, receiver: Callable[[int], None]) -> None:
    before = len(settled_spans(observed))
    plan = {200: 9, 404: 3, 500: 2}
    observed.send(workloads.CALLER, _200=9, _404=3, _500=2)
    traces = Counter(trace for *_, trace in has_spans(observed.spans, both_ends(observed, plan), before))
    # Both ends of each request are in one trace.
    assert sorted(traces.values()) == [2] * 14
    assert observed.own("rejected_spans_total") == observed.own("lost_spans_total") == 0


def test_spans_with_a_forged_tenant_are_rejected(observed: Observed, receiver: Callable[[int], None]) -> None:
    before = len(settled_spans(observed))
    rejected = observed.own("rejected_spans_total", reason="forged")

    def all_rejected() -> None:
        """The proxy sends spans each five seconds, apart from the called one's."""
        if (found := observed.own("rejected_spans_total", reason="forged") - rejected) != 4:
            raise NotObserved(f"{found} spans are rejected")

    with forged_tenant(observed, THIEF):
        observed.send(THIEF, _200=4)
        has_spans(observed.spans, spans_of(observed, {workloads.CALLED: {200: 4}}, SERVER), before)
        eventually(all_rejected, seconds=120)


@pytest.mark.nightly
def test_while_the_receiver_is_away_requests_go_on_and_spans_wait(
    observed: Observed, receiver: Callable[[int], None]
) -> None:
    settled_spans(observed)
    receiver(0)
    observed.send(workloads.CALLER, _200=7)

    def waits() -> None:
        if not observed.own("queued_span_bytes"):
            raise NotObserved("no span waits")

    eventually(waits, seconds=120)
    receiver(1)
    plan = {200: 7}
    has_spans(observed.spans, both_ends(observed, plan))
    assert observed.own("lost_spans_total") == 0


def test_the_users_view_takes_a_token_of_their_cluster_and_needs_no_right_on_the_control_plane(
    observed: Observed, pushes: Callable[..., Any]
) -> None:
    """The last test of the file: it replaces the provider's view."""
    deployed, mesh = observed.deployed, observed.deployed.mesh.name
    pushes(kiali={"login": "token", "apiServer": API_SERVER})
    kubectl = Kubectl.of(deployed.sandbox.control_plane, deployed.tools)
    account = "--as=system:serviceaccount:obs-demo:kiali"

    def has_no_right() -> None:
        if (found := kubectl.run("auth", "can-i", "list", "pods", "--all-namespaces", account).stdout.strip()) != "no":
            raise NotObserved(f"may Kiali's account list Pods: {found}")

    eventually(has_no_right, seconds=60)  # the API server's authorizer knows of removed roles a moment later
    tokens = {
        one.name: token_in(observed, one) for one in (deployed.sandbox.control_plane, deployed.sandbox.data_plane)
    }
    users = Kiali(deployed, "obs-demo", tokens[deployed.sandbox.data_plane.name])
    eventually(users.process, seconds=180)
    for other in ("", tokens[deployed.sandbox.control_plane.name], "forged"):
        with pytest.raises(RefusedError) as refused:
            replace(users, token=other).get("namespaces")
        assert refused.value.status == 401
    namespaces = users.get("namespaces")
    assert {one["cluster"] for one in namespaces} == {mesh}
    assert NAMESPACE in {one["name"] for one in namespaces}
    observed.send(workloads.CALLER, _200=10)
    wanted = (workloads.CALLER, workloads.CALLED)

    def shown() -> None:
        if wanted not in (found := users.graph(NAMESPACE)).edges:  # earlier tests' edges may be in its window
            raise NotObserved(str(found))

    eventually(shown, seconds=120)


def token_in(observed: Observed, cluster: Cluster) -> str:
    """Of an account that may view the cluster."""
    kubectl = Kubectl.of(cluster, observed.deployed.tools)
    name = "kiali-user"
    kubectl("create", "serviceaccount", name, "--namespace=default")
    kubectl("create", "clusterrolebinding", name, "--clusterrole=view", f"--serviceaccount=default:{name}")
    return str(kubectl("create", "token", name, "--namespace=default")).strip()
