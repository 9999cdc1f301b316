"""A collector as a process, and proxies that push to it by real gRPC streams over mTLS."""

from __future__ import annotations

import json
import queue
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, Self

import grpc

from agents.metrics_collector import telemetry_messages
from agents.metrics_collector.receivers import LOGS_SERVICE, METRICS_SERVICE
from sandbox.bootstrap import CHECKOUT
from tests.support.authorities import Authority, pem
from tests.support.envoys import shown_by
from tests.support.ports import free_port
from tests.support.waiting import eventually

HOST = "collector.a.test"
SERIES = re.compile(r"([a-z_]+)(?:\{(.*)\})? (\S+)")
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')
Sample = tuple[str, dict[str, str], float]


class Mesh:
    """A tenant: its authority, and its port at the collector."""

    def __init__(self, name: str, folder: Path, *, cluster: str = "", authority: Authority | None = None):
        self.name, self.folder = name, folder
        self.authority = authority or Authority(name)
        self.port = free_port()
        self.cluster = cluster or f"{name}-1"
        self.domain = f"{name}.mesh.test"
        folder.mkdir()
        self.renew()
        (folder / "ca.pem").write_bytes(pem(self.authority.certificate))

    def renew(self) -> None:
        """A new certificate of the collector."""
        text = shown_by(self.authority, HOST)
        (self.folder / "server.pem").write_bytes(text)

    def principal(self, name: str, namespace: str = "bookshop") -> str:
        return f"spiffe://{self.domain}/ns/{namespace}/sa/{name}"

    @property
    def endpoint(self) -> dict[str, Any]:
        file = str(self.folder / "server.pem")
        return {
            "port": self.port,
            "tenant": self.name,
            "cluster": self.cluster,
            "network": f"net-{self.name}",
            "trust_domain": self.domain,
            "certificate": file,
            "key": file,
            "authorities": str(self.folder / "ca.pem"),
        }


class Collector:
    """The program, with an endpoint for each mesh."""

    def __init__(
        self,
        folder: Path,
        *meshes: Mesh,
        limits: Mapping[str, Any] | None = None,
        address: str = "",
        traces: Mapping[str, Any] | None = None,
    ):
        self.port, self.meshes = free_port(), meshes
        endpoints = [one.endpoint for one in meshes]
        found = {"endpoints": endpoints, "limits": dict(limits or {}), "metrics_port": self.port}
        found |= {"traces": dict(traces)} if traces else {}
        self.file = folder / "collector.json"
        self.file.write_text(json.dumps({**found, "address": address or "127.0.0.1"}))
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        command = [sys.executable, "-m", "agents.metrics_collector", "--config", str(self.file)]
        self.process = subprocess.Popen(command, cwd=CHECKOUT)
        eventually(lambda: self.process.poll() is not None or self.answers("/ready"), "the collector")
        assert self.process.poll() is None
        return self

    def answers(self, path: str) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def end(self, *, kill: bool = False) -> int:
        (self.process.kill if kill else self.process.terminate)()
        return self.process.wait(60)

    def text(self) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=60) as answer:
            return str(answer.read().decode())

    def samples(self, metric: str, **labels: str) -> list[Sample]:
        split = list[Sample]()
        for line in self.text().splitlines():
            if not line.startswith("#"):
                one = SERIES.fullmatch(line)
                assert one, line
                split.append((one[1], dict(LABEL.findall(one[2] or "")), float(one[3])))
        return [one for one in split if one[0] == metric and labels.items() <= one[1].items()]

    def sum(self, metric: str, **labels: str) -> float:
        return sum(value for _, _, value in self.samples(metric, **labels))

    def own(self, name: str, **labels: str) -> float:
        return self.sum(f"hosted_mesh_collector_{name}", **labels)


@contextmanager
def collecting(
    folder: Path,
    *meshes: Mesh,
    limits: Mapping[str, Any] | None = None,
    address: str = "",
    traces: Mapping[str, Any] | None = None,
) -> Iterator[Collector]:
    """address: of all ports, by default IPv4's loopback. traces: the backend of spans."""
    collector = Collector(folder, *meshes, limits=limits, address=address, traces=traces).start()
    try:
        yield collector
    finally:
        if collector.process.poll() is None:
            collector.end(kill=True)


def channel(mesh: Mesh, *names: str, authority: Authority | None = None) -> grpc.Channel:
    """A client with a certificate of these names, of the mesh's authority if no other is given."""
    shown = shown_by(authority or mesh.authority, *names)
    chain, mark, key = shown.partition(b"-----BEGIN PRIVATE KEY-----")
    found = grpc.ssl_channel_credentials(pem(mesh.authority.certificate), mark + key, chain)
    options = [("grpc.ssl_target_name_override", HOST), ("grpc.use_local_subchannel_pool", 1)]
    return grpc.secure_channel(f"127.0.0.1:{mesh.port}", found, options)


