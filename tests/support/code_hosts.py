"""GitHub's and GitLab's interfaces, as far as the templates for pull requests call them, on this machine."""

from __future__ import annotations

import io
import json
import re
import ssl
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from sandbox.clusters.credentials.certificates import issue, new_authority
from tests.support.serving import serving


@dataclass
class CodeHost:
    """One repository with one pull request, its comments, and the file of its newest run. token: the only valid one."""

    commit: str
    token: str
    file: bytes | None = None
    comments: dict[int, str] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    """Methods and paths of changing calls."""

    def write(self, method: str, path: str, body: dict[str, str], number: int | None = None) -> None:
        self.calls.append(f"{method} {path}")
        self.comments[number if number is not None else len(self.comments) + 1] = body["body"]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    host: CodeHost

    def log_message(self, *_: Any) -> None:
        """Nothing: a test has no reader for it."""

    def answer(self, content: Any, status: int = 200) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header(
            "Content-Type", "application/octet-stream" if isinstance(content, bytes) else "application/json"
        )
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def body(self) -> dict[str, str]:
        found: dict[str, str] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        return found


class _GitHub(_Handler):
    """Serves api.github.com behind CONNECT, as an HTTP proxy does."""

    context: ssl.SSLContext

    def do_CONNECT(self) -> None:
        if self.path != "api.github.com:443":
            self.send_error(403)
            return
        self.send_response(200)
        self.end_headers()
        self.connection = self.context.wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)
        self.close_connection = False

    def _route(self) -> None:
        url, host = urlsplit(self.path), self.host
        if self.headers["Authorization"] != f"token {host.token}":
            return self.answer({"message": "Bad credentials"}, 401)
        path = url.path.removeprefix("/repos/owner/repository")
        if path == "/pulls":
            mine = parse_qs(url.query) == {"state": ["open"], "head": ["somebody:change"]}
            return self.answer([{"number": 7, "head": {"sha": host.commit}}] if mine else [])
        if path == "/actions/runs/99/artifacts":
            link = "https://api.github.com/repos/owner/repository/actions/artifacts/5/zip"
            artifact = {"id": 5, "name": "hosted-mesh-diff", "expired": False, "archive_download_url": link}
            kept = [artifact] if host.file is not None else []
            return self.answer({"total_count": len(kept), "artifacts": kept})
        if path == "/actions/artifacts/5/zip" and host.file is not None:
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w") as archive:
                archive.writestr("diff.json", host.file)
            return self.answer(packed.getvalue())
        if path == "/issues/7/comments" and self.command == "GET":
            author = {"login": "github-actions[bot]"}
            others = [{"id": 1000, "user": {"login": "somebody"}, "body": "<!-- hosted-mesh diff -->\nnot the bot's"}]
            return self.answer(
                others + [{"id": key, "user": author, "body": text} for key, text in host.comments.items()]
            )
        if path == "/issues/7/comments" and self.command == "POST":
            host.write("POST", path, self.body())
            return self.answer({"id": len(host.comments)}, 201)
        if (changed := re.fullmatch(r"/issues/comments/(\d+)", path)) and self.command == "PATCH":
            host.write("PATCH", path, self.body(), int(changed[1]))
            return self.answer({})
        return self.answer({"message": f"no {self.command} {self.path}"}, 404)

    do_GET = do_POST = do_PATCH = _route  # noqa: N815


class _GitLab(_Handler):
    def _route(self) -> None:
        url, host = urlsplit(self.path), self.host
        if self.headers["PRIVATE-TOKEN"] != host.token:
            return self.answer({"message": "401 Unauthorized"}, 401)
        path = url.path.removeprefix("/api/v4")
        later = parse_qs(url.query).get("page", ["1"]) != ["1"]
        request = {"iid": 7, "sha": host.commit}
        if path == "/user":
            return self.answer({"id": 11})
        if path == "/projects/1/merge_requests":
            return self.answer([] if later else [request])
        if path == "/projects/1/merge_requests/7":
            return self.answer({**request, "head_pipeline": {"id": 3, "project_id": 2, "sha": host.commit}})
        if path == "/projects/2/pipelines/3/jobs":
            return self.answer([] if later else [{"id": 4, "name": "diff", "status": "success"}])
        if path == "/projects/2/jobs/4/artifacts/diff.json" and host.file is not None:
            return self.answer(host.file)
        if path == "/projects/1/merge_requests/7/notes" and self.command == "GET":
            others = [{"id": 1000, "author": {"id": 12}, "body": "<!-- hosted-mesh diff -->\nnot the bot's"}]
            mine = [{"id": key, "author": {"id": 11}, "body": text} for key, text in host.comments.items()]
            return self.answer([] if later else others + mine)
        if path == "/projects/1/merge_requests/7/notes" and self.command == "POST":
            host.write("POST", path, self.body())
            return self.answer({"id": len(host.comments)}, 201)
        if (changed := re.fullmatch(r"/projects/1/merge_requests/7/notes/(\d+)", path)) and self.command == "PUT":
            host.write("PUT", path, self.body(), int(changed[1]))
            return self.answer({})
        return self.answer({"message": f"no {self.command} {self.path}"}, 404)

    do_GET = do_POST = do_PUT = _route  # noqa: N815


@contextmanager
def github(host: CodeHost, folder: Path) -> Iterator[dict[str, str]]:
    """The environment of a program that finds this repository at https://api.github.com."""
    authority = new_authority("code host")
    pair = issue(authority, "api.github.com", names=["api.github.com"])
    (folder / "authority.pem").write_bytes(authority.certificate)
    (folder / "host.pem").write_bytes(pair.certificate + pair.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "host.pem")
    handler = type("GitHub", (_GitHub,), {"host": host, "context": context})
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as server:
        yield {
            "HTTPS_PROXY": f"http://127.0.0.1:{server.server_port}",
            "SSL_CERT_FILE": str(folder / "authority.pem"),
        }


@contextmanager
def gitlab(host: CodeHost) -> Iterator[dict[str, str]]:
    """The variables of GitLab's for a job of project 1."""
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), type("GitLab", (_GitLab,), {"host": host}))) as server:
        yield {"CI_API_V4_URL": f"http://127.0.0.1:{server.server_port}/api/v4", "CI_PROJECT_ID": "1"}
