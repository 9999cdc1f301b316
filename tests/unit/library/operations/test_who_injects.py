"""Each Pod is injected by one istiod: beside a tag `default`, and where two meshes are in one cluster."""

from __future__ import annotations

from typing import Any

import pulumi_hosted_mesh as hosted_mesh
import pytest
from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.boundary.endpoint_check import require_matching_endpoints
from pulumi_hosted_mesh.charts.chart import MeshCharts
from pulumi_hosted_mesh.clusters.kubeconfig import minimal
from pulumi_hosted_mesh.data_plane import webhooks
from pulumi_hosted_mesh.operations.discovery import show
from pulumi_hosted_mesh.operations.discovery.cluster_observation import ClusterObservation
from pulumi_hosted_mesh.operations.discovery.meshes import discover
from pulumi_hosted_mesh.operations.discovery.overlaps import called, overlaps
from pulumi_hosted_mesh.operations.webhooks.check import verdicts
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.data_plane import DataPlane
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.mesh import Mesh

from tests.unit.library.documents import CERTIFICATE, document
from tests.unit.library.operations.webhooks import ENDPOINT, installed, observed
from tests.unit.library.program import run

CANARY = {"name": "canary", "host": "istiod-canary.demo.example.com", "exposure": {"sourceRanges": ["203.0.113.0/24"]}}
KUBECONFIG = minimal("c", {"server": "https://dp.example.com", "certificate-authority-data": "QQ=="}, {"token": "t"})
MUTATING = "MutatingWebhookConfiguration"


def mesh(name: str = "demo", revision: str = "default", **tags: str) -> Mesh:
    """Of two revisions."""
    written = document({"name": name, "revisions.0.name": revision})
    return read_document(Mesh, {**written, "revisions": [*written["revisions"], CANARY], "tags": tags})


def endpoints(of: Mesh) -> list[ControlPlaneEndpoint]:
    return [ControlPlaneEndpoint.of(of, one, of.memberships[0], CERTIFICATE) for one in of.revisions]


def configurations(of: Mesh, kind: str = MUTATING) -> list[webhooks.Manifest]:
    settings = of.memberships[0].webhooks
    made = [one for endpoint in endpoints(of) for one in webhooks.manifests(endpoint, settings, "")]
    return [one for one in made if one["kind"] == kind]


def names(of: Mesh, kind: str = MUTATING) -> set[str]:
    return {one["metadata"]["name"] for one in configurations(of, kind)}


def test_the_tag_default_takes_the_pods_of_the_revision_of_that_name() -> None:
    """Both would be asked about the same ones. The revision is still asked by its other tags, and validates."""
    before, after = mesh(prod="default"), mesh(prod="default", default="canary")
    assert names(before) - names(after) == {"istio-sidecar-injector-mesh-demo"}
    assert names(after) - names(before) == {"istio-revision-tag-default-mesh-demo"}
    assert names(before, "ValidatingWebhookConfiguration") == names(after, "ValidatingWebhookConfiguration")
    for one in (before, after):
        assert not list(overlaps(configurations(one)))
    old, new = endpoints(after)
    assert (old.document.asked_by, new.document.asked_by) == (("prod",), ("canary", "default"))


def test_a_revision_without_pods_of_its_own_name_is_checked_without_them() -> None:
    endpoint = ENDPOINT.model_copy(update={"injects": False, "tags": ()})
    found = observed(configurations=installed(endpoint), pods={})
    assert [one["kind"] for one in found.configurations] == ["ValidatingWebhookConfiguration"]
    assert [one.cause for one in verdicts(endpoint, found)] == [None, None]
    assert next(one.cause for one in verdicts(ENDPOINT, found)) == "revision-not-present"


