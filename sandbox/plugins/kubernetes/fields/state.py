"""What is kept in Pulumi's state for an object: the live object, the inputs that made it, and two notes; and what of it
is secret: what the program said, and a Secret's data always."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from sandbox.plugins.kubernetes.fields.inputs import to_object, to_properties
from sandbox.plugins.kubernetes.objects import Object
from sandbox.plugins.protocol.values import Secret, contains_secret, plain

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
    state[_INPUTS] = marked(to_properties(inputs), given)
    state[_INITIAL_API_VERSION] = initial_api_version
    state[_FIELD_MANAGER] = field_manager
    return state


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


def marked(obj: Mapping[str, Any], like: Mapping[str, Any] | None) -> dict[str, Any]:
    """The object with secrets where `like` has them.

    In objects only the secret fields are marked; of a list everything is, because the server may sort it. An object of
    kind Secret has its data and stringData marked whole, whatever the program said, and nothing else.
    """
    result = dict(obj)
    if result.get("kind") == "Secret":
        for key in ("data", "stringData"):
            if key in result:
                result[key] = Secret(result[key])
        return result
    for key, wanted in (like or {}).items():
        if key not in result:
            continue
        value = result[key]
        if isinstance(value, dict) and isinstance(wanted, dict):
            result[key] = marked(value, wanted)
        elif not isinstance(value, Secret) and contains_secret(wanted):
            result[key] = Secret(value)
    return result
