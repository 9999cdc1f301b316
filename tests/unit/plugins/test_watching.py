"""Watches: what they see, and that ending them is no race with the threads that read them."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from sandbox.plugins.kubernetes.client import Client
from sandbox.plugins.kubernetes.kubeconfig import access, parse
from sandbox.plugins.kubernetes.watching import Watching
from tests.unit.plugins.api_server import ApiServer, Object, api_server

_LABELS = ("own", "pods", "replica sets", "claims")  # as many as the wait for a Deployment has
_PATH = "/api/v1/namespaces/n/things"


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with api_server() as server:
        item = {"metadata": {"name": "a"}}
        server.answers[_PATH] = {"kind": "ThingList", "metadata": {"resourceVersion": "1"}, "items": [item]}
        yield server


@pytest.fixture
def client(server: ApiServer) -> Client:
    return Client(access(parse(server.kubeconfig)))


def _event(name: str, kind: str = "MODIFIED") -> Object:
    return {"type": kind, "object": {"metadata": {"name": name}}}


def _until_listed(watching: Watching) -> None:
    for label in _LABELS:
        watching.start(label, _PATH)
    while not all(watching.has_listed(label) for label in _LABELS):
        watching.wait(10)


def _threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == f"watch {_PATH}"]


def test_a_watch_follows_what_comes_and_what_goes(server: ApiServer, client: Client) -> None:
    go_on = threading.Event()

    def events() -> Iterator[Object]:
        yield _event("b", "ADDED")
        yield _event("a", "DELETED")
        go_on.wait()

    server.events = events
    with Watching(client) as watching:
        watching.start("own", _PATH)
        while set(watching.objects("own")) != {"b"}:
            watching.wait(10)
    go_on.set()


def test_a_wait_may_end_while_events_come(server: ApiServer, client: Client) -> None:
    """Each event wakes a thread that finds the wait over and closes what the wait is about to shut."""
    server.events = lambda: (_event(f"{number}") for number in range(200))
    for _ in range(100):
        with Watching(client) as watching:
            _until_listed(watching)
            while all("9" not in watching.objects(label) for label in _LABELS):
                watching.wait(10)


def test_the_end_of_a_wait_ends_watches_that_nothing_happens_in(server: ApiServer, client: Client) -> None:
    quiet = threading.Event()

    def events() -> Iterator[Object]:
        yield _event("b")
        quiet.wait()

    server.events = events
    with Watching(client) as watching:
        _until_listed(watching)
        while not all("b" in watching.objects(label) for label in _LABELS):
            watching.wait(10)
        threads = _threads()
    assert len(threads) == len(_LABELS)
    for thread in threads:
        thread.join(10)
    still_there = [thread for thread in threads if thread.is_alive()]
    quiet.set()
    assert not still_there


def test_the_socket_of_a_watch_serves_no_other_request(server: ApiServer, client: Client) -> None:
    """Else the end of a wait could cut off a request that has nothing to do with it."""
    server.events = lambda: [_event("a")]
    with Watching(client) as watching:
        _until_listed(watching)
        while len([one for one in server.requests if one.is_watch]) < 3 * len(_LABELS):
            client.request("GET", _PATH)
    for watch in [one for one in server.requests if one.is_watch]:
        after = server.requests[server.requests.index(watch) + 1 :]
        assert watch.connection not in {one.connection for one in after}
