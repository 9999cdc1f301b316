"""The hook of a program: the resources that it answers for, and the reasons with which it lets them go."""

from __future__ import annotations

import asyncio
from typing import Any

import pulumi
import pytest
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster
from pulumi_hosted_mesh.control_plane import removal_guard as guards
from pulumi_hosted_mesh.control_plane.in_use import Use
from pulumi_hosted_mesh.control_plane.removal_guard import GuardedMesh, RemovalGuard, RevisionInUseError
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.vocabulary import TYPE_REVISION_GUARD

from tests.unit.library.clusters.kubeconfigs import content
from tests.unit.library.documents import document

IN_USE = Use({"shop": 1})
DEPLOYMENT, SERVICE = "kubernetes:apps/v1:Deployment", "kubernetes:core/v1:Service"
EXPOSED = "istiod-exposed-demo"
GUARD = (TYPE_REVISION_GUARD, "demo-guard")


def check(
    monkeypatch: pytest.MonkeyPatch,
    use: Use | None = IN_USE,
    type_: str = DEPLOYMENT,
    name: str = "istiod",
    *,
    known: bool = True,
    own_webhooks: bool = False,
    labels: Any = None,
    uid: str = "its own",
    **changes: Any,
) -> list[bool]:
    """Whether webhooks count, of each question about a revision. Raises what the hook raises."""
    asked: list[bool] = []

    def use_of(api: Any, namespace: str, revision: str, *, webhooks: bool) -> Use | None:
        assert (namespace, revision) == ("mesh-demo", "default")
        asked.append(webhooks)
        return use

    async def run() -> None:
        mesh = read_document(Mesh, document({path.replace("__", "."): value for path, value in changes.items()}))
        cluster = ControlPlaneCluster(kubeconfig=content())
        guard = RemovalGuard(clusters=[cluster])
        if known:
            guard.meshes["mesh-demo"] = GuardedMesh(mesh, own_webhooks)
        own = labels or {"app": "istiod", "istio.io/rev": "default"}
        inputs: dict[str, Any] = {"spec": {"selector": own}} if type_ == SERVICE else {"metadata": {"labels": own}}
        outputs: dict[str, Any] = {"metadata": {"uid": "its own"}}
        called = ("urn", f"mesh-demo/{name}", name, type_)
        if type_ == TYPE_REVISION_GUARD:  # a component has no id
            called = ("urn", "", name, type_)
            inputs, outputs = {"namespace": "mesh-demo", "revision": "default", "uid": "its own"}, {}
        await guard.check(pulumi.ResourceHookArgs(*called, old_inputs=inputs, old_outputs=outputs))

    monkeypatch.setattr(guards, "use_of", use_of)

    class Server:
        def __init__(self, config: Any) -> None:
            pass

        def get(self, path: str) -> Any:
            kinds = {SERVICE: f"/services/{name}", DEPLOYMENT: f"/deployments/{name}", TYPE_REVISION_GUARD: ""}
            assert path.endswith(f"/namespaces/mesh-demo{kinds[type_]}")
            return {"metadata": {"uid": uid}} if uid else None

    monkeypatch.setattr(guards, "ApiServer", Server)
    monkeypatch.setattr(pulumi.log, "warn", lambda text: None)
    asyncio.run(run())
    return asked


@pytest.mark.parametrize(("type_", "name"), [(DEPLOYMENT, "istiod"), (SERVICE, EXPOSED), GUARD])
def test_what_serves_a_revision_in_use_stays(monkeypatch: pytest.MonkeyPatch, type_: str, name: str) -> None:
    with pytest.raises(RevisionInUseError, match="revision default in namespace mesh-demo is in use by 1 proxies"):
        check(monkeypatch, type_=type_, name=name)


@pytest.mark.parametrize("use", [Use(), None, Use({"shop": 1}, override="the cluster is gone")])
def test_what_is_not_in_use_or_has_a_reason_on_it_goes(monkeypatch: pytest.MonkeyPatch, use: Use | None) -> None:
    assert check(monkeypatch, use) == [True]


@pytest.mark.parametrize("uid", ["", "another"])
def test_an_object_of_the_same_name_in_another_cluster_is_not_it(monkeypatch: pytest.MonkeyPatch, uid: str) -> None:
    """As after a cluster was rebuilt."""
    assert check(monkeypatch, uid=uid) == []
    assert check(monkeypatch, None, *GUARD, uid=uid) == []


def test_the_documents_reason_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    reason = {"default": "the cluster is gone"}
    assert check(monkeypatch, controlPlane__removeInUse=reason) == []
    with pytest.raises(RevisionInUseError):
        check(monkeypatch, controlPlane__removeInUse={"canary": "the cluster is gone"})


def test_a_service_that_the_exposure_has_no_longer_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(monkeypatch, type_=SERVICE, name=f"{EXPOSED}-webhooks") == []
    with pytest.raises(RevisionInUseError):  # the revision itself goes
        check(monkeypatch, type_=SERVICE, name=f"{EXPOSED}-webhooks", revisions__0__name="canary")


def test_webhooks_count_where_another_program_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a mesh that the program no longer has, nobody can tell."""
    assert check(monkeypatch, Use()) == [True]
    assert check(monkeypatch, Use(), own_webhooks=True) == [False]
    assert check(monkeypatch, Use(), known=False) == [False]


def test_a_deployment_of_no_revision_is_not_istiods(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(monkeypatch, labels={"app": "istiod"}) == []
