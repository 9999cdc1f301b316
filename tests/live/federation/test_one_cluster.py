"""Two peers of a federation in one data plane's cluster, by the recipe of docs/components/federation.md."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from lightkube.models.core_v1 import Pod as PodModel

from sandbox.bootstrap import CHECKOUT
from sandbox.engine.deployment import POLICY_PACK
from sandbox.progress import Progress
from sandbox.proof import workloads
from sandbox.proof.deployed import NotObserved, eventually
from sandbox.toolchain import Tools
from tests.engine.library.engine import Project
from tests.live.federation.breaking.federation import kubectl
from tests.live.federation.meshes.federated import (
    CALLED,
    CALLER,
    NAMESPACE,
    PORT,
    PROGRAMS,
    STRANGER,
    Meshes,
    answered,
    federation,
)
from tests.support.applied import apply
from tests.support.clusters import started

# The whole file: it has clusters of its own.
pytestmark = pytest.mark.nightly
CALLERS = "page"
"""East's namespace: in one cluster each has its own."""
NAMESPACES = {"east": CALLERS, "west": NAMESPACE}


def recipe(mesh: str) -> dict[str, Any]:
    """The page's revision of a mesh that shares its cluster."""
    page = (CHECKOUT / "docs/components/federation.md").read_text()
    (block,) = re.findall(r"```yaml\n(revisions: +# of east.*?)```", page, re.DOTALL)
    (revision,) = yaml.safe_load(block.replace("east", mesh))["revisions"]
    found: dict[str, Any] = revision
    return found


@dataclass(frozen=True)
class OneCluster(Meshes):
    """Both meshes in the same cluster, each with a revision and namespaces of its own."""

    def config(self, mesh: str) -> dict[str, Any]:
        found = super().config(mesh)
        (revision,), (membership,) = found["mesh"]["revisions"], found["mesh"]["memberships"]
        given = recipe(mesh)
        revision["name"] = given["name"]
        revision["chartValues"] = {**revision["chartValues"], **given["chartValues"]}
        membership["crds"] = {"install": mesh == "east"}
        return found

    def deploy(self) -> None:
        """One after the other: the first one's program installs Istio's definitions."""
        for mesh in self.places:
            self.project.stack(f"mesh-{mesh}", {**self.config(mesh), "cacerts": self.files(mesh)}).up()

    def run_programs(self, wanted: Mapping[str, tuple[str, ...]] = PROGRAMS, namespace: str = "") -> None:
        for mesh, names in wanted.items():
            ports = {name: {"name": "http", "port": PORT, "targetPort": PORT} for name in names}
            labels = {"istio.io/rev": mesh, "mesh": mesh}
            for manifest in workloads.manifests(labels, ports, namespace=namespace or NAMESPACES[mesh], listens=PORT):
                eventually(lambda: apply(self.client(mesh), workloads.parse(manifest)), seconds=120)  # noqa: B023
        for mesh, names in wanted.items():
            for name in names:
                eventually(lambda: self.pod(mesh, name, namespace), seconds=120)  # noqa: B023

    def pod(self, mesh: str, name: str, namespace: str = "") -> PodModel:
        return super().pod(mesh, name, namespace or NAMESPACES[mesh])


@pytest.fixture(scope="module")
def meshes(tmp_path_factory: pytest.TempPathFactory, tools: Tools, progress: Progress) -> Iterator[Meshes]:
    with started(tmp_path_factory.mktemp("one"), tools, progress) as sandbox:
        places = dict.fromkeys(NAMESPACES, sandbox.data_plane.name)
        project = Project.make(tmp_path_factory.mktemp("project"), sandbox, tools)
        made = OneCluster(sandbox, tools, project, places=places, names={})
        made.deploy()
        document = federation(f"{CALLERS}/{CALLER}")
        for mesh in places:
            made.stack(mesh, document).succeed("up", "--yes", "--skip-preview", "--policy-pack", str(POLICY_PACK))
        made.run_programs()
        with closing(made):
            yield made


def test_calls_cross_at_the_gateway_by_the_caller_s_identity_alone(meshes: Meshes) -> None:
    headers = answered(meshes, CALLER, 200)
    at_gateway, _ = headers["x-forwarded-client-cert"].split(",")
    assert at_gateway.startswith("By=spiffe://west.mesh.local/ns/mesh-west/sa/eastwest;")
    assert at_gateway.endswith(f"URI=spiffe://east.mesh.local/ns/{CALLERS}/sa/{CALLER}")
    answered(meshes, STRANGER, 403)


def test_the_other_mesh_s_services_are_reached_by_no_other_way(meshes: Meshes) -> None:
    """The Service is in the same cluster. East's proxies have no such Service, so the call is plain text."""
    answered(meshes, CALLER, 200)

    def refused() -> None:
        status, body, _ = meshes.call(CALLER, f"{CALLED}.{NAMESPACE}.svc.cluster.local")
        if status == 200:
            raise NotObserved(f"it was answered: {body[:160]}")

    eventually(refused, seconds=60)


def test_each_istiod_reads_its_own_namespaces(meshes: Meshes) -> None:
    for mesh, other in (("east", "west"), ("west", "east")):
        name = f"istio-ca-root-cert-{mesh}"
        path = "-o=jsonpath={.items[*].metadata.namespace}"
        found = kubectl(meshes, mesh, "get", "configmap", "-A", f"--field-selector=metadata.name={name}", path)
        assert set(found.split()) == {NAMESPACES[mesh], f"mesh-{mesh}"}, other
