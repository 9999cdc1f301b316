"""The sidecar's configuration in a real Envoy: names, ranges, PROXY headers, limits, changes, and what it refuses."""

from __future__ import annotations

import json
import re
import socket
import ssl
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pulumi_hosted_mesh.spec.gateway import GatewaySettings
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.tenancy.envoy_bootstrap import ADMIN_PORT, FOLDER, METRICS_PORT, bootstrap

from agents.gateway_sidecar import envoy_config
from agents.gateway_sidecar import rows as row_format
from agents.gateway_sidecar.publisher import INVALID, Publisher, validator
from agents.gateway_sidecar.rows import Row
from agents.gateway_sidecar.settings import Settings
from sandbox.toolchain import Tools
from tests.support.authorities import Authority
from tests.support.envoys import shown_by
from tests.support.ports import free_port
from tests.support.waiting import eventually

HERE = "127.0.0.0/8"
ELSEWHERE = "203.0.113.0/24"
ADMITTED = b"PROXY TCP4 203.0.113.7 192.0.2.1 40000 443\r\n"
OUTSIDE = b"PROXY TCP4 198.51.100.9 192.0.2.1 40000 443\r\n"
PER_SECOND = 1000
DRAIN = 1
"""Seconds until Envoy ends connections of what was removed."""


def row(mesh: str, ranges: tuple[str, ...] = (HERE,), connections: int = 100, per_second: int = PER_SECOND) -> Row:
    return Row(f"{mesh}.mesh.test", mesh, "default", ((443, "xds"),), ranges, connections, per_second)


class Istiod:
    """Stands for all istiods: TLS with a certificate of its own, and an answer for each line."""

    def __init__(self, folder: Path) -> None:
        certificate = folder / "istiod.pem"
        certificate.write_bytes(shown_by(Authority("of meshes"), "istiod.mesh.test"))
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate)
        self.certificate = ssl.PEM_cert_to_DER_cert(
            certificate.read_text().partition("-----END CERTIFICATE-----")[0] + "-----END CERTIFICATE-----\n"
        )
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._answer, args=self.listening.accept()[:1], daemon=True).start()

    def _answer(self, plain: socket.socket) -> None:
        with suppress(OSError), self.context.wrap_socket(plain, server_side=True) as one:
            while one.recv(100):
                one.sendall(b"here")


@dataclass
class Gateway:
    """A running Envoy with the sidecar's files."""

    publisher: Publisher
    port: int
    metrics_port: int
    log: Path
    opened: ExitStack = field(default_factory=ExitStack)

    def connect(self, name: str | None, header: bytes = b"") -> ssl.SSLSocket | None:
        """A connection by a server name; None if it is refused."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        plain = self.opened.enter_context(socket.create_connection(("127.0.0.1", self.port), timeout=10))
        try:
            plain.sendall(header)
            return self.opened.enter_context(context.wrap_socket(plain, server_hostname=name))
        except OSError:
            return None

    def serves(self, name: str | None, header: bytes = b"") -> bool:
        found = self.connect(name, header)
        return found is not None and answers(found)

    def counted(self, metric: str, prefix: str = "") -> int:
        """The sum of a counter of Prometheus' page. prefix: the value of its label for a mesh."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/stats/prometheus", timeout=10) as page:
            lines = page.read().decode().splitlines()
        wanted = re.compile(rf'{metric}\{{.*"{re.escape(prefix)}".*\}} (\d+)' if prefix else rf"{metric}\{{.*\}} (\d+)")
        return sum(int(found[1]) for line in lines if (found := wanted.fullmatch(line)))

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]


def answers(connection: ssl.SSLSocket) -> bool:
    try:
        connection.sendall(b"there?")
        return connection.recv(100) == b"here"
    except OSError:
        return False


@pytest.fixture(scope="module")
def istiod(tmp_path_factory: pytest.TempPathFactory) -> Istiod:
    return Istiod(tmp_path_factory.mktemp("istiod"))


