"""Which proxies are told of other networks than the endpoint says: from Pods as an API server has them."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from pulumi_hosted_mesh.clusters.api_server import Answer
from pulumi_hosted_mesh.federation.exports import with_declared
from pulumi_hosted_mesh.operations.doctor.check import verdicts
from pulumi_hosted_mesh.operations.doctor.control_plane import has_other_members
from pulumi_hosted_mesh.operations.doctor.observation import ControlPlaneObservation, MeshObservation
from pulumi_hosted_mesh.operations.doctor.proxies import Proxy, injected
from pulumi_hosted_mesh.operations.doctor.views import views
from pulumi_hosted_mesh.operations.verdict import Verdict, report
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.networks import NETWORK_VIEW

from tests.unit.library.federation.documents import Manifest, federation
from tests.unit.library.operations import webhooks
from tests.unit.library.operations.doctor_reports import given, well
from tests.unit.library.operations.webhooks import FACTS, PLAIN, installed

GATEWAY = {"inject.istio.io/templates": "gateway"}


def endpoint(**facts: Any) -> EndpointDocument:
    return read_document(EndpointDocument, {**FACTS, "crossNetwork": "none", **facts})


JOINED = endpoint(crossNetwork="gateways")


def pod(
    view: str | None,
    owner: str = "apps/v1/namespaces/books/deployments/page",
    annotations: Manifest | None = None,
    *,
    mesh: str = "demo",
    native: bool = False,
) -> Manifest:
    """As injection makes it, with the variables of a URL that names cluster and network. view: None without it."""
    told = {"ISTIO_META_CLUSTER_ID": "demo", "ISTIO_META_NETWORK": "demo", "ISTIO_META_MESH_ID": mesh}
    told |= {"ISTIO_META_OWNER": f"kubernetes://apis/{owner}"} if owner else {}
    told |= {} if view is None else {NETWORK_VIEW: view}
    env: list[Manifest] = [{"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]
    proxy = {"name": "istio-proxy", "env": env + [{"name": name, "value": value} for name, value in told.items()]}
    app = {"name": "app"}
    spec = {"containers": [app], "initContainers": [proxy]} if native else {"containers": [app, proxy]}
    marks = {"istio.io/rev": "default", "sidecar.istio.io/status": "{}", **(annotations or {})}
    return {"metadata": {"name": "page-1", "namespace": "books", "annotations": marks}, "spec": spec}


def proxies(*pods: Manifest, namespace: str = "books", revision: str = "default") -> list[Proxy]:
    return [Proxy(namespace, one["metadata"]["name"], "page", revision, True, injected(one)) for one in pods]


def judged(found: list[Proxy], told: EndpointDocument, *, others: bool | None = True) -> list[Verdict]:
    return list(views(found, told, has_other_members=others))


def well_told(found: list[Proxy], told: EndpointDocument) -> str:
    """What is said of proxies that are told what the endpoint says."""
    (one,) = judged(found, told)
    assert (one.check, one.cause, one.fix) == ("network view of proxies", None, "")
    return one.seen


def test_a_pod_with_the_variables_of_the_old_url_is_told_of_all_networks() -> None:
    for native in (False, True):
        assert judged(proxies(pod("demo"), pod(None, native=native)), endpoint()) == [
            Verdict(
                "network view of proxies in namespace books",
                "another-view",
                "1 receive all networks, the endpoint has network demo only: deployment/page (1)",
                "`kubectl rollout restart deployment/page -n books`",
            )
        ]
    assert well_told(proxies(pod("demo"), pod("demo", native=True)), endpoint()) == (
        "2 of revision default, which receive network demo only"
    )


@pytest.mark.parametrize(
    ("view", "told", "said"),
    [
        ("west", endpoint(), "network west only, the endpoint has network demo only"),
        ("demo,west", endpoint(), "network demo and west only, the endpoint has network demo only"),
        ("", endpoint(), "all networks, the endpoint has network demo only"),
        ("demo", JOINED, "network demo only, the endpoint has all networks"),
        ("demo", endpoint(network=""), "network demo only, the endpoint has all networks"),
    ],
)
def test_another_view_than_the_endpoints_is_named(view: str, told: EndpointDocument, said: str) -> None:
    (one,) = judged(proxies(pod(view)), told)
    assert (one.cause, one.seen) == ("another-view", f"1 receive {said}: deployment/page (1)")


def test_with_gateways_a_view_may_be_a_gateways_own_and_without_it_may_not() -> None:
    """As the page has it for east-west gateways; with `none` the webhook's wins, so theirs is of before."""
    own = {"proxy.istio.io/config": f"proxyMetadata: {{{NETWORK_VIEW}: demo}}"}
    for chosen in (pod("demo", annotations=GATEWAY), pod("demo", annotations=own)):
        assert well_told(proxies(chosen, pod(None)), JOINED) == "2 of revision default, which receive all networks"
    for view in (None, "west"):
        assert [one.cause for one in judged(proxies(pod(view, annotations=GATEWAY)), endpoint())] == ["another-view"]


