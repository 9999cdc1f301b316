"""The checks' view: two clusters, the mesh's public facts, and ways to act inside a Pod's network."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import httpx2
from lightkube import Client, KubeConfig
from lightkube.models.core_v1 import Pod as PodModel

from sandbox.clusters import Cluster, Sandbox
from sandbox.clusters.network import boundary
from sandbox.clusters.network.addresses import WAN
from sandbox.engine import deployment
from sandbox.proof.processes import Process, find
from sandbox.toolchain import Tools

T = TypeVar("T")
PROGRAMS = Path(__file__).parent / "programs"


class NotObserved(Exception):
    """The claim was not seen to hold; the message has the observation and a place to look at."""


@dataclass(frozen=True)
class MeshFacts:
    """Public facts of the deployed mesh, from the stack's outputs."""

    name: str
    namespace: str  # of istiod on the control plane, of the mesh's objects on the data plane
    host: str  # istiod's name for the data plane
    xds_port: int
    webhook_port: int
    trust_domain: str
    root_certificate: str  # PEM
    injection_labels: Mapping[str, str]  # on a namespace of Pods that get sidecars

    @classmethod
    def of(cls, outputs: Mapping[str, Any]) -> MeshFacts:
        """outputs: the stack's, or those of control-plane and data-plane together. Raises NotObserved."""
        try:
            (endpoint,) = outputs["endpoints"].values()  # one membership, one revision
            return cls(
                name=endpoint["mesh"],
                namespace=outputs["namespace"],
                host=endpoint["host"],
                xds_port=endpoint["xdsPort"],
                webhook_port=endpoint["webhookPort"],
                trust_domain=endpoint["trustDomain"],
                root_certificate=endpoint["rootCertificate"],
                injection_labels=outputs["injection_labels"],
            )
        except KeyError as missing:
            raise NotObserved(f"the stack has no output {missing}: has `pulumi up` finished?") from None