@contextmanager
def running(tools: Tools, folder: Path, *rows: Row, **document: Any) -> Iterator[Gateway]:
    """Envoy with the library's bootstrap, on free ports."""
    given = read_document(GatewaySettings, {"zones": ["mesh.test"], "openToAll": True, **document})
    ports = {METRICS_PORT: free_port(), ADMIN_PORT: free_port(), 443: free_port()}
    settings = Settings(
        "", given.zones, {443: ports[443]}, "cluster.local", given.proxy_protocol_from, given.connections, 1
    )
    publisher = Publisher(settings, folder, validator(Path(tools["envoy"]), settings, folder))
    publisher.publish(tuple(sorted(rows)))
    text = json.dumps(bootstrap(given)).replace(f'"{FOLDER}', f'"{folder}')
    for port in (METRICS_PORT, ADMIN_PORT):
        text = text.replace(f'"port_value": {port}', f'"port_value": {ports[port]}')
    (folder / "envoy.json").write_text(text)
    command = [str(tools["envoy"]), "--config-path", str(folder / "envoy.json"), "--disable-hot-restart"]
    command += ["--concurrency", "1", "--file-flush-interval-msec", "50", "--drain-time-s", str(DRAIN)]
    log = folder / "log"
    with log.open("w") as out, subprocess.Popen(command, stdout=out, stderr=out) as envoy:
        gateway = Gateway(publisher, ports[443], ports[METRICS_PORT], log)
        try:
            eventually(lambda: is_ready(gateway.metrics_port) or envoy.poll() is not None, "Envoy")
            assert envoy.poll() is None, log.read_text()
            with gateway.opened:
                yield gateway
        finally:
            envoy.terminate()


def is_ready(port: int) -> bool:
    with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=5) as page:
        return bool(page.status == 200)
    return False


