"""Intents by `kubectl apply` in the user's cluster, on the real engine and a real API server."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from hosted_mesh_controller.store import orders, tables
from hosted_mesh_controller.store.database import Database
from hosted_mesh_controller.store.orders import Key
from sqlalchemy import update

from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Sandbox
from sandbox.toolchain import Tools
from tests.engine.controller.service import Controller, ends, events
from tests.engine.library.engine import Api
from tests.support.ports import free_port
from tests.support.waiting import eventually

Config = dict[str, Any]
FORWARDER = Path(__file__).with_name("forwarder.py")
POLICIES = ("authorizationpolicies", "--all-namespaces")


@pytest.fixture
def istio(user: Api, tools: Tools) -> Iterator[None]:
    """Istio's definitions, and the namespaces of Bookinfo and of the mesh."""
    with user.with_istio(tools, "bookinfo", "mesh-shop"):
        yield


@pytest.fixture
def controller(
    tmp_path: Path, engine_sandbox: Sandbox, tools: Tools, documents: Config, installed: Path
) -> Iterator[Controller]:
    with running(tmp_path, engine_sandbox, tools, documents, installed, engine_sandbox.kubeconfig) as made:
        yield made


@contextmanager
def running(
    folder: Path, sandbox: Sandbox, tools: Tools, documents: Config, watcher: Path, kubeconfig: Path
) -> Iterator[Controller]:
    """A controller with a mesh `shop` that is ready. Its part here are its facts: no istiod is required."""
    clusters: Config = {
        name: {"kubeconfig": str(kubeconfig), "context": name, "side": name, "tenants": ["acme"]}
        for name in ("control-plane", "data-plane")
    }
    clusters["data-plane"]["watch"] = {"kubeconfig": str(watcher), "tenant": "acme", "controlPlane": "control-plane"}
    upkeep = {"everySeconds": None}
    made = Controller.make(folder / "controller", sandbox, tools, clusters=clusters, upkeep=upkeep)
    mesh = copy.deepcopy(documents)
    mesh["mesh"] |= {"name": "shop"}
    add_mesh(made.folder / "data/controller.sqlite", mesh)
    made.start()
    try:
        yield made
    finally:
        made.stop()


def add_mesh(file: Path, documents: Config) -> None:
    """A mesh as after its order."""
    database, key = Database(f"sqlite:///{file}"), Key("acme", "meshes", "shop")
    with database.writing() as connection:
        orders.save(connection, key, documents, [])
        ready = {"state": "ready", "ready_generation": 1}
        connection.execute(update(tables.objects).where(*tables.of_object(tables.objects, *key.parts)).values(ready))
    database.close()


def example() -> Config:
    """The resource of the documentation."""
    page = (CHECKOUT / "docs/controller.md").read_text()
    found = [yaml.safe_load(one) for one in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)]
    (resource,) = [one for one in found if isinstance(one, dict) and one.get("kind") == "TrafficIntents"]
    made: Config = resource
    return made


def apply(user: Api, folder: Path, resource: Config, *options: str) -> str:
    """Returns an error's text, or nothing."""
    (folder / "resource.json").write_text(json.dumps(resource))
    done = user.kubectl("apply", *options, "-f", str(folder / "resource.json"))
    return done.text if done.code else ""


def status(user: Api, name: str) -> Config:
    found: Config = user.get("trafficintents", name).get("status", {})
    return found


def changed(resource: Config, name: str, change: Config) -> Config:
    """The resource under another name, with changed fields of its first intent, or of its spec."""
    made = copy.deepcopy(resource)
    made["metadata"]["name"] = name
    for field, value in change.items():
        place = made["spec"] if field in ("mesh", "project", "clusters", "domain") else None
        target = made["spec"]["groups"][0]["intents"][0] if place is None else place
        target[field] = value
        if value is None:
            del target[field]
    return made


