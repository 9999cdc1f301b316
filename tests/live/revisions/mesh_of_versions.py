"""A mesh of several versions of Istio in a sandbox, as docs/upgrade.md moves it from one to another."""

from __future__ import annotations

import copy
import dataclasses
import functools
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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
from sandbox.program_environment import STACK
from sandbox.proof import workloads
from sandbox.proof.deployed import Deployed, MeshFacts, NotObserved, eventually
from sandbox.toolchain import Tools
from tests.engine.library.engine import Project, Stack
from tests.live.revisions.two_data_planes import FIRST, OK, answers, restarted, served
from tests.support.runners import run_by_accounts
from tests.support.split import split_configs
from tests.support.updates import attempt, update

DEFAULT = "default"


def charts_of(source: Path, directory: Path, version: str) -> Path:
    """Istio's charts from its source, with this version written in them."""
    target = directory / version
    shutil.copytree(source, target)
    for name in ("base", "istiod", "gateway"):
        chart = target / name / "Chart.yaml"
        chart.write_text(chart.read_text().replace("ersion: 1.0.0", f"ersion: {version}"))
    return target


@dataclasses.dataclass
class Mesh:
    """The sandbox, and the outputs of the last update. charts: directories by version.

    gateways: of the membership. image_tags: of Istio's images by version, where another than the sandbox's own runs.
    """

    sandbox: Sandbox
    tools: Tools
    directory: Path
    charts: Mapping[str, Path]
    outputs: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    gateways: Sequence[Mapping[str, Any]] = ()
    image_tags: Mapping[str, str] = dataclasses.field(default_factory=dict)
    replicas: int = 1
    roots: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """`trust.roots`."""

    def up(self, revisions: Mapping[str, str], *, crds: bool = True, broken: bool = False, **tags: str) -> None:
        """With these revisions, each of a version, and what a tag names; the policies on.

        crds: whether the stack installs them. broken: istiod ends as soon as it is started.
        """
        update(self.sandbox, self.tools, self.document(revisions, tags, crds=crds, broken=broken))
        self.outputs = deployment.outputs(self.sandbox, self.tools)

    def remove(self, revisions: Mapping[str, str], **tags: str) -> None:
        """With fewer revisions than before."""
        self.up(revisions, **tags)

    def rejected(self, revisions: Mapping[str, str]) -> str:
        """The output of an update that fails."""
        done = attempt(self.sandbox, self.tools, self.document(revisions, {}))
        assert done.returncode != 0, done.stdout
        return done.stdout + done.stderr

    def refusal(self, revisions: Mapping[str, str], **tags: str) -> str:
        """What a preview with these revisions prints if it fails; empty if it does not."""
        options = ["--stack", STACK, "--config-file", str(self.document(revisions, tags))]
        done = deployment.engine(self.sandbox, self.tools).run("preview", *options, limit=400)
        return "" if done.returncode == 0 else done.stdout + done.stderr

    def document(
        self, revisions: Mapping[str, str], tags: Mapping[str, str], *, crds: bool = True, broken: bool = False
    ) -> Path:
        """The configuration's file."""
        deployment.engine(self.sandbox, self.tools)  # writes the configuration that `make up` would use
        config = yaml.safe_load(deployment.config_file(self.sandbox.state).read_text())
        del config["config"]["hosted-mesh:dns"]  # the sandbox publishes the hosts
        mesh = config["config"]["hosted-mesh:mesh"]
        (committed,) = mesh["revisions"]
        mesh["revisions"] = [self._revision(committed, name, version) for name, version in revisions.items()]
        mesh["memberships"][0] |= {"crds": {"install": crds}, "gateways": list(self.gateways)}
        mesh["tags"] = dict(tags)
        mesh["trust"] |= {"roots": dict(self.roots)} if self.roots else {}
        if broken:
            for one in mesh["revisions"]:
                one["chartValues"]["extraContainerArgs"] = ["--keepaliveInterval=never"]
                one["istiod"]["waitUntilReady"] = False
        file = self.directory / "stack.yaml"
        file.write_text(yaml.safe_dump(config))
        return file

    def _revision(self, committed: Mapping[str, Any], name: str, version: str) -> dict[str, Any]:
        revision = copy.deepcopy(dict(committed)) | {"name": name}
        revision["exposure"]["publishName"] = True
        revision["charts"] |= {"path": str(self.charts[version]), "version": version}
        if version in self.image_tags:
            revision["charts"]["tag"] = self.image_tags[version]
        revision["istiod"]["replicas"] = self.replicas
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

        eventually(look, seconds=120)

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
        asked = kubeconfig.KubeconfigRequest(context=self.sandbox.data_plane.name)
        api = ApiServer(kubeconfig.from_file(str(self.sandbox.kubeconfig), asked))
        revisions = {labels.get(REVISION_LABEL) for labels in labels_of_webhooks(api)}
        return {one.app for one in proxies_of(api) if one.revision not in revisions}

    @property
    def any_revision(self) -> Deployed:
        """For what is the same whichever revision there is."""
        return self.deployed(next(iter(self.outputs["endpoints"])).rpartition("/")[2])


@dataclasses.dataclass
class SplitMesh(Mesh):
    """The same over separate stacks, each run under an account of its own, in the order of docs/upgrade.md."""

    charts_of_data_plane: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Where all revisions' charts come from there, and the version of the CRDs."""

    def up(self, revisions: Mapping[str, str], *, crds: bool = True, broken: bool = False, **tags: str) -> None:
        assert crds and not broken
        for name, stack in self.stacks(revisions, tags).items():
            if name in ("control-plane", "data-plane") or not self.outputs:
                stack.up()
        self._read(revisions, tags)

    def remove(self, revisions: Mapping[str, str], **tags: str) -> None:
        """`data-plane` first, with the files of the revisions that stay."""
        before = self.stacks(revisions, tags)["control-plane"].outputs()["endpoints"]
        files = [before[f"{FIRST}/{name}"] for name in revisions]
        self.stacks(revisions, tags, files)["data-plane"].up()
        self.stacks(revisions, tags)["control-plane"].up()
        self._read(revisions, tags)

    def refusal(self, revisions: Mapping[str, str], **tags: str) -> str:
        done = self.stacks(revisions, tags)["control-plane"].run("preview")
        return "" if done.code == 0 else done.text

    def stacks(
        self, revisions: Mapping[str, str], tags: Mapping[str, str], files: list[dict[str, Any]] | None = None
    ) -> dict[str, Stack]:
        """By name. files: facts of revisions for `data-plane`, in place of the reference."""
        config = yaml.safe_load(self.document(revisions, tags).read_text())
        configs = split_configs(config["config"]["hosted-mesh:mesh"], files)
        for name in ("access", "data-plane"):
            configs[name]["dataPlane"]["charts"] = {"path": self.charts_of_data_plane["path"]}
        crds = {"cluster": {}, "charts": dict(self.charts_of_data_plane)}
        configs = {"cluster": {"cluster": crds}, **configs}
        return run_by_accounts(self.sandbox, self.project, configs, self.directory)

    @functools.cached_property
    def project(self) -> Project:
        return Project.make(self.directory, self.sandbox, self.tools)

    def _read(self, revisions: Mapping[str, str], tags: Mapping[str, str]) -> None:
        found = self.stacks(revisions, tags)
        endpoints = found["control-plane"].outputs()["endpoints"]
        self.outputs = {**found["data-plane"].outputs(), "endpoints": endpoints}