@dataclass(frozen=True)
class Deployed:
    """The resources of a check."""

    sandbox: Sandbox
    tools: Tools
    mesh: MeshFacts
    engine_states: Callable[[], Sequence[Mapping[str, Any]]]  # of the mesh's stacks, with their secrets in plain text
    gateways: Callable[[], Iterable[tuple[str, str]]]  # namespace and name of those in the document
    patience: float = 90  # seconds to wait for a ready sample workload and its answers

    @classmethod
    def of(cls, sandbox: Sandbox, tools: Tools) -> Deployed:
        """The mesh of `make up`."""
        mesh = MeshFacts.of(deployment.outputs(sandbox, tools))
        return cls(
            sandbox,
            tools,
            mesh,
            engine_states=lambda: [deployment.export(sandbox, tools)],
            gateways=lambda: deployment.gateways(sandbox.state, mesh.namespace),
        )

    @cached_property
    def control_plane(self) -> Client:
        return client_of(self.sandbox.control_plane)

    @cached_property
    def data_plane(self) -> Client:
        return client_of(self.sandbox.data_plane)

    def program_of(self, pod: PodModel, program: str) -> Process:
        """The process that runs `program` for this Pod, found by the Pod's own name in its environment."""
        assert pod.metadata is not None
        wanted = {"POD_NAME": str(pod.metadata.name), "POD_NAMESPACE": str(pod.metadata.namespace)}
        found = find(program, wanted, self.read)
        if not found:
            raise NotObserved(f"no process {program} runs for Pod {wanted['POD_NAMESPACE']}/{wanted['POD_NAME']}")
        return found[0]

    def read(self, path: Path) -> bytes:
        """A file of a Pod's process, possibly of another user: it may be a subordinate user of this one.

        The sandbox's own root may read it: this user, inside the sandbox's user namespace. Raises OSError.
        """
        if self.sandbox.mode == "root":
            return path.read_bytes()
        done = subprocess.run(
            [*_as_root(self.sandbox.supervisor.identity.pid), "cat", "--", path],
            env={**os.environ, "LC_ALL": "C"},
            capture_output=True,
            timeout=60,
            check=False,
        )
        if done.returncode != 0:
            message = done.stderr.decode(errors="replace").strip()
            raise FileNotFoundError(message) if "No such file or directory" in message else OSError(message)
        return done.stdout

    def is_program(self, process: Process, tool: str) -> bool:
        """Whether the kernel's link of a process leads to this very tool: the same file, under any name."""
        path = f"/proc/{process.pid}/exe"
        file = self.tools[tool].resolve(strict=True).stat()
        if self.sandbox.mode == "root":
            runs = Path(path).stat()
            return (runs.st_dev, runs.st_ino) == (file.st_dev, file.st_ino)
        command = [*_as_root(process.pid), "stat", "--dereference", "--format=%d %i", path]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            raise NotObserved(f"the program of process {process.pid} cannot be read: {done.stderr.strip()}")
        return done.stdout.split() == [str(file.st_dev), str(file.st_ino)]

    def in_network_of(self, process: Process, script: str, *args: str) -> Any:
        """Runs a program of this package in the network namespace of a Pod's process; returns its JSON answer."""
        return _json_of(
            subprocess.run([*self.enter(process), *_script(script, *args)], capture_output=True, timeout=60)
        )

    def enter(self, process: Process) -> list[str]:
        """The command prefix of `in_network_of`, for callers that need Popen."""
        enter = ["nsenter", f"--target={process.pid}"] if self.sandbox.mode == "root" else _as_root(process.pid)
        return [*enter, "--net"]

    def of_proxy(self, process: Process, path: str) -> str:
        """A page of the proxy beside a Pod's process, available in the Pod's network only."""
        return str(self.in_network_of(process, "http_get.py", f"http://127.0.0.1:15000{path}")["body"])

    def in_network(self, network: str, script: str, *args: str) -> Any:
        """The same from a cluster's own node. network: the cluster's name."""
        return _json_of(self.sandbox.run(network, _script(script, *args), capture_output=True, timeout=60))

    @contextmanager
    def without_firewall(self) -> Iterator[None]:
        """The control plane's network without the sandbox's own rules, and routed to all others: for some moments.

        A run killed in between leaves it so; the next proof's boundary check then fails.
        """
        cluster = self.sandbox.control_plane
        own = cluster.addresses
        reached = (cluster.name, own.wan_address, own.pod_cidr, own.service_cidr)
        self._set_rules(boundary.opened(own))
        try:
            self.in_network(WAN, "routes.py", "add", *reached)
            yield
        finally:
            self._set_rules(boundary.rules(own))
            self.in_network(WAN, "routes.py", "del", *reached)

    def _set_rules(self, rules: str) -> None:
        command = [str(self.tools["nft"]), "-f", "-"]
        done = self.sandbox.run(self.sandbox.control_plane.name, command, input=rules, text=True, capture_output=True)
        if done.returncode != 0:
            raise NotObserved(f"nft refused the rules: {done.stderr.strip()}")


def _as_root(pid: int) -> list[str]:
    """The command prefix for root in the user namespace of a rootless sandbox's process."""
    return ["nsenter", f"--target={pid}", "--user", "--preserve-credentials"]


def client_of(cluster: Cluster) -> Client:
    """Reads end later than a webhook's call by the API server (at most 30 s), which then reports the webhook."""
    config = KubeConfig.from_file(cluster.kubeconfig).get(context_name=cluster.name)
    return Client(config=config, field_manager="hosted-mesh-proof", trust_env=False, timeout=httpx2.Timeout(40))


def eventually(look: Callable[[], T], *, seconds: float, every: float = 0.25) -> T:
    """Calls `look` until it no longer raises NotObserved; after `seconds` its latest reason stands."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return look()
        except NotObserved:
            if time.monotonic() > deadline:
                raise
            time.sleep(every)


def _script(name: str, *args: str) -> list[str]:
    return [sys.executable, "-I", str(PROGRAMS / name), *args]


def _json_of(done: subprocess.CompletedProcess[bytes]) -> Any:
    if done.returncode != 0:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise NotObserved(f"a probe inside the sandbox failed: {' '.join(last) or done.returncode}")
    return json.loads(done.stdout)
