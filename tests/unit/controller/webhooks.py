"""Calls of the controller's webhooks, for tests."""

from __future__ import annotations

import copy
from typing import Any

from hosted_mesh_controller.store.tokens import create_token
from hosted_mesh_controller.vocabulary import Role

from tests.unit.controller.service import CLUSTERS, Service

Config = dict[str, Any]
WATCHED: Config = copy.deepcopy(CLUSTERS)
for _name, _tenant in (("north", "acme"), ("south", "other")):
    WATCHED[_name]["watch"] = {"kubeconfig": "/mounted/watcher", "tenant": _tenant, "controlPlane": "hub"}
TENANTS: Config = {"acme": {"domains": ["acme.example"]}, "other": {}}


class Webhooks:
    """Calls as an API server sends them."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.identifier, self.key = create_token(service.database, Role.ADMISSION, "acme")

    def call(self, act: str, spec: Any, *, cluster: str = "north", key: str | None = None, **more: Any) -> Any:
        body = {"uid": "u", "object": {"metadata": {"name": "shop"}, "spec": spec}, **more}
        path = f"/admission/{key or self.key}/{cluster}/{act}"
        return self.service.call(None, "POST", path, {"kind": "AdmissionReview", "request": body})

    def answer(self, act: str, spec: Any, **more: Any) -> Config:
        found = self.call(act, spec, **more)
        assert found.status_code == 200, found.text
        response: Config = found.json()["response"]
        assert response["uid"] == "u"
        return response
