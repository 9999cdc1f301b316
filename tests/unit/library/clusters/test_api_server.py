"""A credential goes to a server whose certificate was verified, for the name that the kubeconfig says, or nowhere."""

from __future__ import annotations

import base64
import json
import socket
import ssl
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from pulumi_hosted_mesh.clusters import api_server
from pulumi_hosted_mesh.clusters.api_server import (
    WHOLE_SECONDS,
    ApiServer,
    OutdatedError,
    RefusedError,
    UnauthorizedError,
    UnreachableError,
    kube_system_uid,
)
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig, minimal

from sandbox.clusters.credentials.certificates import Pair, issue, new_authority
from tests.support.serving import HttpsServer
from tests.support.serving import serving as running

TOKEN = "t0ken-t0ken-t0ken"
NAME = "api.provider.example.com"
AUTHORITY = new_authority("company")
KUBE_SYSTEM = "/api/v1/namespaces/kube-system"


class Server(HttpsServer):
    """An HTTPS server on 127.0.0.1 that keeps what reaches it: path and credential of each request."""

    def __init__(
        self,
        pair: Pair,
        directory: Path,
        status: int = 200,
        headers: dict[str, str] | None = None,
        body: str = '{"metadata": {"name": "kube-system", "uid": "the-uid"}}',
    ) -> None:
        super().__init__(pair, directory, Handler)
        self.received: list[tuple[str, str | None]] = []
        self.status, self.headers, self.body = status, headers or {}, body


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.received.append((self.path, self.headers.get("Authorization")))
        body = self.server.body.encode()
        self.send_response(self.server.status)
        for name, value in {"Content-Length": str(len(body)), **self.server.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        pass


def serving(directory: Path, *names: str, authority: Pair = AUTHORITY, **how: Any) -> AbstractContextManager[Server]:
    """A server with a certificate for these names."""
    return running(Server(issue(authority, "server", names=names), directory, **how))


def config(server: str, user: Any = None, **cluster: Any) -> Kubeconfig:
    authority = AUTHORITY.certificate.decode()
    entry = {"server": server, "certificate-authority-data": base64.b64encode(AUTHORITY.certificate).decode()}
    return Kubeconfig("c", server, authority, minimal("c", entry | cluster, user or {"token": TOKEN}))


def test_the_name_that_the_kubeconfig_says_is_the_one_expected(tmp_path: Path) -> None:
    with serving(tmp_path, NAME) as server:
        assert kube_system_uid(config(server.address, **{"tls-server-name": NAME})) == "the-uid"
        assert server.received == [(KUBE_SYSTEM, f"Bearer {TOKEN}")]


def test_an_authority_with_a_comment(tmp_path: Path) -> None:
    with serving(tmp_path, "127.0.0.1") as server:
        plain = config(server.address)
        commented = Kubeconfig("c", server.address, f"# für alle\n{plain.certificate_authority}", plain.text)
        assert kube_system_uid(commented) == "the-uid"


def test_a_path_before_the_api(tmp_path: Path) -> None:
    with serving(tmp_path, "127.0.0.1") as server:
        assert kube_system_uid(config(f"{server.address}/clusters/c-1")) == "the-uid"
        assert server.received == [(f"/clusters/c-1{KUBE_SYSTEM}", f"Bearer {TOKEN}")]


UNVERIFIED: list[tuple[str, str, Pair, dict[str, Any], str]] = [
    ("another name than tls-server-name", "other.example.com", AUTHORITY, {"tls-server-name": NAME}, "is rejected"),
    ("the address, but another tls-server-name", "127.0.0.1", AUTHORITY, {"tls-server-name": NAME}, "is rejected"),
    ("another name than the address", NAME, AUTHORITY, {}, "is rejected"),
    ("another authority", "127.0.0.1", new_authority("stranger"), {}, "is rejected"),
    ("any, by insecure-skip-tls-verify", NAME, AUTHORITY, {"insecure-skip-tls-verify": True}, "insecure-skip"),
]


@pytest.mark.parametrize(
    ("name", "authority", "cluster", "words"), [pytest.param(*rest, id=case) for case, *rest in UNVERIFIED]
)
def test_no_credential_reaches_an_unverified_server(
    tmp_path: Path, name: str, authority: Pair, cluster: dict[str, Any], words: str
) -> None:
    with serving(tmp_path, name, authority=authority) as server:
        with pytest.raises(UnreachableError, match=words) as caught:
            ApiServer(config(server.address, **cluster)).get(KUBE_SYSTEM)
        assert kube_system_uid(config(server.address, **cluster)) is None
        assert server.received == []
    assert TOKEN not in str(caught.value)


def test_a_redirection_is_not_followed(tmp_path: Path) -> None:
    with serving(tmp_path, "127.0.0.1") as elsewhere:
        location = {"Location": f"{elsewhere.address}/"}
        with (
            serving(tmp_path, "127.0.0.1", status=302, headers=location) as server,
            pytest.raises(UnreachableError, match="answered 302"),
        ):
            ApiServer(config(server.address)).get(KUBE_SYSTEM)
        assert elsewhere.received == []


@pytest.mark.parametrize(
    "body", ["", "<html>log in</html>", "[]", "7", "null", "{}", '{"items": 5}', '{"items": [1]}', '{"items": [{}]}']
)
def test_what_is_no_api_server_is_told(tmp_path: Path, body: str) -> None:
    with serving(tmp_path, "127.0.0.1", body=body) as server:
        with pytest.raises(UnreachableError, match="no API server") as caught:
            list(ApiServer(config(server.address)).list("/api/v1/namespaces"))
        assert server.address.removeprefix("https://") in str(caught.value)


MISSHAPEN = [
    ("metadata", {"metadata": "s3cr3t"}),
    ("metadata.name", {"metadata": {"name": {"s3cr3t": 1}}}),
    ("metadata.name", {"metadata": {}}),
    ("metadata.labels", {"metadata": {"name": "a", "labels": ["s3cr3t"]}}),
    ("metadata.annotations", {"metadata": {"name": "a", "annotations": {"a": 1}}}),
    ("spec", {"metadata": {"name": "a"}, "spec": "s3cr3t"}),
    ("status", {"metadata": {"name": "a"}, "status": [1]}),
]


@pytest.mark.parametrize(("part", "found"), [pytest.param(*case, id=case[0]) for case in MISSHAPEN])
def test_an_object_that_cannot_be_read_is_told_by_where_it_is_from(
    tmp_path: Path, part: str, found: dict[str, Any]
) -> None:
    with serving(tmp_path, "127.0.0.1") as server:
        api, where = ApiServer(config(server.address)), server.address.removeprefix("https://")
        for path, body, ask in (
            (KUBE_SYSTEM, found, api.get),
            ("/api/v1/pods", {"items": [{"metadata": {"name": "whole"}}, found]}, lambda path: list(api.list(path))),
        ):
            server.body = json.dumps(body)
            with pytest.raises(UnreachableError) as caught:
                ask(f"{path}?labelSelector=a")
            assert str(caught.value) == (
                f"the API server at {where} answered {path} with an object with unreadable {part}. "
                "Is it one of Kubernetes?"
            )
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize("body", ["{}", "[]", '{"metadata": {"name": "a"}}', '{"metadata": 5}'])
def test_a_cluster_that_does_not_say_its_uid_has_none(tmp_path: Path, body: str) -> None:
    with serving(tmp_path, "127.0.0.1", body=body) as server:
        assert kube_system_uid(config(server.address)) is None


def test_a_list_without_objects_is_empty(tmp_path: Path) -> None:
    with serving(tmp_path, "127.0.0.1", body='{"items": null}') as server:
        assert list(ApiServer(config(server.address)).list("/api/v1/namespaces")) == []


def test_a_list_whose_pages_never_end_ends(tmp_path: Path) -> None:
    class Repeating(Handler):
        def do_GET(self) -> None:
            self.server.status = 200 if len(self.server.received) < 9 else 500
            super().do_GET()

    with serving(tmp_path, "127.0.0.1", body='{"items": [], "metadata": {"continue": "on"}}') as server:
        server.RequestHandlerClass = Repeating
        with pytest.raises(UnreachableError, match="no API server"):
            list(ApiServer(config(server.address)).list("/api/v1/namespaces"))


def test_a_snapshot_has_the_version_from_which_a_watch_goes_on(tmp_path: Path) -> None:
    body = '{"items": [{"metadata": {"name": "a"}}], "metadata": {"resourceVersion": "41"}}'
    with serving(tmp_path, "127.0.0.1", body=body) as server:
        found, version = ApiServer(config(server.address)).snapshot("/api/v1/pods?labelSelector=a%3Db")
    assert ([one["metadata"]["name"] for one in found], version) == (["a"], "41")
    with serving(tmp_path, "127.0.0.1", status=404) as server:
        assert ApiServer(config(server.address)).snapshot("/apis/a.example.com/v1/as") == ([], None)


def event(kind: str, **content: Any) -> str:
    return json.dumps({"type": kind, "object": content})


def test_a_watch_tells_each_change_until_the_server_ends_it(tmp_path: Path) -> None:
    events = [event(kind, metadata={"name": "a"}) for kind in ("ADDED", "MODIFIED", "DELETED")]
    with serving(tmp_path, "127.0.0.1", body="\n".join([*events, ""])) as server:
        found = list(ApiServer(config(server.address)).watch("/api/v1/pods?labelSelector=a%3Db", "41", 90))
    assert found == [(kind, {"metadata": {"name": "a"}}) for kind in ("ADDED", "MODIFIED", "DELETED")]
    ((path, credential),) = server.received
    assert path.startswith("/api/v1/pods?labelSelector=a%3Db&watch=1&")
    assert path.endswith("&timeoutSeconds=90&resourceVersion=41")
    assert credential == f"Bearer {TOKEN}"


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (410, '{"code": 410}', OutdatedError),
        (404, "{}", OutdatedError),
        (200, event("ERROR", code=410, metadata={}) + "\n", OutdatedError),
        (200, event("ERROR", code=500, message="etcd is away", metadata={}) + "\n", UnreachableError),
        (200, "<html>\n", UnreachableError),
        (403, '{"message": "may not watch"}', RefusedError),
        (401, "{}", UnauthorizedError),
    ],
)
def test_a_watch_that_fails_says_whether_to_list_again(
    tmp_path: Path, status: int, body: str, kind: type[Exception]
) -> None:
    with serving(tmp_path, "127.0.0.1", status=status, body=body) as server:
        with pytest.raises(UnreachableError) as caught:
            list(ApiServer(config(server.address)).watch("/api/v1/pods", "41", 90))
        assert type(caught.value) is kind


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (401, UnauthorizedError, "is expired, or is another cluster's. Log in again"),
        (403, RefusedError, r"may not list\\x1b\[2J$"),
        (500, UnreachableError, "answered 500$"),
    ],
)
def test_a_refusal_says_why(tmp_path: Path, status: int, kind: type[Exception], words: str) -> None:
    with serving(tmp_path, "127.0.0.1", status=status, body='{"message": "may not list\\u001b[2J"}') as server:
        with pytest.raises(UnreachableError, match=words) as caught:
            ApiServer(config(server.address)).get(KUBE_SYSTEM)
        assert type(caught.value) is kind
        assert f"{server.address.removeprefix('https://')} answered {status}" in str(caught.value)


