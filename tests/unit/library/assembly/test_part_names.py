"""Components of one program whose parts would have one name, and so one URN: by types and that name alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pulumi
import pulumi_hosted_mesh as hosted_mesh
import pytest
from pulumi_hosted_mesh.assembly import hosted_mesh as one_mesh
from pulumi_hosted_mesh.assembly import mesh_deployment
from pulumi_hosted_mesh.boundary.cacerts import FILES
from pulumi_hosted_mesh.clusters import distinct
from pulumi_hosted_mesh.clusters.kubeconfig import for_account
from pulumi_hosted_mesh.control_plane import external
from pulumi_hosted_mesh.problems import InvalidInputError

from tests.unit.library.assembly.kubeconfigs import kubeconfig
from tests.unit.library.documents import CERTIFICATE
from tests.unit.library.program import Registered, run

pytestmark = pytest.mark.usefixtures("without_transforms")
Make = Callable[[], object]
FIX = "Rename the one that is not deployed yet: a new name replaces deployed resources."


class Region(pulumi.ComponentResource):
    """Somebody else's."""

    def __init__(self, name: str, kind: str = "Region", parent: pulumi.Resource | None = None) -> None:
        super().__init__(f"example:index:{kind}", name, {}, pulumi.ResourceOptions(parent=parent))


@pytest.fixture(autouse=True)
def every_address_is_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distinct, "kube_system_uid", lambda config: config.server)


def cluster(name: str) -> dict[str, Any]:
    return {"kubeconfig": kubeconfig(f"https://{name}.example.com"), "identity": name.replace(".", "-")}


def revisions(mesh: str, names: tuple[str, ...]) -> list[dict[str, Any]]:
    return [{"name": one, "host": f"{one}.{mesh}.example.com", "exposure": {"open_to_all": True}} for one in names]


def mesh(
    name: str, *members: str, revision: tuple[str, ...] = ("default",), parent: Callable[[], Any] = lambda: None
) -> Make:
    arguments: Any = {
        "name": name,
        "control_plane": {"cluster": cluster("provider")},
        "revisions": revisions(name, revision),
        "memberships": [{"name": one, "cluster": cluster(f"{one}.{name}")} for one in members or ("default",)],
    }
    return lambda: hosted_mesh.HostedMesh(name, arguments, pulumi.ResourceOptions(parent=parent()))


def fleet(name: str, *places: str, revision: tuple[str, ...] = ("default",)) -> Make:
    arguments: Any = {
        "name": name,
        "control_plane": {"cluster": cluster("provider")},
        "template": {"revisions": revisions("{mesh}", revision)},
        "clusters": [{"name": one, "cluster": cluster(f"{one}.{name}")} for one in places],
    }
    return lambda: hosted_mesh.MeshDeployment(name, arguments)


def control_plane(name: str, *revision: str) -> Make:
    arguments: Any = {
        "mesh": {"name": name, "revisions": revisions(name, revision), "memberships": [{}]},
        "kubeconfigs": {"default": for_account(name, "https://api.example.com:6443", CERTIFICATE, "x")},
        "root_certificate": CERTIFICATE,
        "cacerts": dict.fromkeys(FILES, CERTIFICATE),
    }

    def make() -> object:
        where = hosted_mesh.ControlPlaneCluster(name, **cluster("provider"))
        return hosted_mesh.ExternalControlPlane(name, arguments | {"cluster": where})

    return make


def repeated(found: list[Registered]) -> list[str]:
    return [urn for urn, times in Counter(one.urn for one in found).items() if times > 1]


