"""What is kept in Pulumi's state for an object: the live object, the inputs that made it, and two notes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from sandbox.plugins.kubernetes.inputs import to_object, to_properties
from sandbox.plugins.kubernetes.objects import Object, is_secret
from sandbox.plugins.kubernetes.secretness import marked
from sandbox.plugins.protocol.values import Secret, plain

_INPUTS: Final = "__inputs"
_INITIAL_API_VERSION: Final = "__initialApiVersion"
_FIELD_MANAGER: Final = "__fieldManager"


class Saved(NamedTuple):
    """A state, read. initial_api_version and field_manager: "" in states that have none."""

    inputs: Object
    live: Object
    initial_api_version: str
    field_manager: str


def checkpoint(
    inputs: Mapping[str, Any],
    live: Mapping[str, Any],
    given: Mapping[str, Any],
    *,
    initial_api_version: str,
    field_manager: str,
) -> dict[str, Any]:
    """The state of an object. given: the program's properties, which say what is secret."""
    state = marked(to_properties(live), given)
    if is_secret(live):
        _mark_string_data(state, given)
    state[_INPUTS] = marked(to_properties(inputs), given)
    state[_INITIAL_API_VERSION] = initial_api_version
    state[_FIELD_MANAGER] = field_manager
    return state


def _mark_string_data(state: dict[str, Any], given: Mapping[str, Any]) -> None:
    """What was secret in stringData is secret in the data that the server made of it."""
    if isinstance(given.get("stringData"), Secret) and "data" in state and not isinstance(state["data"], Secret):
        state["data"] = Secret(state["data"])


def saved(state: Mapping[str, Any]) -> Saved:
    """The parts of a state, without secret marks."""
    inputs = to_object(state.get(_INPUTS) or {})
    live = to_object({key: value for key, value in state.items() if key != _INPUTS})
    return Saved(
        inputs if isinstance(inputs, dict) else {},
        live,
        str(plain(live.pop(_INITIAL_API_VERSION, ""))),
        str(plain(live.pop(_FIELD_MANAGER, ""))),
    )