REFUSED: dict[str, tuple[Config, str]] = {
    "the mesh's name": ({"project": "other"}, "spec.project: Forbidden: is the name of the mesh"),
    "the mesh's clusters": ({"clusters": []}, "spec.clusters: Forbidden: follows from the mesh"),
    "outbound with a service": ({"type": "outbound"}, "an outbound intent has external"),
    "no callee": ({"service": None}, "this intent requires service"),
    "no clients": ({"clients": []}, "has no clients, so nobody may call"),
    "the service's name": ({"name": "reviews"}, "has the name of its service"),
    "weights": ({"weights": [{"version": "v1", "weight": 90}]}, "weights must add up to 100"),
    "a gateway": ({"gateway": "ingress"}, "gateway and certificate are for inbound"),
    "a client of both kinds": ({"clients": [{"service": "a", "host": "b.example"}]}, "requires either service or host"),
    "inbound without a domain": ({"type": "inbound", "clients": None}, "domain is required for an inbound intent"),
    "an unknown type": ({"type": "sideways"}, 'Unsupported value: "sideways"'),
    "a port": ({"service": {"name": "a", "namespace": "b", "port": 0}}, "should be greater than or equal to 1"),
}


@pytest.mark.usefixtures("clean", "istio")
def test_life_of_intents_by_custom_resources(
    controller: Controller, user: Api, tmp_path: Path, installed: Path
) -> None:
    """A kill in the middle of the order, a conflict of two resources, and the removal."""
    pages = example()
    wrong = [changed(pages, f"refused-{at}", change) for at, (change, _text) in enumerate(REFUSED.values())]
    answer = apply(user, tmp_path, {"apiVersion": "v1", "kind": "List", "items": wrong}, "--dry-run=server")
    for at, (reason, (_change, text)) in enumerate(REFUSED.items()):
        assert text in answer, reason
        assert f'"refused-{at}" is invalid' in answer, reason

    assert apply(user, tmp_path, pages) == ""
    client = controller.client()
    first = eventually(lambda: status(user, "pages").get("operation"))
    eventually(lambda: events(controller, first))
    controller.kill()
    controller.start()
    ready = user.kubectl("wait", "--for=condition=Ready", "trafficintents/pages", "--timeout=240s")
    assert ready.code == 0, ready.text + controller.log[-3000:]
    assert [(one.action, one.state) for one in client.operations()] == [("up", "succeeded")]
    assert ends(controller, first) == 1
    assert names(user) == {"shop-deny-all", "shop-page-reviews"}
    found = status(user, "pages")
    assert found["clusters"] == [{"name": "shop", "objects": 2}]
    assert "shop" in user.kubectl("get", "tintents", "pages").output
    assert "mesh cannot change" in apply(user, tmp_path, changed(pages, "pages", {"mesh": "other"}))

    books = changed(pages, "books", {"timeout": "3s"})
    assert apply(user, tmp_path, books) == ""
    problems = eventually(lambda: status(user, "books").get("problems", []))
    (problem,) = problems or []
    assert problem["field"] == "spec.groups[0].intents[0].name"
    assert "in TrafficIntents books and in TrafficIntents pages" in problem["rule"]
    assert len(list(client.operations())) == 1
    assert user.kubectl("auth", "can-i", "patch", "trafficintents", kubeconfig=installed).output.strip() == "yes"
    assert user.kubectl("auth", "can-i", "delete", "trafficintents", kubeconfig=installed).output.strip().endswith("no")

    def reasons() -> set[str]:
        return {one["reason"] for one in user.get("events", "-n", "default")["items"]}

    eventually(lambda: {"Ordered", "Compiled", "Ready", "Refused"} <= reasons(), "events of each step")

    gone = user.kubectl("delete", "trafficintents", "pages", "books", "--timeout=120s")
    assert gone.code == 0, gone.text + controller.log[-3000:]
    assert user.get(*POLICIES)["items"] == []
    assert list(client.objects("intents")) == []