def test_files_of_before_and_after_the_tag_moved_are_refused() -> None:
    told = [[one.document for one in endpoints(of)] for of in (mesh(), mesh(default="canary"))]
    said = [[one.model_copy(update={"root_certificate": CERTIFICATE}) for one in both] for both in told]
    for together in said:
        require_matching_endpoints(read_document(DataPlane, {"mesh": "demo"}), together)
    mixed: list[EndpointDocument] = [said[0][0], said[1][1]]
    with pytest.raises(InvalidInputError, match="several revisions for the label default"):
        require_matching_endpoints(read_document(DataPlane, {"mesh": "demo"}), mixed)


@pytest.mark.parametrize(
    ("theirs", "pods"),
    [
        ({"revision": "default"}, "namespaces labelled istio-injection: enabled"),
        ({"revision": "1-31", "default": "1-31"}, "namespaces labelled istio-injection: enabled"),
        ({"revision": "prod"}, "namespaces labelled istio.io/rev: prod"),
        ({"revision": "1-31"}, ""),
    ],
    ids=["revision", "tag", "a tag that is a revision", "apart"],
)
def test_two_meshes_that_are_asked_about_the_same_pods_are_told(theirs: dict[str, str], pods: str) -> None:
    """ENDPOINT has the revision `default` and the tag `prod`."""
    written = document({"name": "shop", "revisions.0.name": theirs["revision"]})
    shop = read_document(Mesh, {**written, "tags": {tag: name for tag, name in theirs.items() if tag != "revision"}})
    everything = [*installed(), *configurations(shop)]
    first = verdicts(ENDPOINT, observed(configurations=everything))[0]
    shown = show.table(
        discover([ClusterObservation("dp", {MUTATING: [one for one in everything if one["kind"] == MUTATING]})])
    )
    assert first.cause == ("injected-twice" if pods else None)
    assert ("dp: injected twice" in shown) == bool(pods)
    if pods:
        assert f"both select {pods}" in first.seen
        assert " of mesh shop)" in first.seen
        assert f"dp: injected twice, {pods}: by istio-" in shown


def test_istios_own_injection_is_told_apart_from_one_that_istioctl_put_out_of_use() -> None:
    """`istioctl tag set default` leaves it there with selectors that never match."""
    metadata = {"name": "istio-sidecar-injector", "labels": {}}
    own = {"metadata": metadata, "webhooks": configurations(mesh())[0]["webhooks"]}
    off = {"matchLabels": {"istio.io/deactivated": "never-match"}}
    unused = {
        **own,
        "webhooks": [{**hook, "namespaceSelector": off, "objectSelector": off} for hook in own["webhooks"]],
    }
    (found,) = overlaps([configurations(mesh("shop"))[0], own])
    assert called(found[1]) == "istio-sidecar-injector (revision default)"
    assert not list(overlaps([configurations(mesh("shop"))[0], unused]))


def program(*meshes: Mesh, servers: tuple[str, ...] = (), management: str = "managed") -> Any:
    def made() -> None:
        for position, of in enumerate(meshes):
            text = KUBECONFIG.replace("https://dp.example.com", servers[position]) if servers else KUBECONFIG
            cluster = hosted_mesh.DataPlaneCluster(of.name, kubeconfig=text)
            for endpoint in endpoints(of):
                arguments = {"cluster": cluster, "endpoint": endpoint.as_arguments()}
                more: Any = {"webhooks": {"management": management}}
                hosted_mesh.RemoteDataPlane(f"{of.name}-{endpoint.revision}", {**arguments, **more})  # type: ignore[typeddict-item]

    return made


def test_two_meshes_of_one_program_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MeshCharts, "make", lambda *_, **__: None)  # charts need an engine
    demo, shop = mesh(default="canary"), mesh("shop")
    with pytest.raises(InvalidInputError, match="`default` in the meshes demo and shop, which are in one cluster"):
        run(program(demo, shop))
    run(program(demo, shop, servers=("https://dp.example.com", "https://other.example.com")))
    run(program(demo, shop, management="unmanaged"))
    apart = read_document(Mesh, document({"name": "shop", "revisions.0.name": "shop"}))
    run(program(demo, apart))
    run(program(demo))
