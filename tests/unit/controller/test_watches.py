"""The watch on a cluster: it survives ends of streams, lost versions, and kubeconfigs that cannot be read."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from hosted_mesh_controller.settings import Watch
from hosted_mesh_controller.watcher import clusters
from hosted_mesh_controller.watcher.clusters import ClusterWatch
from hosted_mesh_controller.watcher.names import HOSTED_MESH
from hosted_mesh_controller.watcher.reconciling import Change
from hosted_mesh_controller.watcher.status import Event

from tests.support.waiting import eventually

Config = dict[str, Any]
LIST = "/apis/hosted-mesh.io/v1alpha1/hostedmeshes"
SECRET = "the-watchers-own-token"


def resource(name: str, version: int) -> Config:
    return {"metadata": {"name": name, "uid": name, "generation": 1, "resourceVersion": str(version)}, "spec": {}}


class ApiServer(ThreadingHTTPServer):
    """Lists and watches as an API server; each watch ends after its lines."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.resources = [resource("shop", 1)]
        self.streams: list[list[Config]] = []
        self.requests: list[tuple[str, str, str]] = []
        self.bodies: list[Config] = []
        self.refuses = 0

    def paths(self, method: str) -> list[str]:
        return [path for found, path, _token in self.requests if found == method]


class Handler(BaseHTTPRequestHandler):
    server: ApiServer

    def do_GET(self) -> None:
        self._note()
        if self.server.refuses:
            self._send(self.server.refuses, {"code": self.server.refuses, "message": f"bad {SECRET}", "kind": "Status"})
        elif "watch=true" not in self.path:
            self._send(200, {"metadata": {"resourceVersion": "1"}, "items": self.server.resources})
        elif self.server.streams:
            lines = self.server.streams.pop(0)
            content = b"".join(json.dumps(one).encode() + b"\n" for one in lines)
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        else:
            self.send_response(200)
            self.end_headers()
            time.sleep(60)

    def do_PATCH(self) -> None:
        self._note()
        self.server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self._send(200, resource("shop", 9))

    def do_POST(self) -> None:
        self._note()
        self.server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self._send(201, self.server.bodies[-1])

    def log_message(self, *_: object) -> None:
        """Prints nothing."""

    def _note(self) -> None:
        self.server.requests.append((self.command, self.path, str(self.headers.get("Authorization"))))

    def _send(self, code: int, body: Config) -> None:
        content = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


class Recorder:
    """Stands for the reconciler: records the resources of each look, and returns one change."""

    def __init__(self) -> None:
        self.looks: list[set[str]] = []
        self.change: Callable[[Config], Change] | None = None
        self.returns: list[str] = []

    def returned(self, cluster: str) -> None:
        self.returns.append(cluster)

    def look(self, _cluster: str, resources: list[Config]) -> list[Change]:
        self.looks.append({one["metadata"]["name"] for one in resources})
        change, self.change = self.change, None
        return [change(resources[0])] if change else []


@pytest.fixture
def api() -> Iterator[ApiServer]:
    server = ApiServer()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


@pytest.fixture
def kubeconfig(api: ApiServer, tmp_path: Path) -> Path:
    cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{api.server_port}"}}
    user = {"name": "u", "user": {"token": SECRET}}
    context = {"name": "x", "context": {"cluster": "c", "user": "u"}}
    content = {"clusters": [cluster], "users": [user], "contexts": [context], "current-context": "x"}
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(content))
    return tmp_path / "kubeconfig"


@pytest.fixture
def started(kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Recorder]]:
    """Starts a watch."""
    monkeypatch.setattr(clusters, "LOOK", 0.05)
    monkeypatch.setattr(clusters, "_LONGEST_PAUSE", 0.1)
    with ExitStack() as stack:

        def start() -> Recorder:
            found: Any = Recorder()
            loop = asyncio.new_event_loop()
            watch = ClusterWatch(
                "north", Watch(kubeconfig=str(kubeconfig), tenant="acme", control_plane="hub"), HOSTED_MESH, found
            )
            task = loop.create_task(watch.run())
            ended = asyncio.gather(task, return_exceptions=True)
            thread = threading.Thread(target=lambda: loop.run_until_complete(ended))
            thread.start()
            stack.callback(thread.join, 20)
            stack.callback(loop.call_soon_threadsafe, task.cancel)
            recorder: Recorder = found
            return recorder

        yield start


def lists(api: ApiServer) -> int:
    return len([path for path in api.paths("GET") if "watch=true" not in path])


