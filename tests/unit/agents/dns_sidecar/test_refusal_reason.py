"""The reason of a provider's refusal, as an edge's users read it: without addresses."""

from __future__ import annotations

import http.client
import socket

import pytest

from agents.dns_sidecar.refusal_reason import NOT_RUNNING, REJECTED, UNREACHABLE, RefusalReason, metrics_of

COUNTED = 'external_dns_http_request_duration_seconds_count{{handler="instrumented_http",host="api",status="{}"}} {}\n'


def test_a_container_that_does_not_respond() -> None:
    assert RefusalReason([], lambda: "").why(responded=False) == NOT_RUNNING


def test_a_server_of_the_document_is_tried() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = listening.getsockname()[:2]
        assert RefusalReason([server], lambda: "").why(responded=True) == REJECTED
    assert RefusalReason([server], lambda: "").why(responded=True) == UNREACHABLE


def test_the_status_of_an_api_is_the_latest_one() -> None:
    pages = [
        COUNTED.format("200", 4) + COUNTED.format("403", 1),
        COUNTED.format("200", 5) + COUNTED.format("403", 1) + COUNTED.format("429", 2),
        COUNTED.format("200", 5) + COUNTED.format("403", 1) + COUNTED.format("429", 2),
        COUNTED.format("", 1) + COUNTED.format("403", 1) + COUNTED.format("429", 2),
    ]
    reason = RefusalReason([], lambda: pages.pop(0))
    said = [reason.why(responded=True) for _ in range(4)]
    assert said == ["its API responded 403", "its API responded 429", "", "its API is not reachable"]


@pytest.mark.parametrize("error", [OSError("refused"), http.client.BadStatusLine("x")])
def test_metrics_that_cannot_be_read_are_no_reason(error: Exception) -> None:
    def fail() -> str:
        raise error

    assert RefusalReason([], fail).why(responded=True) == ""


def test_metrics_are_read_from_the_loopback() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(OSError):
        metrics_of(port)()
