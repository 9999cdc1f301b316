"""Exported Services under a real controller: two ordered meshes follow a label, on a real API server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hosted_mesh_controller.client import Client

from sandbox.clusters import Sandbox
from sandbox.toolchain import Tools
from tests.engine.controller.service import Controller
from tests.engine.library.engine import Api
from tests.support.waiting import eventually

Config = dict[str, Any]
BOOKS = "federation-books"
HOST = f"one.{BOOKS}.shops.example.com"
EXPORT = {"namespace": BOOKS, "labels": {"export": "yes"}, "to": [{"mesh": "east", "identities": ["books/page"]}]}
FEDERATION = {
    "name": "shops",
    "domain": "shops.example.com",
    "peers": [
        {
            "mesh": "east",
            "gateway": {"address": "eastwest.east.example.com"},
            "imports": [{"meshes": ["west"], "namespace": BOOKS}],
        },
        {"mesh": "west", "gateway": {"address": "192.0.2.7"}, "exports": [EXPORT]},
    ],
}


@pytest.mark.usefixtures("clean")
def test_a_label_is_followed_by_exporter_and_importer(
    tmp_path: Path, engine_sandbox: Sandbox, tools: Tools, user: Api
) -> None:
    with user.with_istio(tools, "mesh-east", "mesh-west", BOOKS):
        assert user.kubectl("create", "service", "clusterip", "one", "-n", BOOKS, "--tcp=80:8080").code == 0
        speaks_http = '--patch=[{"op": "add", "path": "/spec/ports/0/appProtocol", "value": "http"}]'
        assert user.kubectl("patch", "service", "one", "-n", BOOKS, "--type=json", speaks_http).code == 0
        every = {"offers": {"everySeconds": 5}, "upkeep": {"everySeconds": None}}
        controller = Controller.make(tmp_path / "controller", engine_sandbox, tools, **every)
        controller.start()
        try:
            client = controller.client()
            for mesh in ("west", "east"):
                member = {"mesh": mesh, "cluster": {"kubeconfig": "data-plane"}}
                made = client.wait(client.order("federations", {"federation": FEDERATION, "member": member}).id)
                assert made.state == "succeeded", made.error
            assert imported(user) == exported(user) == []
            assert client.show("federations", "shops-east").outputs["hosts"] == []

            assert user.kubectl("label", "service", "one", "-n", BOOKS, "export=yes").code == 0
            eventually(lambda: hosts(client) == [HOST])
            assert imported(user) == exported(user) == [f"shops-{HOST}"]
            came = followed(client)
            assert came["shops-west"].ended <= came["shops-east"].started

            assert user.kubectl("label", "service", "one", "-n", BOOKS, "export-").code == 0
            eventually(lambda: exported(user) == [])
            assert imported(user) == []
            eventually(lambda: followed(client)["shops-west"].id != came["shops-west"].id)
            went = followed(client)
            assert went["shops-east"].ended <= went["shops-west"].started

            for mesh in ("east", "west"):
                gone = client.wait(client.delete("federations", f"shops-{mesh}", etag='"1"').id)
                assert gone.state == "succeeded", gone.error
        finally:
            controller.stop()


def hosts(client: Client) -> Any:
    return client.show("federations", "shops-east").outputs["hosts"]


def followed(client: Client) -> dict[str, Any]:
    """The last successful run that followed, by object. Times are of RFC 3339, so they compare as text."""
    done = [one for one in client.operations() if one.action == "follow" and one.state == "succeeded"]
    return {one.name: one for one in done}


def imported(user: Api) -> list[str]:
    return names(user, "serviceentries", "mesh-east")


def exported(user: Api) -> list[str]:
    return names(user, "virtualservices", "mesh-west")


def names(user: Api, kind: str, namespace: str) -> list[str]:
    return sorted(one["metadata"]["name"] for one in user.get(kind, "-n", namespace)["items"])
