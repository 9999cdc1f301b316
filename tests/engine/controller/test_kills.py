"""Kills in the middle of operations, on the real engine and two real API servers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.controller.service import NAMESPACE, Controller, assert_no_secrets, ends, events, namespaces
from tests.engine.library.engine import Api
from tests.support.waiting import eventually

Config = dict[str, Any]


@pytest.mark.nightly
@pytest.mark.usefixtures("clean")
def test_a_kill_in_the_middle(controller: Controller, documents: Config, provider: Api, user: Api) -> None:
    """The operation ends once, with nothing done by hand."""
    client = controller.client()
    made = client.order("meshes", documents)
    killed_after(controller, made.id, 12)
    ended = client.wait(made.id)
    assert (ended.state, ended.attempts) == ("succeeded", 2), ended.error
    assert ends(controller, made.id) == 1
    assert_no_secrets(controller, provider)
    assert NAMESPACE in namespaces(provider) & namespaces(user)
    settled = client.wait(client.order("meshes", documents, name="demo", dry_run=True).id)
    assert settled.state == "succeeded", settled.error
    assert settled.result
    assert settled.result["steps"] == []

    removal = client.delete("meshes", "demo", etag='"1"')
    killed_after(controller, removal.id, 12)
    gone = client.wait(removal.id)
    assert (gone.state, gone.attempts) == ("succeeded", 2), gone.error


def killed_after(controller: Controller, identifier: str, steps: int) -> None:
    """Kills the service when the engine has begun so many steps, and starts it again."""

    def begun() -> bool:
        return bool(
            sum(one["type"] == "step" and one["phase"] == "begin" for one in events(controller, identifier)) >= steps
        )

    eventually(begun, seconds=120)
    controller.kill()
    controller.start()