def test_silence_says_where_and_why() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    for address, words in (
        (f"https://operator:{TOKEN}@127.0.0.1:{port}", f"does not answer at 127.0.0.1:{port}: connection refused"),
        ("https://nowhere..invalid", "does not answer at nowhere..invalid:443: this machine does not resolve the name"),
    ):
        with pytest.raises(UnreachableError, match=words) as caught:
            ApiServer(config(address)).get(KUBE_SYSTEM)
        assert TOKEN not in str(caught.value)


def test_who_accepts_and_never_answers_is_left() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(UnreachableError, match=f"does not answer at {address}: no byte within"):
            ApiServer(config(f"https://{address}")).text(KUBE_SYSTEM, seconds=0.05)


@pytest.mark.parametrize("part", ["head", "body"])
def test_an_answer_that_drips_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    now = 0.0
    monkeypatch.setattr(api_server, "monotonic", lambda: now)

    class Dripping(Handler):
        def do_GET(self) -> None:
            nonlocal now
            begun = "HTTP/1.1 200 OK\r\n" + ("X-Long: " if part == "head" else "Content-Length: 1000\r\n\r\n")
            self.wfile.write(begun.encode())
            for _ in range(int(WHOLE_SECONDS)):
                now += 1.0
                self.wfile.write(b" ")
            self.connection.recv(1)  # until the caller has gone

    with serving(tmp_path, "127.0.0.1") as server:
        server.RequestHandlerClass = Dripping
        with pytest.raises(UnreachableError, match="its answer was not complete after 30 s"):
            ApiServer(config(server.address)).get(KUBE_SYSTEM)


