"""PowerDNS, both external-dns of a publisher, and the sidecar's gate between them: powerdns.py SETTINGS.

Programs, their HTTP and the answers are real. The edge's API server is a small fake of one DNSEndpoint.

Run it in a network namespace of its own: it uses port 53 and addresses of the loopback. SETTINGS: a JSON file with
`server` (PowerDNS), `program` (external-dns), `planner`, `writer`, `environment`, `kubeconfig`, `folder`, `key` and
`zone`, and the `phases` in order. A phase has `records`, and optional: `down` (addresses that stop responding), `up`,
`await` (address sets by name: the phase waits for one of these), `count` (queries of each name). It writes the file
`result`: for each phase `counts`, `lost` (queries without an answer during the phase), `serial` and `sets`.
"""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from agents.dns_sidecar.leader_gate import LeaderGate
from agents.dns_sidecar.resolver import AAAA, A, decode_response, encode_query
from agents.dns_sidecar.webhook_server import serve as serve_webhook
from tests.engine.library.dns_clouds.cloud import (
    EDGE,
    GATE,
    WEBHOOK,
    HeldLease,
    serve_edge,
    set_loopback_up,
    starts,
)

API, HEALTH_PORT, CHECK_SECONDS = 8081, 8443, 1
LIMIT = 60.0  # seconds
MODULE = "usr/lib/*/pdns"
SCHEMA = "usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql"
PROPERTIES = ("powerdns/weights", "powerdns/health-port")


class PowerDns:
    """The server with one zone."""

    def __init__(self, program: Path, folder: Path, zone: str, key: str) -> None:
        self._zone, self._key = zone, key
        system = program.resolve().parent.parent / "system"
        (modules,) = system.glob(MODULE)
        with sqlite3.connect(folder / "zones") as database:
            database.executescript((system / SCHEMA).read_text())
        settings = {
            "launch": "gsqlite3",
            "module-dir": modules,
            "gsqlite3-database": folder / "zones",
            "local-address": "127.0.0.1",
            "socket-dir": folder,
            "security-poll-suffix": "",
            "guardian": "no",
            "api": "yes",
            "api-key": key,
            "webserver-address": "127.0.0.1",
            "webserver-port": API,
            "enable-lua-records": "yes",
            "lua-health-checks-interval": CHECK_SECONDS,
        }
        text = "".join(f"{name}={value}\n" for name, value in settings.items())
        (folder / "pdns.conf").write_text(text)
        log = (folder / "pdns.log").open("wb")
        self.process = subprocess.Popen([program, f"--config-dir={folder}"], stdout=log, stderr=log)
        deadline = time.monotonic() + LIMIT
        while True:
            try:
                self._api("POST", "", {"name": f"{zone}.", "kind": "Native", "nameservers": [f"ns.{zone}."]})
                return
            except OSError:
                assert time.monotonic() < deadline, "PowerDNS does not start"
                time.sleep(0.1)

    def sets(self) -> dict[str, list[str]]:
        found = self._api("GET", f"/{self._zone}.")["rrsets"]
        return {f"{one['name']} {one['type']}": [each["content"] for each in one["records"]] for one in found}

    def _api(self, method: str, path: str, body: Any = None) -> Any:
        url = f"http://127.0.0.1:{API}/api/v1/servers/localhost/zones{path}"
        sent = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, sent, {"X-API-Key": self._key}, method=method)
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.loads(response.read() or b"null")


def ask(name: str) -> str:
    """The addresses of one answer, of both families."""
    found: list[str] = []
    for kind in (A, AAAA):
        query = encode_query(name, kind)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
            connection.settimeout(5)
            connection.sendto(query, ("127.0.0.1", 53))
            with suppress(ValueError):
                found += decode_response(connection.recv(4096), query)
    return " ".join(sorted(found))


