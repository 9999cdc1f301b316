"""Two meshes of one program in one cluster: no Pod is asked for by both, however the cluster is given."""

from __future__ import annotations

from typing import Any

import pulumi
import pulumi_hosted_mesh as hosted_mesh
import pytest
from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.clusters.kubeconfig import for_account
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.mesh import Mesh

from tests.unit.library.documents import CERTIFICATE, document
from tests.unit.library.program import run

pytestmark = pytest.mark.usefixtures("without_transforms")


def kubeconfig(host: str = "api", *, later: bool = True) -> pulumi.Input[str]:
    text = for_account("it", f"https://{host}.example.com:6443", CERTIFICATE, "t0k3n")
    return pulumi.Output.from_input(text) if later else text


def data_plane(mesh: str, cluster: Any, changes: dict[str, Any] | None = None, **settings: Any) -> None:
    document_of = read_document(Mesh, document({"name": mesh, **(changes or {})}))
    (revision,), (member,) = document_of.revisions, document_of.memberships
    endpoint = ControlPlaneEndpoint.of(document_of, revision, member, CERTIFICATE).as_arguments()
    arguments: Any = {"cluster": cluster, "endpoint": endpoint, "webhooks": settings}
    hosted_mesh.RemoteDataPlane(mesh, arguments)


def in_one_wrapper() -> tuple[Any, Any]:
    cluster = hosted_mesh.DataPlaneCluster(kubeconfig=kubeconfig())
    return cluster, cluster


def of_one_identity() -> tuple[Any, Any]:
    return {"kubeconfig": kubeconfig(), "identity": "it-1"}, {"kubeconfig": kubeconfig(), "identity": "it-1"}


def of_one_address() -> tuple[Any, Any]:
    return {"kubeconfig": kubeconfig(later=False)}, {"kubeconfig": kubeconfig("API", later=False)}


def of_two() -> tuple[Any, Any]:
    return (
        {"kubeconfig": kubeconfig(later=False), "identity": "it-1"},
        {"kubeconfig": kubeconfig("other", later=False), "identity": "it-2"},
    )


@pytest.mark.parametrize("given", [in_one_wrapper, of_one_identity, of_one_address])
def test_two_meshes_that_would_inject_the_same_pods_are_refused(given: Any) -> None:
    def program() -> None:
        first, second = given()
        data_plane("shop", first)
        data_plane("bank", second)

    with pytest.raises(InvalidInputError, match="mesh bank cannot be used, revisions and tags: are `default` in the"):
        run(program, preview=True)


@pytest.mark.parametrize(
    ("given", "changes", "settings"),
    [
        (of_two, {}, {}),
        (in_one_wrapper, {"revisions.0.name": "bank"}, {}),
        (in_one_wrapper, {}, {"management": "unmanaged"}),
    ],
    ids=["in clusters of their own", "with revisions of their own", "of which one installs no webhooks"],
)
def test_other_meshes_stand_side_by_side(given: Any, changes: dict[str, Any], settings: dict[str, Any]) -> None:
    def program() -> None:
        first, second = given()
        data_plane("shop", first)
        data_plane("bank", second, changes, **settings)

    run(program, preview=True)
    # Programs of one process, as of the Automation API, know nothing of each other.
    run(program, preview=True)
