"""A mesh with a collector: requests of its workloads, and the numbers and spans that arrive."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import urlencode

from lightkube.models.core_v1 import Pod as PodModel
from lightkube.resources.core_v1 import Pod, Service

from sandbox.proof import workloads
from sandbox.proof.deployed import PROGRAMS, Deployed, NotObserved, eventually
from sandbox.proof.identity import AGENT
from sandbox.proof.processes import Process, find
from tests.support.kubectl import Kubectl

GATEWAY = "edge"
TOTAL = "istio_requests_total"
PROMETHEUS, PROMETHEUS_LABEL = "prometheus", "app.kubernetes.io/name"
TRACING = "tracing"
"""Namespace of the receiver of spans."""
SEND = PROGRAMS / "send_requests.py"
SERIES = re.compile(r"([a-z_]+)\{(.*)\} (\S+)")
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')
EDGE = ("reporter", "source_workload", "source_principal", "destination_workload", "destination_principal")
Edges = Counter[tuple[str, ...]]


@dataclass(frozen=True)
class Observed:
    """The deployed mesh, with its collector."""

    deployed: Deployed
    namespace: str
    """Of caller and called workload."""
    pods: Mapping[str, PodModel]

    def principal(self, name: str) -> str:
        namespace = self.deployed.mesh.namespace if name == GATEWAY else self.namespace
        return f"spiffe://{self.deployed.mesh.trust_domain}/ns/{namespace}/sa/{name}"

    @cached_property
    def target(self) -> tuple[str, str, str]:
        """Address, port and host of the called workload."""
        service = self.deployed.data_plane.get(Service, workloads.CALLED, namespace=self.namespace)
        assert service.spec is not None
        host = f"{workloads.CALLED}.{self.namespace}.svc.cluster.local:{workloads.PORT}"
        return str(service.spec.clusterIP), str(workloads.PORT), host

    @cached_property
    def gateway_address(self) -> str:
        service = self.deployed.data_plane.get(Service, GATEWAY, namespace=self.deployed.mesh.namespace)
        assert service.status is not None
        assert service.status.loadBalancer is not None
        (ingress,) = service.status.loadBalancer.ingress or []
        return str(ingress.ip)

    def from_pod(self, name: str, program: Path, *arguments: str) -> list[str]:
        """The command of a program in a caller's network, behind its proxy."""
        agent = self.deployed.program_of(self.pods[name], AGENT)
        return [*self.deployed.enter(agent), sys.executable, "-I", str(program), *self.target, *arguments]

    def send(self, name: str, **plan: int) -> None:
        """Requests of a caller, all of them answered as requested."""
        numbers = {status.strip("_"): number for status, number in plan.items()}
        command = self.from_pod(name, SEND, *(f"{status}={number}" for status, number in numbers.items()))
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == numbers

    def edge(self, caller: str, called_by: str | None = None, called: str = workloads.CALLED, **counts: int) -> Edges:
        """Expected reports of both ends, by code. called_by: the workload's name by the caller's own proxy."""
        found = Edges()
        ends = {"source": called_by or caller, "destination": "unknown"}  # the plain Envoy exchanges no metadata
        for reporter, workload in ends.items():
            for status, number in counts.items():
                destination = (called, self.principal(called))
                found[reporter, workload, self.principal(caller), *destination, status.strip("_")] = number
        return found

    def knows_the_called(self, name: str) -> None:
        """Raises NotObserved unless a caller's proxy has the called workload's Pod: endpoints arrive by themselves."""
        host, status = f"{workloads.CALLED}.{self.namespace}.svc.cluster.local", self.pods[workloads.CALLED].status
        assert status is not None
        endpoint = f"outbound|{workloads.PORT}||{host}::{status.podIP}:"
        agent = self.deployed.program_of(self.pods[name], AGENT)
        if endpoint not in self.deployed.of_proxy(agent, "/clusters"):
            raise NotObserved(f"the proxy of {name} has no {endpoint}")

    def send_from_outside(self, **plan: int) -> None:
        """Requests through the gateway, from a network without a mesh; the first once it has its route."""
        gateway = self.gateway_address
        first, *others = [name.strip("_") for name, number in plan.items() for _ in range(number)]

        def answer(status: str) -> None:
            url, network = f"http://{gateway}/status/{status}", self.deployed.sandbox.control_plane.name
            if (found := self.deployed.in_network(network, "http_get.py", url))["status"] != int(status):
                raise NotObserved(f"the gateway answered {found['status']}: {found['body'][:120]}")

        # Until then the gateway answers by itself, which is no request to the workload.
        eventually(lambda: answer(first), seconds=120)
        for status in others:
            answer(status)

    def requests_in_logs(self, *pods: PodModel) -> list[str]:
        """Lines of the access logs of these Pods' proxies."""
        kubectl = Kubectl.of(self.deployed.sandbox.data_plane, self.deployed.tools)
        found = []
        for pod in pods:
            assert pod.metadata is not None
            text = kubectl("logs", str(pod.metadata.name), f"-n={pod.metadata.namespace}", f"-c={workloads.PROXY}")
            found += [line for line in text.splitlines() if '"GET /' in line]
        return found

    def collector(self) -> Process:
        """The running program of the collector."""
        pods = list(self.deployed.control_plane.list(Pod, namespace="obs-demo"))
        for pod in pods:
            assert pod.metadata is not None
            if workloads.is_ready(pod) and (found := self._programs(str(pod.metadata.name))):
                return found[0]
        raise NotObserved(f"no ready collector among {len(pods)} Pods of obs-demo")

    def _programs(self, pod: str) -> list[Process]:
        return find("python3", {"HOSTNAME": pod, "PYTHONPATH": "/opt/packages"}, self.deployed.read)

    def kill(self, process: Process) -> None:
        """Ends a process at once, which may be of another user."""
        program = f"import os, signal; os.kill({process.pid}, signal.SIGKILL)"
        subprocess.run([*self.deployed.enter(process), sys.executable, "-I", "-c", program], check=True, timeout=60)

    def samples(self) -> list[tuple[str, dict[str, str], float]]:
        """All of the collector's page. Raises NotObserved."""
        url = "http://127.0.0.1:15090/metrics"
        page = self.deployed.in_network_of(self.collector(), "http_get.py", url)
        assert page["status"] == 200
        found = [match for line in page["body"].splitlines() if (match := SERIES.fullmatch(line))]
        return [(one[1], dict(LABEL.findall(one[2])), float(one[3])) for one in found]

    def prometheus(self, query: str) -> list[tuple[dict[str, str], float]]:
        """Prometheus' answer to an instant query: labels and value of each series."""
        pods = list(self.deployed.control_plane.list(Pod, namespace="obs-demo", labels={PROMETHEUS_LABEL: PROMETHEUS}))
        names = [str(pod.metadata.name) for pod in pods if pod.metadata and workloads.is_ready(pod)]
        found = find(PROMETHEUS, {"HOSTNAME": names[0]}, self.deployed.read) if names else []
        if not found:
            raise NotObserved(f"no ready Prometheus among {len(pods)} Pods")
        url = f"http://127.0.0.1:9090/api/v1/query?{urlencode({'query': query})}"
        page = self.deployed.in_network_of(found[0], "http_get.py", url)
        assert page["status"] == 200, page
        answer = json.loads(page["body"])
        return [(one["metric"], float(one["value"][1])) for one in answer["data"]["result"]]

    def own(self, metric: str, **labels: str) -> float:
        """A sum of the collector's own metrics."""
        name = f"hosted_mesh_collector_{metric}"
        return sum(value for one, found, value in self.samples() if one == name and labels.items() <= found.items())

    def spans(self) -> list[tuple[str, int, str, str]]:
        """Spans of the workloads at the receiver: service, kind, status, trace."""
        pods = list(self.deployed.control_plane.list(Pod, namespace=TRACING))
        names = [str(pod.metadata.name) for pod in pods if pod.metadata and workloads.is_ready(pod)]
        found = [each for name in names for each in self._programs(name)]
        if not found:
            raise NotObserved(f"no ready receiver of spans among {len(pods)} Pods")
        page = self.deployed.in_network_of(found[0], "http_get.py", "http://127.0.0.1:4318/")
        return [
            (resource["service.name"], kind, status, trace)
            for resource, kind, status, trace in json.loads(page["body"])
            if resource["service.namespace"] == self.namespace
            and resource["hosted_mesh.tenant"] == self.deployed.mesh.name
        ]

    def edges(self, counter: str = TOTAL) -> Edges:
        """Requests from and to the workloads, or another counter, by edge and code."""
        found = Edges()
        for metric, labels, value in self.samples():
            ends = {labels.get("source_workload_namespace"), labels.get("destination_workload_namespace")}
            if metric == counter and self.namespace in ends:
                assert value == int(value)
                found[(*(labels[name] for name in EDGE), labels["response_code"])] += int(value)
        return found

    def require(self, expected: Edges, counter: str = TOTAL) -> None:
        """Raises NotObserved unless the collector has exactly these numbers."""
        if (found := self.edges(counter)) != expected:
            raise NotObserved(f"too many: {found - expected}, missing: {expected - found}")

    def settles(self, expected: Edges, *, seconds: float = 120) -> None:
        """Waits until the collector has exactly these numbers, and has them still after all proxies pushed again."""

        def equal() -> float:
            self.require(expected)
            return self.own("messages_total")

        seen = eventually(equal, seconds=seconds)

        def pushed_twice() -> None:
            # Two messages of each stream: one could have been on its way.
            if (now := self.own("messages_total")) < seen + 2 * self.own("streams"):
                raise NotObserved(f"the collector has {now - seen} more messages")

        eventually(pushed_twice, seconds=120)
        equal()