@pytest.fixture(autouse=True)
def _istiods_address(istiod: Istiod, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(row_format.TARGETS, "xds", istiod.port)
    monkeypatch.setattr(envoy_config, "upstream", lambda *_: "127.0.0.1")


def test_tls_passes_through_by_name_and_all_else_is_refused_and_counted(
    tools: Tools, tmp_path: Path, istiod: Istiod
) -> None:
    with running(tools, tmp_path, row("shop")) as gateway:
        connection = gateway.connect("shop.mesh.test")
        assert connection is not None
        assert answers(connection)
        assert connection.getpeercert(binary_form=True) == istiod.certificate, "the gateway ended TLS"

        unmatched = "envoy_listener_no_filter_chain_match"
        assert gateway.counted(unmatched) == 0
        assert not gateway.serves("bank.mesh.test")
        assert not gateway.serves(None)
        with socket.create_connection(("127.0.0.1", gateway.port), timeout=10) as plain, suppress(OSError):
            plain.sendall(b"GET / HTTP/1.1\r\nhost: shop.mesh.test\r\n\r\n")
            assert plain.recv(100) == b""
        eventually(lambda: gateway.counted(unmatched) == 3, "three refused connections")
        refused = eventually(lambda: [one for one in gateway.lines() if one["flags"] == "NR"][2:])
        assert refused[0]["mesh"] is None
        assert {one["host"] for one in gateway.lines() if one["flags"] == "NR"} == {"bank.mesh.test", None}

        with socket.create_connection(("127.0.0.1", gateway.port), timeout=10) as slow:
            assert slow.recv(1) == b"", "a connection that sends nothing stays open"
        assert gateway.counted("envoy_listener_downstream_pre_cx_timeout") == 1


def test_a_client_outside_of_a_meshs_ranges_is_refused_and_counted_for_the_mesh(tools: Tools, tmp_path: Path) -> None:
    with running(tools, tmp_path, row("shop"), row("bank", (ELSEWHERE,), per_second=1)) as gateway:
        for _ in range(5):
            assert not gateway.serves("bank.mesh.test")
        assert gateway.counted("envoy_tcp_downstream_cx_total", "bank/outside") == 5
        assert gateway.counted("envoy_local_rate_limit_rate_limited", "bank") == 0, "others use up the mesh's limit"
        assert gateway.serves("shop.mesh.test")
        eventually(lambda: ("bank", "outside") in {(one["mesh"], one["refused"]) for one in gateway.lines()})


def test_a_forged_proxy_header_passes_from_no_peer_but_the_named(tools: Tools, tmp_path: Path) -> None:
    shop = row("shop", (ELSEWHERE,))
    (tmp_path / "named").mkdir()
    with running(tools, tmp_path / "named", shop, proxyProtocolFrom=[HERE]) as gateway:
        assert gateway.serves("shop.mesh.test", ADMITTED)
        assert not gateway.serves("shop.mesh.test", OUTSIDE)
        assert not gateway.serves("shop.mesh.test"), "no header"
        assert gateway.counted("envoy_tcp_downstream_cx_total", "shop/outside") == 1
    (tmp_path / "unnamed").mkdir()
    with running(tools, tmp_path / "unnamed", shop, row("open", ()), proxyProtocolFrom=["192.0.2.0/24"]) as gateway:
        assert not gateway.serves("shop.mesh.test", ADMITTED)
        assert not gateway.serves("open.mesh.test", ADMITTED)
        assert gateway.counted("envoy_tcp_downstream_cx_total", "shop/unnamed-peer") == 1


def test_one_meshs_limits_leave_another_one_served(tools: Tools, tmp_path: Path) -> None:
    with running(tools, tmp_path, row("shop"), row("full", connections=2), row("fast", per_second=2)) as gateway:
        assert [gateway.serves("full.mesh.test") for _ in range(3)] == [True, True, False]
        assert gateway.counted("envoy_connection_limit_limited_connections", "full") == 1
        # Many, for a busy machine makes few in a second.
        assert [gateway.serves("fast.mesh.test") for _ in range(30)].count(True) < 30
        assert gateway.counted("envoy_local_rate_limit_rate_limited", "fast") >= 1
        assert all(gateway.serves("shop.mesh.test") for _ in range(10))


def test_a_mesh_comes_and_goes_while_anothers_connection_stays_open(tools: Tools, tmp_path: Path) -> None:
    with running(tools, tmp_path, row("shop")) as gateway:
        kept = gateway.connect("shop.mesh.test")
        assert kept is not None
        assert answers(kept)
        for _ in range(3):
            assert gateway.publisher.publish((row("bank"), row("shop"))) == {}
            eventually(lambda: gateway.serves("bank.mesh.test"), "the new mesh")
            assert answers(kept)
            assert gateway.publisher.publish((row("shop"),)) == {}
            eventually(lambda: not gateway.serves("bank.mesh.test"), "the mesh is gone")
            assert answers(kept)
        time.sleep(2 * DRAIN)  # a listener that was replaced as a whole would end its connections by then
        assert answers(kept)
        assert gateway.counted("envoy_listener_manager_lds_update_rejected") == 0
        assert gateway.counted("envoy_tcp_downstream_cx_total", "shop") == 1, "the connection was made anew"


def test_a_row_that_envoy_rejects_is_not_written_and_the_others_are_served(tools: Tools, tmp_path: Path) -> None:
    broken = row("broken", per_second=0)  # the sidecar's own check lets no such row pass
    with running(tools, tmp_path, row("shop")) as gateway:
        assert gateway.publisher.publish((row("bank"), broken, row("shop"))) == {"broken.mesh.test": INVALID}
        eventually(lambda: gateway.serves("bank.mesh.test"))
        assert gateway.serves("shop.mesh.test")
        assert gateway.counted("envoy_listener_manager_lds_update_rejected") == 0
