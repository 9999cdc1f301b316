"""Namespaces move from a mesh with `split: false` to a hosted one and back, by docs/components/single-cluster.md.

Requests between two namespaces, and webhook calls, never stop meanwhile, and none may fail.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from lightkube.models.core_v1 import Pod as PodModel
from lightkube.resources.core_v1 import Namespace, Pod
from pulumi_hosted_mesh.cli.command import app
from typer.testing import CliRunner

from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Sandbox
from sandbox.progress import Progress
from sandbox.proof import workloads
from sandbox.proof.deployed import Deployed, NotObserved, eventually
from sandbox.toolchain import Tools
from tests.engine.library.engine import Api, Project, Stack
from tests.live.revisions.counting import nothing_lost, settled
from tests.live.revisions.steady_traffic import Traffic, called, pod_manifest
from tests.live.tenants.one_cluster import document, facts
from tests.support.applied import apply
from tests.support.clusters import started
from tests.support.kubectl import Kubectl
from tests.support.split import HERE

SINGLE, HOSTED = "demo", "hosted"
"""The two meshes; a hosted one's revision has its name."""
REVISIONS = {SINGLE: "default", HOSTED: HOSTED}
CALLERS = "tills"
SHARED: dict[str, Any] = {"trustDomain": "shop.example", "trust": {"management": "brought", "root": {"protect": False}}}
"""Step 2 of the page, and step 1 for `all-in-one`."""
NETWORK = "shop"
pytestmark = pytest.mark.nightly


