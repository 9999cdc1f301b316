"""Another version of Istio as docs/upgrade.md has it, on a live mesh: in place, and as a canary beside `default`.

There is one version of Istio here, so it is the charts that get another: what they label with it, CRDs among it, and
what changes in istiod by a new one. Requests are answered all the while.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from lightkube.models.core_v1 import Pod as PodModel
from lightkube.resources.admissionregistration_v1 import MutatingWebhookConfiguration
from lightkube.resources.apiextensions_v1 import CustomResourceDefinition
from lightkube.resources.core_v1 import Pod
from pulumi_hosted_mesh.cli.command import app
from pulumi_hosted_mesh.clusters import kubeconfig
from pulumi_hosted_mesh.clusters.api_server import ApiServer
from pulumi_hosted_mesh.operations.doctor.proxies import labels_of_webhooks, proxies_of
from pulumi_hosted_mesh.vocabulary import REVISION_LABEL
from typer.testing import CliRunner

from sandbox.clusters import Sandbox
from sandbox.engine import deployment
from sandbox.progress import Progress
from sandbox.proof import workloads
from sandbox.proof.deployed import Deployed, MeshFacts, NotObserved, eventually
from sandbox.toolchain import Tools
from tests.live.revisions.test_two_data_planes import FIRST, OK, answers, restarted, served, uids
from tests.support.clusters import started
from tests.support.updates import update

DEFAULT, NEXT = "default", "1-32"
INJECTION, TAGGED = "istio-sidecar-injector-mesh-demo", "istio-revision-tag-default-mesh-demo"
OF_NEXT = f"istio-sidecar-injector-{NEXT}-mesh-demo"
VERSIONS = ("1.31.1", "1.31.2", "1.32.0")


@dataclasses.dataclass
class Mesh:
    """The sandbox, and the outputs of the last update. charts: directories by version."""

    sandbox: Sandbox
    tools: Tools
    directory: Path
    charts: Mapping[str, Path]
    outputs: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def up(self, revisions: Mapping[str, str], *, crds: bool = True, broken: bool = False, **tags: str) -> None:
        """With these revisions, each of a version, and what a tag names; the policies on.

        crds: whether the stack installs them. broken: istiod ends as soon as it is started.
        """
        deployment.engine(self.sandbox, self.tools)  # writes the configuration that `make up` would use
        config = yaml.safe_load(deployment.config_file(self.sandbox.state).read_text())
        del config["config"]["hosted-mesh:dns"]  # the sandbox publishes the hosts
        mesh = config["config"]["hosted-mesh:mesh"]
        (committed,) = mesh["revisions"]
        mesh["revisions"] = [self._revision(committed, name, version) for name, version in revisions.items()]
        mesh["memberships"][0]["crds"] = {"install": crds}
        mesh["tags"] = tags
        if broken:
            for one in mesh["revisions"]:
                one["chartValues"]["extraContainerArgs"] = ["--keepaliveInterval=never"]
                one["istiod"]["waitUntilReady"] = False
        file = self.directory / "stack.yaml"
        file.write_text(yaml.safe_dump(config))
        update(self.sandbox, self.tools, file)
        self.outputs = deployment.outputs(self.sandbox, self.tools)

    def _revision(self, committed: Mapping[str, Any], name: str, version: str) -> dict[str, Any]:
        revision = copy.deepcopy(dict(committed)) | {"name": name}
        revision["exposure"]["publishName"] = True
        revision["charts"] |= {"path": str(self.charts[version]), "version": version}
        if name != DEFAULT:
            revision["host"] = f"istiod-{name}.demo.sandbox.test"
        return revision

    def told(self, revision: str, cause: str | None = None) -> None:
        """`hosted-mesh check-webhooks` names this cause alone, or none, once the host is resolved."""
        config = ["--kubeconfig", str(self.sandbox.kubeconfig), "--context", self.sandbox.data_plane.name]
        facts = yaml.safe_dump(self.outputs["endpoints"][f"{FIRST}/{revision}"])

        def look() -> None:
            done = CliRunner().invoke(app, ["check-webhooks", "-", "--json", *config], input=facts)
            checks = json.loads(done.output)["checks"]
            if [one["cause"] for one in checks if not one["ok"]] != ([cause] if cause else []):
                raise NotObserved(done.output)

        eventually(look, seconds=60)

    def deployed(self, revision: str) -> Deployed:
        """The data plane as it is told of one revision; its namespaces are labelled `istio-injection: enabled`."""
        endpoints = {"one": self.outputs["endpoints"][f"{FIRST}/{revision}"]}
        facts = MeshFacts.of(
            {**self.outputs, "endpoints": endpoints, "injection_labels": {"istio-injection": "enabled"}}
        )
        return Deployed(self.sandbox, self.tools, facts, engine_states=list, gateways=list)

    def restarted(self, name: str, revision: str) -> None:
        """The workload's new Pod is the revision's, and requests are answered."""
        deployed = self.deployed(revision)
        served(deployed, name, restarted(deployed, name)[name], revision, "demo")
        answers(deployed, OK)

    def pods(self) -> dict[str, PodModel]:
        """The workloads' Pods now, applied where they are not there."""
        return workloads.deploy(self.any_revision)

    def injection(self) -> set[str]:
        """Names of the webhooks' configurations that are asked about Pods."""
        client = self.any_revision.data_plane
        found = client.list(MutatingWebhookConfiguration, labels={"hosted-mesh.io/mesh": "demo"})
        return {str(one.metadata.name) for one in found if one.metadata}

    def crds(self) -> set[str]:
        """The versions that Istio's CRDs say."""
        client = self.any_revision.data_plane
        found = client.list(CustomResourceDefinition, labels={"app.kubernetes.io/part-of": "istio"})
        return {(one.metadata.labels or {}).get("app.kubernetes.io/version", "") for one in found if one.metadata}

    def istiods(self) -> dict[str, str]:
        """istiod's Pods that are not on their way out: of which version each is, by name."""
        pods = self.any_revision.control_plane.list(Pod, namespace="mesh-demo", labels={"app": "istiod"})
        return {
            str(pod.metadata.name): str((pod.metadata.labels or {}).get("app.kubernetes.io/version"))
            for pod in pods
            if pod.metadata and pod.metadata.deletionTimestamp is None
        }

    def to_restart(self) -> set[str]:
        """The workloads that `hosted-mesh doctor` names: of a revision that the cluster has no injection of."""
        asked = kubeconfig.Asked(context=self.sandbox.data_plane.name)
        api = ApiServer(kubeconfig.from_file(str(self.sandbox.kubeconfig), asked))
        revisions = {labels.get(REVISION_LABEL) for labels in labels_of_webhooks(api)}
        return {one.app for one in proxies_of(api) if one.revision not in revisions}

    @property
    def any_revision(self) -> Deployed:
        """For what is the same whichever revision there is."""
        return self.deployed(next(iter(self.outputs["endpoints"])).rpartition("/")[2])


