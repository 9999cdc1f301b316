"""Jaeger as a process beside a test, which receives spans by TLS."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.authorities import Authority
from tests.support.envoys import shown_by
from tests.support.jaeger import Jaeger
from tests.support.ports import free_port
from tests.support.waiting import eventually

OTHER_LISTENERS = (
    *("admin.http.host-port", "http-server.host-port"),
    *("collector.grpc-server.host-port", "collector.http-server.host-port", "collector.otlp.http.host-port"),
    *("query.grpc-server.host-port",),
    *(f"processor.{name}.server-host-port" for name in ("jaeger-binary", "jaeger-compact", "zipkin-compact")),
)
"""Nothing sends to them: their usual ports may be another program's."""


@contextmanager
def running_jaeger(program: Path, folder: Path, authority: Authority) -> Iterator[tuple[int, Jaeger]]:
    """The process, on loopback, and its port of OTLP. authority: of its certificate."""
    otlp, query, *others = (free_port() for _ in range(2 + len(OTHER_LISTENERS)))
    certificate = folder / "jaeger.pem"
    certificate.write_bytes(shown_by(authority, "localhost"))
    tls = "--collector.otlp.grpc.tls"
    listeners = ("collector.otlp.grpc.host-port", "query.http-server.host-port", *OTHER_LISTENERS)
    ports = dict(zip(listeners, (otlp, query, *others), strict=True))
    command = [str(program), f"{tls}.enabled=true", f"{tls}.cert={certificate}", f"{tls}.key={certificate}"]
    command += [f"--{name}=127.0.0.1:{port}" for name, port in ports.items()]
    with (folder / "jaeger.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env={"OTEL_TRACES_SAMPLER": "always_off"})

    def get(path: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{query}{path}", timeout=60) as answer:
            return json.load(answer)

    found = Jaeger(get)
    try:
        eventually(lambda: process.poll() is not None or _answers(found), "Jaeger")
        assert process.poll() is None, (folder / "jaeger.log").read_text()[-2000:]
        yield otlp, found
    finally:
        process.kill()
        process.wait(60)


def _answers(found: Jaeger) -> bool:
    try:
        return found.services() == set()
    except OSError:
        return False
