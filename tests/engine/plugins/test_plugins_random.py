"""Random values: what they look like, and that they stay what they are."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pulumi
import pulumi_random as random

from tests.engine.plugins.stack import Stack


def _program(**password: Any) -> Callable[[], None]:
    def program() -> None:
        values = {
            "password": random.RandomPassword(
                "password", **{"length": 20, "special": False, "upper": False, "min_numeric": 3, **password}
            ).result,
            "hex": random.RandomId("id", byte_length=4).hex,
            "b64": random.RandomId("id2", byte_length=4, prefix="p-").b64_url,
            "bytes": random.RandomBytes("bytes", length=16).base64,
        }
        for name, value in values.items():
            pulumi.export(name, value)

    return program


def test_values_are_as_asked_for(stack: Stack) -> None:
    stack.up(_program())
    found = {name: output.value for name, output in stack.engine.outputs().items()}
    assert len(found["password"]) == 20
    assert found["password"].isalnum()
    assert found["password"] == found["password"].lower()
    assert sum(letter.isdigit() for letter in found["password"]) >= 3
    assert len(bytes.fromhex(found["hex"])) == 4
    assert found["b64"].startswith("p-")
    assert len(base64.b64decode(found["bytes"])) == 16


def test_values_stay_until_an_input_changes(stack: Stack) -> None:
    stack.up(_program())
    before = {name: output.value for name, output in stack.engine.outputs().items()}
    # Spelling out a default, or taking it away again, is no change.
    stack.up(_program(lower=True, min_lower=0))
    stack.engine.refresh()
    assert "replace" not in stack.preview(_program())
    assert {name: output.value for name, output in stack.engine.outputs().items()} == before
    stack.up(_program(length=21))
    after = {name: output.value for name, output in stack.engine.outputs().items()}
    assert len(after["password"]) == 21
    assert {name for name in before if before[name] != after[name]} == {"password"}


def test_keepers_make_a_new_value(stack: Stack) -> None:
    def program(version: str) -> Callable[[], None]:
        def run() -> None:
            pulumi.export("hex", random.RandomId("id", byte_length=8, keepers={"version": version}).hex)

        return run

    stack.up(program("1"))
    before = stack.output("hex")
    assert stack.up(program("1")) == {"same": 2}
    assert stack.up(program("2"))["replace"] == 1
    assert stack.output("hex") != before