@pytest.fixture(scope="module")
def mesh(tmp_path_factory: pytest.TempPathFactory, tools: Tools, progress: Progress) -> Iterator[Mesh]:
    charts = {}
    for version in VERSIONS:
        charts[version] = tmp_path_factory.mktemp("charts") / version
        shutil.copytree(tools.charts, charts[version])
        for name in ("base", "istiod", "gateway"):
            chart = charts[version] / name / "Chart.yaml"
            chart.write_text(chart.read_text().replace("ersion: 1.0.0", f"ersion: {version}"))
    with started(tmp_path_factory.mktemp("upgrade"), tools, progress) as sandbox:
        made = Mesh(sandbox, tools, tmp_path_factory.mktemp("stack"), charts)
        made.up({DEFAULT: "1.31.1"})
        yield made


def test_in_place_and_back(mesh: Mesh) -> None:
    """Proxies stay as they are, and istiod's Pods are made anew: with their CRDs before them, and back again."""
    pods = mesh.pods()
    assert mesh.crds() == {"1.31.1"}
    before = mesh.istiods()
    for version in ("1.31.2", "1.31.1"):
        mesh.up({DEFAULT: version})
        mesh.told(DEFAULT)
        after = mesh.istiods()
        assert mesh.crds() == set(after.values()) == {version}
        assert not before.keys() & after.keys()
        before = after
        assert uids(mesh.pods()) == uids(pods)
        answers(mesh.deployed(DEFAULT), OK)
    # New connections find the istiod that is there, and new Pods have its sidecars.
    mesh.restarted(workloads.CALLER, DEFAULT)


def test_an_istiod_that_does_not_start_leaves_the_old_one_at_work(mesh: Mesh) -> None:
    """Its Pod goes only when the new one is ready; the old version puts it right."""
    mesh.pods()
    (old,) = mesh.istiods()
    mesh.up({DEFAULT: "1.31.2"}, broken=True)

    def both() -> None:
        if sorted(mesh.istiods().values()) != ["1.31.1", "1.31.2"]:
            raise NotObserved(f"istiod's Pods are {mesh.istiods()}")

    eventually(both, seconds=60)
    assert old in mesh.istiods()
    mesh.told(DEFAULT)
    mesh.restarted(workloads.CALLER, DEFAULT)
    mesh.up({DEFAULT: "1.31.1"})
    mesh.told(DEFAULT)
    assert mesh.istiods() == {old: "1.31.1"}


def test_a_canary_beside_the_revision_default_and_back(mesh: Mesh) -> None:
    """As `istioctl tag set default` does it: the label of namespaces stays, and a restart moves a workload."""
    pods = mesh.pods()
    both = {DEFAULT: "1.31.1", NEXT: "1.32.0"}
    mesh.up(both, crds=False)
    mesh.told(DEFAULT)
    mesh.told(NEXT, "older-crds")
    mesh.up(both)
    for name in both:
        mesh.told(name)
    assert mesh.crds() == {"1.32.0"}
    assert mesh.injection() == {INJECTION, OF_NEXT}
    assert uids(mesh.pods()) == uids(pods)
    mesh.restarted(workloads.CALLER, DEFAULT)

    mesh.up(both, default=NEXT)
    for name in both:
        mesh.told(name)
    assert mesh.injection() == {TAGGED, OF_NEXT}
    mesh.restarted(workloads.CALLER, NEXT)
    assert mesh.to_restart() == {workloads.CALLED}
    mesh.up(both)
    assert mesh.injection() == {INJECTION, OF_NEXT}
    answers(mesh.deployed(NEXT), OK)
    mesh.restarted(workloads.CALLER, DEFAULT)

    mesh.up(both, default=NEXT)
    for name in (workloads.CALLER, workloads.CALLED):
        mesh.restarted(name, NEXT)
    assert mesh.to_restart() == set()
    pods = mesh.pods()
    mesh.up({NEXT: "1.32.0"}, default=NEXT)
    mesh.told(NEXT)
    assert mesh.injection() == {TAGGED, OF_NEXT}
    assert {name.rpartition("-")[0].rpartition("-")[0] for name in mesh.istiods()} == {f"istiod-{NEXT}"}
    assert uids(mesh.pods()) == uids(pods)
    mesh.restarted(workloads.CALLED, NEXT)