@dataclass
class TwoKinds:
    """The sandbox with the stacks of both meshes and of their root."""

    sandbox: Sandbox
    tools: Tools
    project: Project

    def up(self, mesh: str, *, crds: bool) -> None:
        """crds: whether this mesh's program installs Istio's definitions."""
        self.stack(mesh, crds=crds).up()

    def stack(self, mesh: str, *, crds: bool = False) -> Stack:
        references = {"trust": f"{HERE}/trust-{mesh}", "root": f"{HERE}/root"}
        return self.project.stack(
            mesh, {"stack": "all-in-one", "mesh": self.document(mesh, crds), "references": references}
        )

    def sign(self) -> None:
        """Both intermediates, by one root."""
        meshes = (SINGLE, HOSTED)
        for mesh in meshes:
            self.project.stack(f"trust-{mesh}", {"stack": "trust", "mesh": self.document(mesh, crds=False)}).up()
        stacks = {mesh: f"{HERE}/trust-{mesh}" for mesh in meshes}
        root = {"name": "shop", "trust": {"root": {"protect": False}}, "stacks": stacks}
        self.project.stack("root", {"stack": "root", "root": root}).up()

    def document(self, mesh: str, crds: bool) -> dict[str, Any]:
        found = document(self.tools) if mesh == SINGLE else self._hosted()
        (membership,) = found["memberships"]
        membership |= {"network": NETWORK, "crds": {"install": crds}}
        return found | copy.deepcopy(SHARED)

    def _hosted(self) -> dict[str, Any]:
        committed = yaml.safe_load((CHECKOUT / "stacks/Pulumi.all-in-one.yaml").read_text())
        found: dict[str, Any] = committed["config"]["hosted-mesh:mesh"]
        (revision,), (membership,) = found["revisions"], found["memberships"]
        revision |= {"name": REVISIONS[HOSTED], "host": f"istiod.{HOSTED}.sandbox.test"}
        revision["charts"]["path"] = str(self.tools.charts)
        revision["exposure"]["publishName"] = True
        membership["access"]["apiServer"] = self.sandbox.data_plane.wan_server
        return found | {"name": HOSTED}

    def answering(self, mesh: str) -> None:
        """The hosted mesh's webhooks, by the command of the page."""
        if mesh == SINGLE:
            return
        config = ["--kubeconfig", str(self.sandbox.kubeconfig), "--context", self.sandbox.data_plane.name]
        (endpoint,) = self.stack(mesh).outputs()["endpoints"].values()

        def look() -> None:
            done = CliRunner().invoke(app, ["check-webhooks", "-", *config], input=yaml.safe_dump(endpoint))
            if done.exit_code != 0:
                raise NotObserved(done.output)

        eventually(look, seconds=90)

    def keeps(self, mesh: str) -> None:
        """Nothing is removed: istiod counts the proxies of both namespaces.

        A hosted mesh needs the preview for that: without one its webhooks go before istiod's refusal (ADR 0025).
        """
        stack, api = self.stack(mesh), Api(self.sandbox.data_plane, self.tools)
        tried = [("--preview-only",), ("--yes",), *([("--yes", "--skip-preview")] if mesh == SINGLE else [])]
        for options in tried:
            before = api.stored()
            done = stack.run("destroy", "--run-program", *options)
            assert done.code != 0, done.text
            assert sorted(before - api.stored()) == []
            rule = f"revision {REVISIONS[mesh]} in namespace mesh-{mesh} is in use by 3 proxies in namespaces"
            assert f"{rule} of the data plane: {workloads.NAMESPACE}, {CALLERS}" in done.text, done.text

    def destroy(self, mesh: str) -> None:
        """Proxies of ended Pods count for some seconds more."""
        stack = self.stack(mesh)

        def gone() -> None:
            done = stack.run("destroy", "--yes", "--skip-preview", *stack.program_options())
            if done.code != 0:
                assert "is in use by" in done.text, done.text
                raise NotObserved(done.text)

        eventually(gone, seconds=60, every=5)

    def injected(self) -> None:
        """A Pod would get a sidecar."""
        kubectl = Kubectl.of(self.sandbox.data_plane, self.tools)
        pod = json.dumps(pod_manifest("tried"))
        done = kubectl.run("create", "--dry-run=server", "--filename=-", "--output=json", text=pod)
        if done.returncode != 0 or workloads.PROXY not in done.stdout:
            raise NotObserved(done.stdout + done.stderr)

    def label(self, namespace: str, mesh: str) -> None:
        labels = {"istio-injection": None, "istio.io/rev": REVISIONS[mesh]}
        self.any_revision.data_plane.patch(Namespace, namespace, {"metadata": {"labels": labels}})

    def revisions(self) -> set[str]:
        """Of the running sidecars."""
        pods = [pod for one in (workloads.NAMESPACE, CALLERS) for pod in self.pods(one)]
        return {(pod.metadata.annotations or {}).get("istio.io/rev", "") for pod in pods if pod.metadata}

    def pods(self, namespace: str) -> list[PodModel]:
        found = self.any_revision.data_plane.list(Pod, namespace=namespace)
        return [one for one in found if one.metadata and one.metadata.deletionTimestamp is None]

    @cached_property
    def any_revision(self) -> Deployed:
        found = facts(self.sandbox, self.tools, self.stack(SINGLE), SHARED["trustDomain"])
        return Deployed(self.sandbox, self.tools, found, engine_states=list, gateways=list)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, tools: Tools, progress: Progress) -> Iterator[TwoKinds]:
    """The mesh in one cluster, with the called program."""
    with started(tmp_path_factory.mktemp("kinds"), tools, progress) as sandbox:
        made = TwoKinds(sandbox, tools, Project.make(tmp_path_factory.mktemp("project"), sandbox, tools))
        made.sign()
        made.up(SINGLE, crds=True)
        deployed = made.any_revision
        # A Pod that is refused before istiod has written its webhook's CA bundle comes after the ReplicaSet's pause.
        for manifest in sorted((*called(), *callers()), key=lambda one: one["kind"] == "Deployment"):
            if manifest["kind"] == "Deployment":
                eventually(made.injected, seconds=60)
            eventually(partial(apply, deployed.data_plane, workloads.parse(manifest)), seconds=60)
        eventually(lambda: workloads.ready_pod(deployed, workloads.CALLED), seconds=120)
        yield made


def callers() -> Iterator[dict[str, Any]]:
    """The namespace of the clients, with their account."""
    for manifest in workloads.manifests({"istio-injection": "enabled"}, namespace=CALLERS):
        wanted = manifest["kind"] in ("Namespace", "PeerAuthentication")
        if wanted or (manifest["kind"], manifest["metadata"]["name"]) == ("ServiceAccount", workloads.CALLER):
            yield manifest


def test_namespaces_move_to_a_hosted_control_plane_and_back_without_a_lost_request(
    lab: TwoKinds, tmp_path: Path
) -> None:
    """The called namespace moves first, so at its time each kind of sidecar calls the other kind."""
    traffic = Traffic(lab, tmp_path, callers=CALLERS)
    with traffic.running():
        settled(traffic)
        for old, new in ((SINGLE, HOSTED), (HOSTED, SINGLE)):
            assert lab.revisions() == {REVISIONS[old]}
            with nothing_lost(traffic, f"from {old} to {new}"):
                lab.up(new, crds=False)
                lab.answering(new)
                lab.keeps(old)
                lab.label(workloads.NAMESPACE, new)
                traffic.restart(workloads.CALLED, workloads.NAMESPACE)
                settled(traffic)
                assert lab.revisions() == {REVISIONS[old], REVISIONS[new]}
                lab.label(CALLERS, new)
                traffic.move()
                assert lab.revisions() == {REVISIONS[new]}
                lab.destroy(old)
                lab.up(new, crds=True)