@pytest.mark.parametrize("told", [endpoint(), JOINED])
def test_what_injection_of_this_mesh_and_revision_did_not_make_is_not_looked_at(told: EndpointDocument) -> None:
    """A restart would not change it: without a proxy, made by istiod itself, of another mesh or revision."""
    other = None if told.network_view else "demo"
    without, whole = pod(other), pod(other)
    del without["spec"]["containers"][1]
    del whole["metadata"]["annotations"]["sidecar.istio.io/status"]
    found = [*proxies(without, whole, pod(other, mesh="shop")), *proxies(pod(other), revision="canary")]
    assert well_told(found, told).startswith("0 of revision default")


def test_a_pod_of_which_little_is_said_is_read() -> None:
    bare = {"metadata": {"name": "a", "annotations": {"sidecar.istio.io/status": "{}"}}}
    assert injected(bare) is None
    assert injected({**bare, "spec": {"containers": None, "initContainers": [{"name": "app"}]}}) is None
    found = injected({**bare, "spec": {"containers": [{"name": "istio-proxy"}]}})
    assert found is not None
    assert (found.mesh, found.view, found.workload) == ("", frozenset(), "pod/a")


def test_namespaces_are_apart_and_workloads_named_with_what_makes_them_anew() -> None:
    """Names are put into a command, so what a Pod's user wrote over them is not taken."""
    written = "apps/v1/namespaces/books/deployments/page;reboot"
    kinds = ("apps/v1/namespaces/books/statefulsets/db", "batch/v1/namespaces/books/jobs/once", "", written)
    found = proxies(pod(None), pod(None), *(pod(None, owner) for owner in kinds)) + proxies(pod(None), namespace="shop")
    books, shop = judged(found, endpoint())
    assert books.seen.endswith("only: deployment/page (2), job/once (1), pod/page-1 (2), ...")
    restart = "`kubectl rollout restart deployment/page statefulset/db -n books`"
    assert books.fix == f"{restart}. Recreate job/once, pod/page-1"
    assert (shop.check, shop.fix) == (
        "network view of proxies in namespace shop",
        "`kubectl rollout restart deployment/page -n shop`",
    )
    (alone,) = judged(proxies(pod(None, "")), endpoint())
    assert alone.fix == "Recreate pod/page-1"


def test_many_workloads_are_restarted_by_kind() -> None:
    owners = [f"apps/v1/namespaces/books/{kind}s/a{n}" for kind in ("deployment", "daemonset") for n in range(6)]
    (one,) = judged(proxies(*(pod(None, owner) for owner in owners)), endpoint())
    assert one.fix == "`kubectl rollout restart daemonset,deployment -n books`"
    (few,) = judged(proxies(*(pod(None, owner) for owner in owners[:10])), endpoint())
    assert few.fix.count("/") == 10


def test_in_a_mesh_of_one_member_another_view_does_no_harm_and_is_a_note() -> None:
    found = proxies(pod("demo"), pod(None), pod("west"))
    (note,) = judged(found, endpoint(), others=False)
    assert note.ok
    assert note.seen == (
        "3 of revision default, which receive network demo only, except 2 in books, which is harmless in a mesh of one "
        "member: restart these before another joins"
    )
    (unknown,) = judged(found, endpoint(), others=None)
    assert unknown.cause == "another-view"
    assert unknown.fix.endswith(". In a mesh of one member it can wait: --control-plane-kubeconfig checks this")


def control_plane(*secrets: str) -> ControlPlaneObservation:
    """With an istiod for each of these Secrets that it mounts."""
    there = well().control_plane
    assert there is not None
    volumes = [[{"name": "a"}, {"name": "b", "secret": {"secretName": one}}] for one in secrets]
    return dataclasses.replace(there, istiods=tuple({"spec": {"template": {"spec": {"volumes": v}}}} for v in volumes))


def test_whether_there_are_other_members_is_what_istiod_is_given_kubeconfigs_of() -> None:
    assert has_other_members(control_plane("istio-kubeconfig", "istio-remote-kubeconfigs")) is True
    assert has_other_members(control_plane("istio-kubeconfig")) is False
    assert has_other_members(control_plane()) is None
    assert has_other_members(None) is None


def doctor(observed: MeshObservation, **changes: Any) -> list[tuple[str, bool]]:
    """Checks that are of views, or fail, where a Pod is of before and the webhooks were asked."""
    asked = webhooks.observed(**{"configurations": installed(endpoint()), **changes})
    known, found = federation(given()), (*well().proxies, *proxies(pod(None)))
    observed = dataclasses.replace(observed, webhooks=asked, proxies=found)
    judged = verdicts(known, "east", with_declared(known, []), observed, endpoint())
    said = report(judged)["checks"]
    return [(str(one["cause"]), one["ok"]) for one in said if not one["ok"] or "view" in one["check"]]


def test_doctor_says_it_with_the_endpoint_once_a_restart_would_change_it() -> None:
    far = dataclasses.replace(well(), control_plane=None)
    assert doctor(far) == [("another-view", False)]
    assert doctor(well()) == [("None", True)]
    assert doctor(far, pods={"default": PLAIN}) == [("not-injected", False)]
    assert doctor(far, invalid=Answer(201, {})) == [("not-validated", False)]
    assert doctor(far, configurations=installed(JOINED)) == [("another-url", False)]
