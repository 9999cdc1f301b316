"""The loop that waits: it ends when the object is ready or gone, when the time is over, or when all is cancelled."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.plugins.kubernetes.api_server.client import ApiError, Client
from sandbox.plugins.kubernetes.api_server.discovery import Discovery
from sandbox.plugins.kubernetes.api_server.kubeconfig import access, parse
from sandbox.plugins.kubernetes.readiness import waiting as module
from sandbox.plugins.kubernetes.readiness.simple import SERVICE, asked_for
from sandbox.plugins.kubernetes.readiness.waiting import NotReady, Waiting
from tests.unit.plugins.api_server import ApiServer, Object, api_server

PATH = "/api/v1/namespaces/n/services/front"
ENDPOINTS = "/api/v1/namespaces/n/endpoints"
ADDRESS = asked_for("jsonpath={.status.loadBalancer.ingress}")
BUSY = {"code": 503, "message": "busy"}


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with api_server() as server:
        server.has_kind("v1", "Service", "services")
        server.has_kind("v1", "Endpoints", "endpoints")
        yield server


@pytest.fixture
def waiting(server: ApiServer) -> Waiting:
    client = Client(access(parse(server.kubeconfig)))
    return Waiting(client, Discovery(client), threading.Event())


def _service(uid: str = "1", *, address: str = "", **metadata: Any) -> Object:
    ingress = {"ingress": [{"ip": address}]} if address else {}
    spec = {"type": "LoadBalancer", "clusterIP": "10.0.0.1", "selector": {"app": "front"}}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "front", "namespace": "n", "uid": uid, **metadata},
        "spec": spec,
        "status": {"loadBalancer": ingress},
    }


def _endpoints(version: str, kind: str = "addresses") -> Object:
    subsets = [{kind: [{"ip": "10.0.0.2"}]}]
    return {"items": [{"metadata": {"name": "front", "resourceVersion": version}, "subsets": subsets}]}


def test_a_wait_ends_when_the_object_is_ready(server: ApiServer, waiting: Waiting) -> None:
    told: list[str] = []
    server.answers[PATH] = [_service(), _service(), _service(address="192.0.2.1")]
    live = waiting.until_ready(ADDRESS, _service(), seconds=60, note=told.append)
    assert live["status"]["loadBalancer"]["ingress"] == [{"ip": "192.0.2.1"}]
    assert told == ["Waiting for jsonpath={.status.loadBalancer.ingress}"]
    assert server.asked.count(PATH) == 3


def test_an_api_server_that_is_away_for_a_moment_ends_no_wait(server: ApiServer, waiting: Waiting) -> None:
    server.answers[PATH] = [_service(), BUSY, _service(address="192.0.2.1")]
    assert waiting.until_ready(ADDRESS, _service(), seconds=60, note=lambda _: None)
    server.answers[PATH] = [_service(), BUSY, None]
    waiting.until_gone(_service(), seconds=60, note=lambda _: None)


def test_a_server_that_is_busy_is_asked_again_and_another_error_is_told(server: ApiServer, waiting: Waiting) -> None:
    busy, failed = ({"code": code, "message": str(code)} for code in (429, 500))
    server.answers = {"/busy": [busy, busy, {"done": True}], "/always": busy, "/failed": failed}
    assert waiting.client.request("GET", "/busy") == {"done": True}
    for path, code in (("/always", 429), ("/failed", 500)):
        with pytest.raises(ApiError, match=str(code)):
            waiting.client.request("GET", path)
    assert [server.asked.count(path) for path in ("/busy", "/always", "/failed")] == [3, 10, 1]


def test_a_wait_that_takes_too_long_says_why(server: ApiServer, waiting: Waiting) -> None:
    server.answers |= {PATH: _service(), ENDPOINTS: {"items": []}}
    with pytest.raises(NotReady, match="'front' timed out") as failure:
        waiting.until_ready(SERVICE, _service(), seconds=0.2, note=lambda _: None)
    assert failure.value.live == _service()
    assert any("not allocated an IP address" in reason for reason in failure.value.reasons)


def test_a_cancelled_wait_ends_at_once(server: ApiServer, waiting: Waiting) -> None:
    server.answers[PATH] = _service(finalizers=["kept.test/here"])
    threading.Timer(0.2, waiting.cancelled.set).start()
    began = time.monotonic()
    with pytest.raises(NotReady, match="context canceled") as failure:
        waiting.until_gone(_service(), seconds=60, note=lambda _: None)
    assert "kept.test/here" in failure.value.reasons[0]
    with pytest.raises(NotReady, match="cancelled"):
        waiting.until_ready(ADDRESS, _service(), seconds=60, note=lambda _: None)
    assert time.monotonic() - began < 10


def test_endpoints_have_to_be_quiet(server: ApiServer, waiting: Waiting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SETTLE_SECONDS", 0.5)
    server.answers |= {
        PATH: _service(address="192.0.2.1"),
        ENDPOINTS: [_endpoints("1", "notReadyAddresses"), _endpoints("2")],
    }
    began = time.monotonic()
    waiting.until_ready(SERVICE, _service(), seconds=60, note=lambda _: None)
    assert time.monotonic() - began > 0.5


def test_another_object_of_the_name_is_not_waited_for(server: ApiServer, waiting: Waiting) -> None:
    server.answers[PATH] = [_service("1"), _service("2")]
    waiting.until_gone(_service("1"), seconds=60, note=lambda _: None)


def test_a_refresh_judges_what_there_is_now(server: ApiServer, waiting: Waiting) -> None:
    server.answers[ENDPOINTS] = _endpoints("1", "notReadyAddresses")
    assert not waiting.judge_now(SERVICE, _service(address="192.0.2.1")).done
    server.answers[ENDPOINTS] = _endpoints("2")
    assert waiting.judge_now(SERVICE, _service(address="192.0.2.1")).done