class Listeners:
    """Addresses that accept connections to the health checks' port."""

    def __init__(self) -> None:
        self._open: dict[str, socket.socket] = {}

    def up(self, address: str) -> None:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        listener = self._open[address] = socket.create_server((address, HEALTH_PORT), family=family, backlog=100)

        def accept() -> None:
            with suppress(OSError):
                while True:
                    listener.accept()[0].close()

        threading.Thread(target=accept, daemon=True).start()

    def down(self, address: str) -> None:
        listener = self._open.pop(address)
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


class Steady:
    """Queries of names without a pause, each of which is to have an answer."""

    def __init__(self, names: list[str]) -> None:
        self.lost: list[str] = []
        self._names, self._done = names, threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self._thread.start()

    def _ask(self) -> None:
        while not self._done.wait(0.02):
            self.lost += [name for name in self._names if not ask(name)]

    def end(self) -> list[str]:
        self._done.set()
        self._thread.join()
        return self.lost


def run_phase(phase: dict[str, Any], given: dict[str, Any], item: dict[str, Any], server: PowerDns, log: Any) -> Any:
    """Starts the planning external-dns anew with the phase's records, waits for the answers, then counts them."""
    item["spec"] = {"endpoints": phase["records"]}
    item["metadata"]["generation"] += 1
    steady = Steady(phase.get("steady", []))
    with subprocess.Popen([given["program"], *given["planner"]], env={}, stdout=log, stderr=log) as planning:
        deadline, late = time.monotonic() + LIMIT, dict[str, str]()
        for name, accepted in phase.get("await", {}).items():
            while (found := ask(name)) not in accepted and time.monotonic() < deadline:
                time.sleep(0.1)
            late |= {} if found in accepted else {name: found}
        time.sleep(phase.get("pause", 0))
        lost = steady.end()
        counts = {name: Counter(ask(name) for _ in range(number)) for name, number in phase.get("count", {}).items()}
        planning.kill()
    return {"late": late, "lost": lost, "counts": counts, "sets": server.sets()}


def main() -> None:
    given = json.loads(Path(sys.argv[1]).read_text())
    set_loopback_up()
    folder, listeners = Path(given["folder"]), Listeners()
    server = PowerDns(Path(given["server"]), folder, given["zone"], given["key"])
    item: dict[str, Any] = {
        "apiVersion": "externaldns.k8s.io/v1alpha1",
        "kind": "DNSEndpoint",
        "metadata": {"name": "web", "namespace": "default", "uid": "1", "resourceVersion": "2", "generation": 1},
        "spec": {"endpoints": []},
    }
    gate = LeaderGate(HeldLease(), WEBHOOK, 5, answers=given["answers"])
    for run in (lambda: serve_edge(item), lambda: serve_webhook(gate, GATE)):
        threading.Thread(target=run, daemon=True).start()
    kubeconfig = {
        "clusters": [{"name": "edge", "cluster": {"server": f"http://127.0.0.1:{EDGE}"}}],
        "contexts": [{"name": "edge", "context": {"cluster": "edge"}}],
        "current-context": "edge",
    }
    Path(given["kubeconfig"]).write_text(json.dumps(kubeconfig))
    environment = {"PATH": os.environ["PATH"], **given["environment"]}
    found = []
    with (folder / "log").open("wb") as log:
        writing = subprocess.Popen([given["program"], *given["writer"]], env=environment, stdout=log, stderr=log)
        started = starts(writing)
        for phase in given["phases"] if started else ():
            for address in phase.get("up", ()):
                listeners.up(address)
            for address in phase.get("down", ()):
                listeners.down(address)
            found.append(run_phase(phase, given, item, server, log))
        writing.kill()
        writing.wait()
    server.process.kill()
    server.process.wait()
    result = {"started": started, "phases": found, "log": (folder / "log").read_text()}
    (folder / "result").write_text(json.dumps({**result, "server": (folder / "pdns.log").read_text()}))


if __name__ == "__main__":
    main()