@pytest.mark.parametrize(
    ("token", "words"),
    [
        (f"{TOKEN}\n{TOKEN}", "invalid characters"),
        (f"{TOKEN}\u00fc", "invalid characters"),
        (None, "neither a token"),
    ],
    ids=["line break", "umlaut", "none"],
)
def test_what_cannot_be_a_token_is_told(token: str | None, words: str) -> None:
    with pytest.raises(UnreachableError, match=words) as caught:
        ApiServer(config("https://127.0.0.1:1", {"token": token}))
    assert TOKEN not in str(caught.value)


def test_what_is_not_there(tmp_path: Path) -> None:
    with serving(tmp_path, "127.0.0.1", status=404) as server:
        assert ApiServer(config(server.address)).get(KUBE_SYSTEM) is None


def test_a_client_certificate_alone_will_do(tmp_path: Path) -> None:
    pair = issue(AUTHORITY, "admin")
    user = {
        "client-certificate-data": base64.b64encode(pair.certificate).decode(),
        "client-key-data": base64.b64encode(pair.key).decode(),
    }
    with serving(tmp_path, "127.0.0.1") as server:
        server.tls.load_verify_locations(cadata=AUTHORITY.certificate.decode())
        server.tls.verify_mode = ssl.CERT_REQUIRED
        found = Kubeconfig("c", server.address, AUTHORITY.certificate.decode(), minimal("c", {}, user))
        assert kube_system_uid(found) == "the-uid"
        with pytest.raises(UnreachableError):
            ApiServer(config(server.address)).get(KUBE_SYSTEM)
