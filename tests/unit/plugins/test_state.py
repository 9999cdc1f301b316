"""State: what is saved of an object, and what in it is secret."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.plugins.kubernetes.fields.state import checkpoint, marked, saved
from sandbox.plugins.protocol.values import Secret, plain


@pytest.mark.parametrize(
    ("obj", "like", "expected"),
    [
        ({"a": 1}, {"a": Secret(2)}, {"a": Secret(1)}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": Secret(0)}}, {"a": {"b": Secret(1), "c": 2}}),
        ({"a": {"b": 1}}, {"a": Secret({"b": 0})}, {"a": Secret({"b": 1})}),
        ({"a": [1, 2]}, {"a": [Secret(1)]}, {"a": Secret([1, 2])}),
        ({"a": [{"b": 1}]}, {"a": [{"b": Secret(1)}]}, {"a": Secret([{"b": 1}])}),
        ({"a": 1}, {"b": Secret(1)}, {"a": 1}),
        ({"a": Secret(1)}, {"a": Secret(1)}, {"a": Secret(1)}),
        ({"a": 1}, None, {"a": 1}),
        ({"kind": "Secret", "data": {"a": "b"}}, {}, {"kind": "Secret", "data": Secret({"a": "b"})}),
        ({"kind": "Secret", "stringData": {}}, None, {"kind": "Secret", "stringData": Secret({})}),
    ],
)
def test_marks(obj: dict[str, Any], like: dict[str, Any] | None, expected: dict[str, Any]) -> None:
    assert marked(obj, like) == expected


def test_a_state_is_read_as_it_was_written() -> None:
    inputs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1"}}
    live = {**inputs, "metadata": {"name": "a", "uid": "u"}}
    state = checkpoint(inputs, live, {"data": {"x": Secret("1")}}, initial_api_version="v1", field_manager="m")
    assert state["data"] == {"x": Secret("1")}
    assert state["__inputs"]["data"] == {"x": Secret("1")}
    assert saved(state) == (inputs, live, "v1", "m")


def test_string_data_makes_data_secret() -> None:
    live = {"apiVersion": "v1", "kind": "Secret", "data": {"a": "YQ=="}}
    state = checkpoint(live, live, {"stringData": Secret({"a": "a"})}, initial_api_version="v1", field_manager="m")
    assert isinstance(state["data"], Secret)
    assert plain(state["data"]) == {"a": "YQ=="}


def test_a_state_without_notes_is_read() -> None:
    assert saved({"kind": "ConfigMap"}) == ({}, {"kind": "ConfigMap"}, "", "")
