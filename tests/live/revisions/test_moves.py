"""`hosted-mesh move` on a live mesh: a wave moves one of two namespaces, and the next stops at failed requests."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from lightkube.models.core_v1 import Pod as PodModel
from lightkube.resources.core_v1 import Namespace, Pod
from pulumi_hosted_mesh.cli.command import app
from pulumi_hosted_mesh.operations.moves.waves import chosen
from typer.testing import CliRunner

from sandbox.progress import Progress
from sandbox.proof import workloads
from sandbox.proof.deployed import Deployed, NotObserved, eventually
from sandbox.proof.identity import AGENT
from sandbox.toolchain import Tools
from tests.live.revisions.mesh_of_versions import DEFAULT, Mesh, charts_of
from tests.support.clusters import started

pytestmark = pytest.mark.nightly
NEXT, VERSIONS = "1-32", ("1.31.1", "1.32.0")
TILLS = "tills"
FIRST, LAST = chosen({workloads.NAMESPACE, TILLS}, 100)
ENABLED = {"istio-injection": "enabled"}
COUNTED = json.dumps({"proxyStatsMatcher": {"inclusionRegexps": ["http\\.inbound.*"]}})
"""The sandbox's proxies are without Istio's own counter, so Envoy's is switched on."""


@pytest.fixture(scope="module")
def mesh(tmp_path_factory: pytest.TempPathFactory, tools: Tools, progress: Progress) -> Iterator[Mesh]:
    """Two revisions, and two namespaces of the older one: in each a program calls another."""
    charts = {version: charts_of(tools.charts, tmp_path_factory.mktemp("charts"), version) for version in VERSIONS}
    with started(tmp_path_factory.mktemp("moves"), tools, progress) as sandbox:
        made = Mesh(sandbox, tools, tmp_path_factory.mktemp("stack"), charts)
        revisions = dict(zip((DEFAULT, NEXT), VERSIONS, strict=True))
        made.up(revisions)
        for name in revisions:
            made.told(name)
        for namespace in (FIRST, LAST):
            for manifest in workloads.manifests(ENABLED, namespace=namespace):
                if manifest["kind"] == "Deployment":
                    manifest["spec"]["template"]["metadata"]["annotations"] = {"proxy.istio.io/config": COUNTED}
                made.any_revision.data_plane.apply(workloads.parse(manifest), force=True)
        for namespace in (FIRST, LAST):
            eventually(lambda namespace=namespace: caller_of(made.any_revision, namespace), seconds=120)
        yield made


@pytest.fixture(scope="module")
def calls(mesh: Mesh) -> Iterator[Calls]:
    made = Calls(mesh.any_revision)
    with made.running():
        yield made


class Calls:
    """Several calls in a second within each namespace. path: of the called program, by namespace."""

    def __init__(self, deployed: Deployed) -> None:
        self.deployed = deployed
        self.path = {FIRST: "/", LAST: "/"}
        self.sent = dict.fromkeys(self.path, 0)

    @contextmanager
    def running(self) -> Iterator[None]:
        over = threading.Event()
        threads = [threading.Thread(target=self._run, args=(name, over)) for name in self.path]
        for one in threads:
            one.start()
        try:
            yield
        finally:
            over.set()
            for one in threads:
                one.join()

    def lead(self, namespace: str, path: str) -> None:
        """Until the last request to the former path has ended: one success is 2 % of a wave's count."""
        self.path[namespace] = path
        before = self.sent[namespace]

        def sent() -> None:
            if self.sent[namespace] < before + 3:
                raise NotObserved(f"too few calls in {namespace}")

        eventually(sent, seconds=60)

    def _run(self, namespace: str, over: threading.Event) -> None:
        while not over.is_set():
            try:
                caller = self.deployed.program_of(caller_of(self.deployed, namespace), AGENT)
                url = f"http://{workloads.CALLED}.{namespace}:{workloads.PORT}{self.path[namespace]}"
                own = f"http://127.0.0.1:{workloads.PORT}/fetch?url={url}"
                self.deployed.in_network_of(caller, "http_get.py", own)
                self.sent[namespace] += 1
            except NotObserved:  # the Pod is being replaced
                over.wait(0.5)


def caller_of(deployed: Deployed, namespace: str) -> PodModel:
    for pod in deployed.data_plane.list(Pod, namespace=namespace, labels={"app": workloads.CALLER}):
        if workloads.has_proxy(pod) and workloads.is_ready(pod) and pod.metadata.deletionTimestamp is None:
            return pod
    raise NotObserved(f"no caller is ready in {namespace}")


def move(mesh: Mesh, *options: str) -> tuple[int, str]:
    cluster = ["--kubeconfig", str(mesh.sandbox.kubeconfig), "--context", mesh.sandbox.data_plane.name]
    command = ["move", "--mesh", "demo", "--to", NEXT, "--watch", "8", "--patience", "120", *cluster, *options]
    done = CliRunner().invoke(app, command)
    print(done.output)
    return done.exit_code, " ".join(done.output.split())


def revisions(mesh: Mesh) -> dict[str, set[str]]:
    client = mesh.any_revision.data_plane
    return {
        namespace: {
            str((pod.metadata.annotations or {}).get("istio.io/rev"))
            for pod in client.list(Pod, namespace=namespace)
            if pod.metadata.deletionTimestamp is None
        }
        for namespace in (FIRST, LAST)
    }


def labels(mesh: Mesh) -> dict[str, tuple[str | None, str | None]]:
    client = mesh.any_revision.data_plane
    found = {name: client.get(Namespace, name).metadata.labels or {} for name in (FIRST, LAST)}
    return {name: (one.get("istio-injection"), one.get("istio.io/rev")) for name, one in found.items()}


def test_a_wave_moves_its_share_and_failed_requests_stop_the_next(mesh: Mesh, calls: Calls) -> None:
    code, text = move(mesh, "--percent", "50,100", "--dry-run")
    assert (code, text) == (0, f"50 %: {FIRST} 100 %: {LAST}")
    assert revisions(mesh) == {FIRST: {DEFAULT}, LAST: {DEFAULT}}

    code, text = move(mesh, "--percent", "50", "--restart")
    assert code == 0, text
    assert labels(mesh) == {FIRST: (None, NEXT), LAST: ("enabled", None)}
    assert revisions(mesh) == {FIRST: {NEXT}, LAST: {DEFAULT}}
    counted = re.search(r"failed: (\d+) of (\d+)", text)
    assert counted, text
    assert int(counted[2]) >= 5, text

    calls.lead(FIRST, "/status/503")
    code, text = move(mesh, "--percent", "100", "--restart")
    assert code == 3, text
    assert "more-errors" in text
    assert "stopped: no further namespace moves" in text
    assert labels(mesh)[LAST] == ("enabled", None)

    # The same share of failed requests with the old revision is not the new one's fault.
    calls.lead(LAST, "/status/503")
    code, text = move(mesh, "--percent", "100", "--restart")
    assert code == 0, text
    assert revisions(mesh) == {FIRST: {NEXT}, LAST: {NEXT}}

    code, text = move(mesh, "--restore", "--restart")
    assert code == 0, text
    assert labels(mesh) == {FIRST: ("enabled", None), LAST: ("enabled", None)}

    def back() -> None:
        if (found := revisions(mesh)) != {FIRST: {DEFAULT}, LAST: {DEFAULT}}:
            raise NotObserved(f"revisions are {found}")

    eventually(back, seconds=120)
