"""A runner that stops: it waits for operations that have just begun too, and records no end of them."""

from __future__ import annotations

import sys
import threading
import time

import pytest
from hosted_mesh_controller.store import orders
from hosted_mesh_controller.work.runner import Runner

from tests.support.waiting import eventually
from tests.unit.controller.service import Service, documents

WORKS_UNTIL_THE_END_OF_INPUT = "import sys; sys.stdin.read()"


def test_stop_waits_for_an_operation_that_begins(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    begins, goes_on = threading.Event(), threading.Event()
    start = orders.start

    def slow(*given: object) -> object:
        begins.set()
        assert goes_on.wait(30)
        return start(*given)

    monkeypatch.setattr(orders, "start", slow)
    identifier = service.ordered("acme", "meshes", documents("meshes", "acme"))["id"]
    command = [sys.executable, "-S", "-c", WORKS_UNTIL_THE_END_OF_INPUT]
    runner = Runner(service.settings, service.database, command)
    threading.Thread(target=runner.run, args=[identifier], daemon=True).start()
    assert begins.wait(30)
    stops = threading.Thread(target=runner.stop, daemon=True)
    stops.start()
    time.sleep(0.5)
    assert stops.is_alive()
    goes_on.set()
    eventually(lambda: not stops.is_alive(), seconds=30)
    # As it was for another executor: neither failed nor cancelled.
    found = service.call("acme", "GET", f"/v1/tenants/acme/operations/{identifier}").json()
    assert found["state"] == "running"
