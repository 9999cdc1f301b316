"""A text as a document of JSON or YAML."""

from __future__ import annotations

import json
from typing import Any

import yaml
from hosted_mesh_plan.decode import UNPARSABLE, YAML_LOADER, nests_too_deeply


def as_document(value: bytes) -> Any:
    """The value as JSON or YAML, when it is a mapping or a list. Else None."""
    if nests_too_deeply(value):
        return None
    try:
        if value[:1] in b"{[":
            return json.loads(value)
        if b": " in value or b":\n" in value:
            loaded = yaml.load(value, Loader=YAML_LOADER)  # noqa: S506 a safe loader, in C where there is one
            return loaded if isinstance(loaded, dict | list) else None
    except (*UNPARSABLE, OverflowError):
        pass
    return None
