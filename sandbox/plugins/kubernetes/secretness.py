"""Which parts of an object are secret: those that the program said, and a Secret's data always."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox.plugins.protocol.values import Secret, contains_secret


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
