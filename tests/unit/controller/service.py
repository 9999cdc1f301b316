"""The application without engine and network: a database in a file, and a queue that only records."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from fastapi import FastAPI
from hosted_mesh_controller.api.app import application
from hosted_mesh_controller.documents import KINDS
from hosted_mesh_controller.settings import Settings
from hosted_mesh_controller.store import orders
from hosted_mesh_controller.store.database import Database
from hosted_mesh_controller.store.orders import Key, Outcome
from hosted_mesh_controller.store.tokens import create_token
from hosted_mesh_controller.vocabulary import Role, State
from starlette.testclient import TestClient

from sandbox.bootstrap import CHECKOUT

Config = dict[str, Any]
EXAMPLES = CHECKOUT / "stacks"
HOLDERS = {
    "provider": (Role.PROVIDER, None),
    "acme": (Role.TENANT, "acme"),
    "acme-reader": (Role.READER, "acme"),
    "other": (Role.TENANT, "other"),
}
CLUSTERS = {
    "hub": {"kubeconfig": "/mounted/hub", "side": "control-plane", "tenants": ["*"]},
    "north": {"kubeconfig": "/mounted/north", "context": "n", "side": "data-plane", "tenants": ["acme"]},
    "south": {"kubeconfig": "/mounted/south", "side": "data-plane", "tenants": ["other"]},
}
OF_A_MESH = ("intents", "federations")
"""Kinds whose orders require a mesh of the tenant's."""
OWN_CLUSTER = {"acme": "north", "other": "south"}


@dataclass
class RecordingQueue:
    """Records the operations that it gets."""

    database: Database
    added: list[str] = field(default_factory=list)

    def add(self, identifier: str, tag: int) -> None:
        assert tag >= 0
        self.added.append(identifier)

    def released(self, stack: str) -> None:
        if found := orders.queue_next(self.database, stack):
            self.add(*found)


@dataclass
class Service:
    """The application and its parts."""

    settings: Settings
    database: Database
    queue: RecordingQueue
    app: FastAPI
    tokens: dict[str, str]
    http: TestClient
    names: dict[str, str] = field(default_factory=dict)
    """Names of objects that a fixture has ordered, by kind."""

    @classmethod
    def make(cls, folder: Path, **more: Any) -> Service:
        given = {"data": str(folder / "data"), "program": str(CHECKOUT), "passphraseFile": str(folder / "passphrase")}
        tenants: Config = {"acme": {}, "other": {}}
        settings = Settings.model_validate(
            {**given, "clusters": CLUSTERS, "tenants": tenants, "requestsPerSecond": 1000, **more}
        )
        database = Database(settings.database_url)
        queue = RecordingQueue(database)
        app = application(settings, database, queue)
        tokens = {name: create_token(database, role, tenant)[1] for name, (role, tenant) in HOLDERS.items()}
        return cls(settings, database, queue, app, tokens, TestClient(app, raise_server_exceptions=False))

    def call(self, holder: str | None, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """A request. headers: with underscores."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if holder:
            sent["Authorization"] = f"Bearer {self.tokens[holder]}"
        return self.http.request(method, path, headers=sent, **({} if body is None else {"json": body}))

    def ordered(self, holder: str, kind: str, body: Any, **headers: str) -> Config:
        """An accepted order's operation. holder: a tenant."""
        by = holder if Role.TENANT in KINDS[kind].ordered_by else "provider"
        if kind in OF_A_MESH:
            self.give_mesh(holder, f"{holder}-mesh" if kind == "intents" else "east")
        answer = self.call(by, "POST", f"/v1/tenants/{holder}/{kind}", body, **headers)
        assert answer.status_code == 202, answer.text
        operation: Config = answer.json()
        return operation

    def give_mesh(self, tenant: str, name: str) -> None:
        """A mesh of a tenant, as after its order; nothing if the tenant has ordered it."""
        key = Key(tenant, "meshes", name)
        with self.database.writing() as connection:
            if orders.find(connection, key) is None:
                orders.save(connection, key, documents("meshes", tenant, name), [])

    def end(self, identifier: str, state: State = State.SUCCEEDED, **result: Any) -> None:
        """Carries an operation out."""
        row = orders.start(self.database, identifier)
        assert row is not None
        assert orders.finish(self.database, identifier, Outcome(state, result))
        self.queue.released(row.stack)


def documents(kind: str, tenant: str, name: str | None = None) -> Config:
    """An order of a tenant, from the examples of the stacks, with clusters by name."""
    found = copy.deepcopy(_examples()[kind])
    own = {"kubeconfig": OWN_CLUSTER[tenant]}
    if kind == "meshes":
        found["mesh"]["name"] = name or f"{tenant}-mesh"
        if name or tenant != "acme":
            found["mesh"]["revisions"][0]["host"] = f"istiod.{name or tenant}.example.com"
        found["mesh"]["memberships"][0]["cluster"] = own
    elif kind == "federations":
        found["member"]["cluster"] = own
        found["federation"]["name"] = name or "shops"
    elif kind == "dns-edges":
        found["dnsEdge"]["cluster"] = own
    elif kind == "intents":
        found["target"]["cluster"] = own
        found["inventory"]["clusters"][0]["mesh"] = f"{tenant}-mesh"
    elif kind == "operators":
        found["operators"] |= {"controlPlane": {"kubeconfig": "hub"}, "dataPlane": own}
        found["operators"]["operators"]["name"] = name or tenant
    elif kind == "observability":
        found["observability"] |= {"controlPlane": {"kubeconfig": "hub"}, "dataPlane": own}
        found["observability"]["observability"]["mesh"] = name or f"{tenant}-mesh"
        found["observability"]["observability"]["collector"]["serverSecret"] = "collector-tls"
    return found


@cache
def _examples() -> dict[str, Config]:
    mesh = yaml.safe_load((EXAMPLES / "example.mesh.yaml").read_text())
    mesh["controlPlane"]["cluster"] = {"kubeconfig": "hub"}
    del mesh["revisions"][0]["charts"]
    found = {"meshes": {"mesh": mesh}}
    for kind in KINDS.values():
        if kind.name in found:
            continue
        config = yaml.safe_load((EXAMPLES / f"Pulumi.{kind.stack}.yaml").read_text())["config"]
        found[kind.name] = {key: _read(config[f"hosted-mesh:{key}"]) for key in kind.documents if key != "offers"}
    found["dns"]["dns"]["cluster"] = {"kubeconfig": "hub"}
    return found


def _read(value: Any) -> Any:
    return yaml.safe_load((EXAMPLES / value).read_text()) if isinstance(value, str) else value