OWN, MEMBER, REVISION = "own name", "memberships[0].name", "revisions[0].name"
TOGETHER: dict[str, tuple[Make, Make, str]] = {
    "a member and a mesh": (
        mesh("shop", "eu"),
        mesh("shop-eu"),
        f"HostedMesh shop-eu cannot be used, {OWN}: makes the DataPlaneAccess shop-eu, as HostedMesh shop does by its "
        f"{MEMBER}. {FIX}",
    ),
    "a mesh and a member": (
        mesh("shop-eu"),
        mesh("shop", "us", "eu"),
        "HostedMesh shop cannot be used, memberships[1].name: makes the DataPlaneAccess shop-eu, as HostedMesh shop-eu "
        f"does by its {OWN}. {FIX}",
    ),
    "two members": (mesh("shop", "eu-1"), mesh("shop-eu", "1"), f"{MEMBER}: makes the DataPlaneAccess shop-eu-1, as"),
    "a revision and a mesh": (
        mesh("shop", revision=("canary",)),
        mesh("shop-canary"),
        f"{OWN}: makes the RemoteDataPlane shop-canary, as HostedMesh shop does by its {REVISION}",
    ),
    "a revision and a member": (
        mesh("shop", "eu", revision=("canary",)),
        mesh("shop-eu", "canary"),
        f"{MEMBER}: makes the RemoteDataPlane shop-eu-canary, as HostedMesh shop does by its {MEMBER}",
    ),
    "istiods": (
        mesh("shop", "eu", revision=("canary",)),
        mesh("shop-canary", "us"),
        f"{OWN}: makes the IstiodRevision shop-canary, as HostedMesh shop does by its {REVISION}",
    ),
    "control planes alone": (
        control_plane("shop", "default", "canary"),
        control_plane("shop-canary", "default"),
        f"ExternalControlPlane shop-canary cannot be used, {OWN}: makes the IstiodRevision shop-canary, as "
        f"ExternalControlPlane shop does by its revisions[1].name. {FIX}",
    ),
    "two deployments": (
        fleet("shop", "x", "eu-1"),
        fleet("shop-eu", "1"),
        "MeshDeployment shop-eu cannot be used, clusters[0].name: makes the HostedMesh shop-eu-1, as MeshDeployment "
        f"shop does by its clusters[1].name. {FIX}",
    ),
    "meshes of two deployments": (
        fleet("shop", "eu", revision=("canary",)),
        fleet("shop-eu", "canary"),
        f"HostedMesh shop-eu-canary cannot be used, {OWN}: makes the RemoteDataPlane shop-eu-canary, as HostedMesh "
        f"shop-eu does by its {REVISION}. {FIX}",
    ),
}
APART: dict[str, tuple[Make, Make]] = {
    "other names": (mesh("shop", "eu"), mesh("shop-us")),
    "a member beside the default one": (mesh("shop", "default", "eu"), mesh("bank", "default", "eu")),
    "a revision that is another's member": (mesh("shop", revision=("eu",)), mesh("bank", "eu")),
    "a deployment and a mesh": (fleet("shop", "eu"), mesh("shop-eu")),
    "a mesh and a control plane": (mesh("shop", revision=("canary",)), control_plane("shop-canary", "default")),
    "parents of two types": (mesh("shop", "eu"), mesh("shop-eu", parent=lambda: Region("a"))),
    "parents of one type in two": (
        mesh("shop", "eu", parent=lambda: Region("a")),
        mesh("shop-eu", parent=lambda: Region("b", parent=Region("c", "World"))),
    ),
}


def both(one: Make, other: Make) -> Make:
    def program() -> None:
        one()
        other()

    return program


@pytest.mark.parametrize("case", TOGETHER)
def test_parts_of_one_name_are_refused_before_the_first_of_them_is_made(case: str) -> None:
    one, other, words = TOGETHER[case]
    alone, found = run(one, preview=True), list[Registered]()
    with pytest.raises(InvalidInputError) as refused:
        run(both(one, other), preview=True, into=found)
    assert words in str(refused.value)
    assert repeated(found) == []
    assert {one.type for one in found if one.urn not in {two.urn for two in alone}} <= {
        "hosted-mesh:index:HostedMesh",
        "hosted-mesh:index:MeshDeployment",
    }


@pytest.mark.parametrize("case", TOGETHER)
def test_what_is_refused_would_have_been_two_resources_of_one_urn(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (one_mesh, mesh_deployment, external):
        monkeypatch.setattr(module, "require_unique_names", lambda *_: None)
    assert repeated(run(both(*TOGETHER[case][:2]), preview=True)) != []


@pytest.mark.parametrize("case", APART)
def test_parts_that_the_engine_tells_apart_are_made(case: str) -> None:
    assert repeated(run(both(*APART[case]), preview=True)) == []


def test_meshes_in_one_parent_of_somebody_elses_are_compared() -> None:
    def program() -> None:
        region = Region("a")
        mesh("shop", "eu", parent=lambda: region)()
        mesh("shop-eu", parent=lambda: region)()

    with pytest.raises(InvalidInputError, match="makes the DataPlaneAccess shop-eu"):
        run(program, preview=True)


def test_each_program_is_judged_by_itself() -> None:
    run(mesh("shop", "eu"), preview=True)
    run(mesh("shop-eu"), preview=True)
