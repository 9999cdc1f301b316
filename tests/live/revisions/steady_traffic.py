"""Requests and webhook calls that never stop while something is done to a mesh, and the counts of those lost."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self

from lightkube import Client
from lightkube.models.core_v1 import Pod as PodModel
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import Pod, Service
from pulumi_hosted_mesh.clusters import kubeconfig
from pulumi_hosted_mesh.clusters.api_server import ApiServer, UnreachableError

from sandbox.clusters import Cluster, Sandbox
from sandbox.proof import workloads
from sandbox.proof.deployed import Deployed, NotObserved, eventually
from sandbox.proof.processes import Process, find
from tests.support.applied import apply

STEADY = Path(__file__).parent / "programs" / "steady.py"
OUTSIDE = "outside"
"""A namespace without injection."""
HOST = f"{workloads.CALLED}.{workloads.NAMESPACE}.svc.cluster.local"
DRAIN = {"preStop": {"sleep": {"seconds": 5}}}
PODS = f"/api/v1/namespaces/{workloads.NAMESPACE}/pods"
POLICIES = f"/apis/security.istio.io/v1/namespaces/{workloads.NAMESPACE}/authorizationpolicies"
POLICY = {
    "apiVersion": "security.istio.io/v1",
    "kind": "AuthorizationPolicy",
    "metadata": {"name": "tried", "namespace": workloads.NAMESPACE},
    "spec": {"selector": {"matchLabels": {"app": "nobody"}}, "action": "ALLOW"},
}


@dataclass(frozen=True)
class Counts:
    """Requests and webhook calls that were sent, and the reasons of those that failed."""

    requests: int
    lost: tuple[str, ...]
    calls: int
    refused: tuple[str, ...]

    def since(self, before: Counts) -> Counts:
        """Those that came after. Reasons only ever grow, in several lists: the new ones are those not there before."""
        return Counts(
            self.requests - before.requests,
            tuple(one for one in self.lost if one not in before.lost),
            self.calls - before.calls,
            tuple(one for one in self.refused if one not in before.refused),
        )

    def row(self, action: str) -> str:
        """A row of the table in docs/bench.md."""
        return f"| {action} | {len(self.lost)} of {self.requests:,} | {len(self.refused)} of {self.calls:,} |"


@dataclass
class Requests:
    """A program in a Pod's network. file: its counts."""

    namespace: str
    pod: str
    file: Path
    process: subprocess.Popen[bytes]


@dataclass
class WebhookCalls:
    """Dry runs of a Pod that is injected and of an object that is validated, one after the other."""

    api: ApiServer
    calls: int = 0
    refused: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, sandbox: Sandbox, cluster: Cluster) -> Self:
        request = kubeconfig.KubeconfigRequest(context=cluster.name)
        return cls(ApiServer(kubeconfig.from_file(str(sandbox.kubeconfig), request)))

    def run(self, over: threading.Event) -> None:
        while not over.is_set():
            for path, manifest in ((PODS, pod_manifest("tried")), (POLICIES, POLICY)):
                self.calls += 1
                if why := self._why_not(path, manifest):
                    self.refused.append(f"{time.time():.1f} {why}")
                over.wait(0.05)

    def _why_not(self, path: str, manifest: Mapping[str, Any]) -> str:
        try:
            answer = self.api.dry_run(path, manifest, seconds=20)
        except UnreachableError as error:
            return str(error)
        if not answer.is_ok:
            return f"{answer.status} {answer.message}"
        return "" if path != PODS or "istio-proxy" in json.dumps(answer.content) else "a Pod without a sidecar"


class CalledMesh(Protocol):
    """The parts of a mesh that traffic needs."""

    @property
    def sandbox(self) -> Sandbox: ...

    @property
    def any_revision(self) -> Deployed: ...


