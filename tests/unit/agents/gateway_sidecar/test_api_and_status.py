"""The sidecar's only right, to read rows in its namespace, and the pages for probes and alarms."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from agents.gateway_sidecar.api import RowsApi
from agents.gateway_sidecar.status import Status, server
from sandbox.clusters.credentials.certificates import issue, new_authority
from tests.support.serving import HttpsServer, serving
from tests.unit.agents.gateway_sidecar.row_documents import ROWS

SELECTOR = "hosted-mesh.io/gateway-host=true"
PATH = "/api/v1/namespaces/hosted-mesh-gateway/configmaps"


class Handler(BaseHTTPRequestHandler):
    """An API server with two pages of rows, and a watch that ends with a change."""

    asked: list[tuple[str, dict[str, list[str]], str]]
    status = http.client.OK
    change = threading.Event()

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = parse_qs(url.query)
        self.asked.append((url.path, query, self.headers["Authorization"]))
        self.send_response(self.status)
        self.end_headers()
        if "watch" in query:
            self.change.wait(10)
            self.wfile.write(b'{"type": "ADDED"}\n')
        elif "continue" in query:
            self.wfile.write(json.dumps({"items": [ROWS["b"]], "metadata": {"resourceVersion": "9"}}).encode())
        else:
            page = {"items": [ROWS["a"]], "metadata": {"resourceVersion": "9", "continue": "more"}}
            self.wfile.write(json.dumps(page).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[RowsApi, type[Handler]]]:
    authority = new_authority("cluster")
    pair = issue(authority, "kubernetes", names=["127.0.0.1"])
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    (tmp_path / "token").write_text("first\n")
    (tmp_path / "namespace").write_text("hosted-mesh-gateway")

    class Own(Handler):
        asked = []
        change = threading.Event()

    with serving(HttpsServer(pair, tmp_path, Own)) as running:
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(running.server_port))
        yield RowsApi(tmp_path, SELECTOR), Own


def test_all_pages_of_the_namespaces_rows_are_read_with_the_present_token(
    account: tuple[RowsApi, type[Handler]], tmp_path: Path
) -> None:
    api, handler = account
    assert api.list() == ([ROWS["a"], ROWS["b"]], "9")
    (tmp_path / "token").write_text("second\n")
    api.list()
    assert {path for path, _, _ in handler.asked} == {PATH}
    assert {query["labelSelector"][0] for _, query, _ in handler.asked} == {SELECTOR}
    assert [token for _, _, token in handler.asked] == [*["Bearer first"] * 2, *["Bearer second"] * 2]


def test_a_change_ends_the_wait(account: tuple[RowsApi, type[Handler]]) -> None:
    api, handler = account
    waiting = threading.Thread(target=api.wait, args=["9"])
    waiting.start()
    waiting.join(0.3)
    assert waiting.is_alive()
    handler.change.set()
    waiting.join(10)
    assert not waiting.is_alive()
    assert handler.asked[0][1]["resourceVersion"] == ["9"]


def test_an_error_of_the_api_server_is_one(account: tuple[RowsApi, type[Handler]]) -> None:
    api, handler = account
    handler.status = http.client.FORBIDDEN
    with pytest.raises(OSError, match="the API server responded 403"):
        api.list()


@contextmanager
def page_of(status: Status, path: str) -> Iterator[http.client.HTTPResponse]:
    with serving(server(status, 0)) as running:
        connection = http.client.HTTPConnection("127.0.0.1", running.server_port, timeout=10)
        connection.request("GET", path)
        yield connection.getresponse()
        connection.close()


def test_the_pod_is_ready_after_the_first_configuration() -> None:
    status = Status(lambda: 7.0)
    with page_of(status, "/ready") as answer:
        assert answer.status == http.client.SERVICE_UNAVAILABLE
    status.report(2, {})
    with page_of(status, "/ready") as answer:
        assert answer.status == http.client.OK
    with page_of(status, "/metrics") as answer:
        assert "hosted_mesh_gateway_last_read_timestamp_seconds 7.000\n" in answer.read().decode()
    with page_of(status, "/stop") as answer:
        assert answer.status == http.client.NOT_FOUND