class Proxy:
    """A proxy's stream, as Envoy opens it. shows: another principal in the certificate; authority: of another mesh."""

    def __init__(
        self,
        mesh: Mesh,
        workload: str,
        *,
        pod: str = "",
        namespace: str = "bookshop",
        node: str = "",
        shows: str = "",
        authority: Authority | None = None,
    ):
        self.mesh, self.workload = mesh, workload
        self.principal = mesh.principal(workload, namespace)
        self.node = node or f"sidecar~10.0.0.1~{pod or workload + '-1'}.{namespace}~{namespace}.svc.cluster.local"
        self.channel = channel(mesh, shows or self.principal, authority=authority)
        self.waiting: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.call: Any = self.channel.stream_unary(f"/{METRICS_SERVICE}/StreamMetrics").future(
            iter(self.waiting.get, None)
        )
        self.is_first = True

    def send(self, *families: Any) -> None:
        """One message. The first has the node, as with Envoy."""
        message = telemetry_messages.StreamMetricsMessage(envoy_metrics=families)
        if self.is_first:
            message.identifier.node.id = self.node
            self.is_first = False
        self.waiting.put(message.SerializeToString())

    def status(self) -> grpc.StatusCode:
        """How the stream ended."""
        found: grpc.StatusCode = self.call.exception(timeout=60).code()
        return found

    def close(self) -> None:
        self.waiting.put(None)
        self.channel.close()


def flat(metric: str, tags: Mapping[str, str]) -> str:
    """A name as Envoy's access logger makes it."""
    return f"istiocustom.{metric}" + "".join(f".{name}.{value}" for name, value in tags.items())


class Named(Protocol):
    """The names of a sender."""

    @property
    def mesh(self) -> Mesh: ...
    @property
    def workload(self) -> str: ...
    @property
    def principal(self) -> str: ...


def sent_by(proxy: Named, to: str = "backend", code: str = "200", **changed: str) -> dict[str, str]:
    """Tags of a request that a source reports."""
    tags = {
        "reporter": "source",
        "source_workload": proxy.workload,
        "source_principal": proxy.principal,
        "destination_principal": proxy.mesh.principal(to),
        "destination": f"{to};bookshop;{to};v1;{proxy.mesh.cluster}",
        "upstream_cluster": f"outbound|8080||{to}.bookshop.svc.cluster.local",
        "response_code": code,
        "response_flags": "-",
        "grpc_response_status": "-",
        "request_protocol": "HTTP/1.1",
    }
    return {**tags, **changed}


def received_by(proxy: Proxy, by: str, code: str = "200", **changed: str) -> dict[str, str]:
    """Tags of a request that a destination reports."""
    tags = {
        "reporter": "destination",
        "source_principal": by,
        "destination_workload": proxy.workload,
        "destination_principal": proxy.principal,
        "server_name": f"outbound_.8080_._.{proxy.workload}.bookshop.svc.cluster.local",
        "response_code": code,
        "response_flags": "-",
        "grpc_response_status": "-",
        "request_protocol": "HTTP/2",
    }
    return {**tags, **changed}


def counter(name: str, value: float) -> Any:
    metric = telemetry_messages.StreamMetricsMessage().envoy_metrics.add(name=name, type=telemetry_messages.COUNTER)
    metric.metric.add().counter.value = value
    return metric


def requests(tags: Mapping[str, str], value: float) -> Any:
    return counter(flat("istio_requests_total", tags), value)


def durations(tags: Mapping[str, str], *milliseconds: float) -> Any:
    """The interval's histogram, with Envoy's buckets."""
    name = flat("istio_request_duration_milliseconds", tags)
    family = telemetry_messages.StreamMetricsMessage().envoy_metrics.add(name=name, type=telemetry_messages.HISTOGRAM)
    found = family.metric.add().histogram
    found.sample_count, found.sample_sum = len(milliseconds), sum(milliseconds)
    for bound in (1, 10, 100):
        found.bucket.add(upper_bound=bound, cumulative_count=sum(one <= bound for one in milliseconds))
    return family


def export(mesh: Mesh, principal: str, node: str, *records: Mapping[str, str]) -> None:
    """One OTLP request with access logs. node: `POD.NAMESPACE`. Raises: grpc.RpcError."""
    request = telemetry_messages.ExportLogsServiceRequest()
    resource = request.resource_logs.add()
    scope = resource.scope_logs.add()
    for record in records:
        made = scope.log_records.add()
        for key, value in {"node": node, **record}.items():
            made.attributes.add(key=key).value.string_value = value
    with channel(mesh, principal) as one:
        one.unary_unary(f"/{LOGS_SERVICE}/Export")(request.SerializeToString(), timeout=60)


def resident(process: int) -> float:
    """Megabytes of memory of a process."""
    (line,) = [one for one in Path(f"/proc/{process}/status").read_text().splitlines() if one.startswith("VmRSS")]
    return int(line.split()[1]) / 1024