class Traffic:
    """Clients that ask every 50 ms: by a kept connection and by new ones from Pods with a sidecar, and by a gateway.

    Each client Pod moves as a person moves a program that must not stop: another one is asking before it ends.
    """

    def __init__(
        self, mesh: CalledMesh, directory: Path, gateway: str | None = None, *, callers: str = workloads.NAMESPACE
    ) -> None:
        """gateway: `<namespace>/<name>` of its Service; None for the clients beside a sidecar alone.

        callers: namespace of the clients beside a sidecar.
        """
        self.mesh, self.gateway, self.directory, self.callers = mesh, gateway, directory, callers
        self.webhooks = WebhookCalls.of(mesh.sandbox, mesh.sandbox.data_plane)
        self.clients: dict[str, Requests] = {}
        self.files: list[Path] = []
        self._made = 0

    @contextmanager
    def running(self, *, webhooks: bool = True) -> Iterator[None]:
        """webhooks: False calls none."""
        over = threading.Event()
        caller = threading.Thread(target=self.webhooks.run, args=[over])
        try:
            self.move()
            if self.gateway:
                self._start("gateway", self._pod(OUTSIDE, "visitor"), self._address(self.gateway), "kept", port=80)
            if webhooks:
                caller.start()
            yield
        finally:
            over.set()
            for client in self.clients.values():
                self._end(client)
            if caller.is_alive():
                caller.join()

    def counts(self) -> Counts:
        found = [json.loads(file.read_text()) for file in self.files if file.exists()]
        lost = tuple(f"{file.stem}: {why}" for file in self.files if file.exists() for why in _lost(file))
        refused = tuple(self.webhooks.refused)
        return Counts(sum(one["sent"] for one in found), lost, self.webhooks.calls, refused)

    def move(self) -> None:
        """The two clients beside a sidecar into new Pods."""
        address = self._address(f"{workloads.NAMESPACE}/{workloads.CALLED}")
        for mode in ("kept", "new"):
            self._start(mode, self._pod(self.callers, f"client-{mode}"), address, mode)

    def remove(self) -> None:
        """Removes the Pods of ended clients, before traffic with Pods of the same names."""
        for client in self.clients.values():
            self.deployed.data_plane.delete(Pod, client.pod, namespace=client.namespace)

    def restart(self, deployment: str, namespace: str, app: str = "", *, of: Client | None = None) -> None:
        """As `kubectl rollout restart`; until all of its Pods are new ones.

        app: their label, by default the Deployment's name. of: the cluster, by default the data plane's.
        """
        client = of or self.deployed.data_plane
        began = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        patch = {"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": began}}}}}
        labels = {"app": app or deployment}
        before = {one.metadata.name for one in client.list(Pod, namespace=namespace, labels=labels)}
        client.patch(Deployment, deployment, patch, namespace=namespace)

        def renewed() -> None:
            now = list(client.list(Pod, namespace=namespace, labels=labels))
            if not now or before & {one.metadata.name for one in now} or not all(map(workloads.is_ready, now)):
                raise NotObserved(f"{deployment} has the Pods {[one.metadata.name for one in now]}")

        eventually(renewed, seconds=120)

    @property
    def deployed(self) -> Deployed:
        return self.mesh.any_revision

    def _address(self, service: str) -> str:
        namespace, _, name = service.partition("/")
        return str(self.deployed.data_plane.get(Service, name, namespace=namespace).spec.clusterIP)

    def _pod(self, namespace: str, name: str) -> PodModel:
        self._made += 1
        manifest = pod_manifest(f"{name}-{self._made}", namespace)

        def ready() -> PodModel:
            found = self.deployed.data_plane.get(Pod, manifest["metadata"]["name"], namespace=namespace)
            if not workloads.is_ready(found):
                raise NotObserved(f"{found.metadata.name} is not ready")
            return found

        eventually(lambda: apply(self.deployed.data_plane, workloads.parse(manifest)), seconds=120)
        return eventually(ready, seconds=120)

    def _start(self, name: str, pod: PodModel, address: str, mode: str, port: int = workloads.PORT) -> None:
        """Asks from the new Pod before the old one ends."""
        file = self.directory / f"{pod.metadata.name}.json"
        process = eventually(lambda: self._program(pod), seconds=120)
        host = HOST if port == 80 else f"{HOST}:{port}"
        command = [*self.deployed.enter(process), sys.executable, "-I", str(STEADY), address, str(port), host, mode]
        started = subprocess.Popen([*command, str(file)], stdin=subprocess.PIPE)

        def asks() -> None:
            if not file.exists():
                raise NotObserved(f"{file.stem} asks nothing yet")

        eventually(asks, seconds=120)
        old = self.clients.get(name)
        self.clients[name] = Requests(str(pod.metadata.namespace), str(pod.metadata.name), file, started)
        self.files.append(file)
        if old:
            self._end(old)
            self.deployed.data_plane.delete(Pod, old.pod, namespace=old.namespace)

    def _program(self, pod: PodModel) -> Process:
        """The sample program of the Pod, with a sidecar beside it or without."""
        wanted = {"POD_NAME": str(pod.metadata.name), "MARK": "steady"}
        found = find(Path(sys.executable).resolve().name, wanted, self.deployed.read)
        if not found:
            raise NotObserved(f"no program runs for Pod {pod.metadata.name}")
        return found[0]

    def _end(self, client: Requests) -> None:
        if client.process.poll() is None:
            client.process.communicate(timeout=60)


def _lost(file: Path) -> list[str]:
    return list(json.loads(file.read_text())["lost"])


def pod_manifest(name: str, namespace: str = workloads.NAMESPACE) -> dict[str, Any]:
    """A Pod of the sample program, which serves while its end is decided."""
    spec = workloads.pod_spec(workloads.CALLER)
    if namespace == OUTSIDE:
        del spec["serviceAccountName"]
    (container,) = spec["containers"]
    field_of = {"fieldRef": {"fieldPath": "metadata.name"}}
    container["env"] += [{"name": "MARK", "value": "steady"}, {"name": "POD_NAME", "valueFrom": field_of}]
    labels = {"app": name}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": spec,
    }


def called() -> Iterator[dict[str, Any]]:
    """The called program and its namespace, and the one of those without a sidecar.

    It serves for five seconds after its end was decided, as every program must whose callers lose nothing.
    """
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OUTSIDE}}
    for manifest in workloads.manifests({"istio-injection": "enabled"}):
        if manifest["kind"] == "Deployment":
            if manifest["metadata"]["name"] == workloads.CALLER:
                continue
            (container,) = manifest["spec"]["template"]["spec"]["containers"]
            container["lifecycle"] = DRAIN
        yield manifest