def test_changes_arrive_also_after_the_end_of_a_stream(api: ApiServer, started: Callable[[], Recorder]) -> None:
    api.streams += [
        [{"type": "ADDED", "object": resource("books", 2)}],
        [{"type": "DELETED", "object": resource("shop", 3)}],
    ]
    recorder = started()
    eventually(lambda: recorder.looks and recorder.looks[-1] == {"books"}, seconds=20)
    assert recorder.returns == []
    watches = [path for path in api.paths("GET") if "watch=true" in path]
    assert "resourceVersion=1&" in watches[0]
    assert "resourceVersion=2&" in watches[1]
    assert lists(api) == 1


def test_a_lost_version_makes_a_new_list(api: ApiServer, started: Callable[[], Recorder]) -> None:
    api.streams.append([{"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old"}}])
    started()
    eventually(lambda: lists(api) == 2, seconds=20)


def test_a_silent_watch_is_replaced(
    api: ApiServer, started: Callable[[], Recorder], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As after a lost connection: the watch here sends nothing. It is no error."""
    monkeypatch.setattr(clusters, "RESYNC", 0.3)
    with caplog.at_level(logging.INFO):
        recorder = started()
        eventually(lambda: recorder.looks, seconds=20)
        api.resources = [resource("later", 7)]
        eventually(lambda: recorder.looks[-1] == {"later"}, seconds=20)
    assert "watch interrupted" not in caplog.text


@pytest.mark.parametrize("code", [401, 403, 404, 503])
def test_a_refusal_is_temporary(
    code: int, api: ApiServer, started: Callable[[], Recorder], caplog: pytest.LogCaptureFixture
) -> None:
    api.refuses = code
    recorder = started()
    eventually(lambda: len(api.requests) > 3, seconds=20)
    assert recorder.returns == []
    api.refuses = 0
    api.resources = [resource("later", 7)]
    eventually(lambda: recorder.looks and recorder.looks[-1] == {"later"}, seconds=20)
    assert recorder.returns == ["north"]
    assert SECRET not in str([one.__dict__ for one in caplog.records if one.name.startswith("hosted_mesh")])


def test_a_new_token_is_read_after_an_error(api: ApiServer, started: Callable[[], Recorder], kubeconfig: Path) -> None:
    api.refuses = 401
    recorder = started()
    eventually(lambda: len(api.requests) >= 2, seconds=20)
    kubeconfig.write_text(kubeconfig.read_text().replace(SECRET, "a-new-token"))
    api.refuses = 0
    eventually(lambda: recorder.looks, seconds=20)
    assert api.requests[0][2] == f"Bearer {SECRET}"
    assert api.requests[-1][2] == "Bearer a-new-token"


def test_a_status_follows_its_events(api: ApiServer, started: Callable[[], Recorder]) -> None:
    """So a kill in between repeats an event, and loses none."""
    recorder = started()
    recorder.change = lambda found: Change(found, status={"state": "ready"}, events=(Event("Normal", "Ready", "m"),))
    eventually(lambda: api.paths("PATCH"), seconds=20)
    assert api.paths("POST") == ["/api/v1/namespaces/default/events"]
    assert api.bodies[0]["involvedObject"]["uid"] == "shop"
    assert api.bodies[1] == {"status": {"state": "ready"}}
    assert api.paths("PATCH") == [f"{LIST}/shop/status"]


def test_a_finalizer_has_the_version_that_was_seen(api: ApiServer, started: Callable[[], Recorder]) -> None:
    """So another writer's finalizer is not lost."""
    started().change = lambda found: Change(found, finalizers=("a",))
    eventually(lambda: api.bodies, seconds=20)
    assert api.bodies == [{"metadata": {"resourceVersion": "1", "finalizers": ["a"]}}]


def test_a_broken_kubeconfig_is_in_no_log(
    kubeconfig: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    whole = kubeconfig.read_text()
    for content in (f"users: [token: {SECRET}", "", "[]", whole.replace("current-context: x", "current-context: y")):
        kubeconfig.write_text(content)
        monkeypatch.setattr(clusters, "_LONGEST_PAUSE", 0.01)
        found: Any = Recorder()
        watch = ClusterWatch(
            "north", Watch(kubeconfig=str(kubeconfig), tenant="acme", control_plane="hub"), HOSTED_MESH, found
        )

        async def briefly(watch: ClusterWatch = watch) -> None:
            async with asyncio.timeout(0.2):
                await watch.run()

        with caplog.at_level(logging.INFO), pytest.raises(TimeoutError):
            asyncio.run(briefly())
    records = [one for one in caplog.records if one.message == "watch interrupted"]
    assert len(records) >= 4
    assert SECRET not in caplog.text + str([one.__dict__ for one in records])