class Line:
    """The way to the user's API server, which can be cut. port: of 127.0.0.1."""

    def __init__(self, port: int) -> None:
        self._target = str(port)
        self._process: subprocess.Popen[bytes] | None = None
        self.port = str(free_port())

    def through(self, kubeconfig: Path, made: Path) -> Path:
        """The kubeconfig with this way in place of the direct one."""
        text = kubeconfig.read_text().replace(f"https://127.0.0.1:{self._target}", f"https://127.0.0.1:{self.port}")
        assert self.port in text
        made.write_text(text)
        return made

    def connect(self) -> None:
        self._process = subprocess.Popen([sys.executable, FORWARDER, self.port, self._target])

    def cut(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None


@pytest.fixture
def line(engine_sandbox: Sandbox) -> Iterator[Line]:
    made = Line(engine_sandbox.data_plane.port)
    made.connect()
    yield made
    made.cut()


@pytest.mark.nightly
@pytest.mark.usefixtures("clean", "istio")
def test_an_edge_that_is_away(
    engine_sandbox: Sandbox, tools: Tools, documents: Config, installed: Path, user: Api, tmp_path: Path, line: Line
) -> None:
    """A failed order is repeated when the cluster is back. Of edits meanwhile it has the newest, by one order."""
    watcher = line.through(installed, tmp_path / "watcher-by-line")
    kubeconfig = line.through(engine_sandbox.kubeconfig, tmp_path / "kubeconfig-by-line")
    pages = example()
    with running(tmp_path, engine_sandbox, tools, documents, watcher, kubeconfig) as controller:
        client = controller.client()
        books = changed(pages, "books", {"name": "books-reviews"})
        assert apply(user, tmp_path, {"apiVersion": "v1", "kind": "List", "items": [pages, books]}) == ""
        ready = user.kubectl("wait", "--for=condition=Ready", "trafficintents", "--all", "--timeout=240s")
        assert ready.code == 0, ready.text + controller.log[-3000:]
        assert {"shop-page-reviews", "shop-books-reviews"} < names(user)
        before = len(list(client.operations()))

        # The order is placed, and its engine finds no cluster. Without the return it would rest for five minutes.
        assert apply(user, tmp_path, with_path(pages, "/second")) == ""
        eventually(lambda: len(list(client.operations())) == before + 1)
        line.cut()
        failed = client.wait(next(iter(client.operations())).id)
        assert failed.state == "failed", failed
        eventually(lambda: "watch interrupted" in controller.log)
        line.connect()
        eventually(lambda: paths(user) == ["/second"])
        eventually(lambda: status(user, "pages")["state"] == "ready")

        line.cut()
        for path in ("/third", "/fourth", "/fifth"):
            assert apply(user, tmp_path, with_path(pages, path)) == ""
        # Also a controller that starts meanwhile.
        controller.kill()
        controller.start()
        assert paths(user) == ["/second"]
        line.connect()
        eventually(lambda: paths(user) == ["/fifth"])
        eventually(lambda: status(user, "pages")["state"] == "ready")
        states = [str(one.state) for one in client.operations()][:-before]
        assert states == ["succeeded", "succeeded", "failed"]
        # The removal of one resource leaves the other's intents.
        deleted = user.kubectl("delete", "trafficintents", "books", "--timeout=240s")
        assert deleted.code == 0, deleted.text
        assert names(user) == {"shop-deny-all", "shop-page-reviews"}
        deleted = user.kubectl("delete", "trafficintents", "pages", "--timeout=240s")
        assert deleted.code == 0, deleted.text
        assert user.get(*POLICIES)["items"] == []


def names(user: Api) -> set[str]:
    return {one["metadata"]["name"] for one in user.get(*POLICIES)["items"]}


def with_path(resource: Config, path: str) -> Config:
    return changed(resource, "pages", {"access": [{"methods": ["GET"], "paths": [path]}]})


def paths(user: Api) -> list[str]:
    """The paths that the policy of the intent allows."""
    policy = user.get("authorizationpolicies", "shop-page-reviews", "-n", "bookinfo")
    (rule,) = policy["spec"]["rules"]
    found: list[str] = rule["to"][0]["operation"]["paths"]
    return found
