"""A command in a Pod: output by a WebSocket, and each way in which it ends without one."""

from __future__ import annotations

import base64
import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from pulumi_hosted_mesh.clusters.api_server import ApiServer, RefusedError, UnreachableError
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig, minimal
from pulumi_hosted_mesh.clusters.pod_exec import output_in_pod

from sandbox.clusters.credentials.certificates import Pair, issue, new_authority
from tests.support.serving import HttpsServer, serving

AUTHORITY = new_authority("company")
SUCCESS = b"\x03" + json.dumps({"status": "Success"}).encode()
FAILURE = b"\x03" + json.dumps({"status": "Failure", "message": "exit code \x1b[31m 1"}).encode()
CLOSE = b"\x88\x02\x03\xe8"


def frame(content: bytes, kind: int = 2) -> bytes:
    length = len(content)
    if length < 126:
        size = bytes([length])
    else:
        size = b"\x7e" + length.to_bytes(2) if length < 2**16 else b"\x7f" + length.to_bytes(8)
    return bytes([0x80 | kind]) + size + content


class Server(HttpsServer):
    def __init__(self, pair: Pair, directory: Path, sent: bytes, status: int = 101) -> None:
        super().__init__(pair, directory, Handler)
        self.sent, self.status = sent, status
        self.asked: list[tuple[str, Any]] = []


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers))
        self.send_response(self.server.status)
        if self.server.status == 101:
            self.send_header("Upgrade", "websocket")
            self.send_header("Connection", "Upgrade")
        else:
            self.send_header("Content-Length", str(len(self.server.sent)))
        self.end_headers()
        self.wfile.write(self.server.sent)
        self.close_connection = True

    def log_message(self, *arguments: Any) -> None:
        pass


def config(server: Server) -> Kubeconfig:
    entry = {"server": server.address, "certificate-authority-data": base64.b64encode(AUTHORITY.certificate).decode()}
    return Kubeconfig("c", server.address, AUTHORITY.certificate.decode(), minimal("c", entry, {"token": "t0ken"}))


def run(directory: Path, sent: bytes, status: int = 101) -> tuple[str, Server]:
    with serving(Server(issue(AUTHORITY, "server", names=["127.0.0.1"]), directory, sent, status)) as server:
        command = ["ask", "--all", "a b"]
        return output_in_pod(ApiServer(config(server)), "mesh-demo", "istiod-1", "discovery", command), server


def test_the_output_is_what_came_on_its_channel_in_frames_of_every_length(tmp_path: Path) -> None:
    parts = [b"x" * length for length in (3, 126, 70_000)]
    sent = frame(b"\x02a warning") + frame(b"", kind=9) + b"".join(frame(b"\x01" + part) for part in parts)
    text, server = run(tmp_path, sent + frame(SUCCESS) + CLOSE + frame(b"\x01 after the end"))
    assert text == "x" * 70_129
    ((path, headers),) = server.asked
    assert urlsplit(path).path == "/api/v1/namespaces/mesh-demo/pods/istiod-1/exec"
    wanted = {"container": ["discovery"], "stdout": ["true"], "stderr": ["true"], "command": ["ask", "--all", "a b"]}
    assert parse_qs(urlsplit(path).query) == wanted
    assert (headers["Upgrade"], headers["Sec-WebSocket-Protocol"]) == ("websocket", "v4.channel.k8s.io")
    assert headers["Authorization"] == "Bearer t0ken"


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (frame(b"\x01half") + frame(FAILURE) + CLOSE, r"failed: exit code \\x1b\[31m 1"),
        (frame(b"\x01whole") + CLOSE, "failed: no status"),
        (frame(b"\x01whole")[:-2], "the output ended early"),
        (b"", "failed: no status"),
    ],
)
def test_a_command_without_success_has_no_output(tmp_path: Path, sent: bytes, message: str) -> None:
    with pytest.raises(UnreachableError, match=message):
        run(tmp_path, sent)


@pytest.mark.parametrize(("status", "kind"), [(403, RefusedError), (404, UnreachableError), (200, UnreachableError)])
def test_an_api_server_that_does_not_switch_is_an_error(tmp_path: Path, status: int, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=str(status)):
        run(tmp_path, b'{"kind": "Status", "message": "no"}', status)
