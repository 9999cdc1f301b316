"""Property values as what a data file can hold, and the differences of two of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sandbox.plugins.protocol.values import UNKNOWN, Secret

_MISSING: Final = object()
_GONE: Final = "<gone>"
_LONGEST: Final = 200  # characters of a text that is only carried along

Path = tuple[str | int, ...]


def format_path(path: Path) -> str:
    """As the engine writes it, `a.b[0]["c.d"]`: a key that holds a dot, a quote or a bracket is quoted in brackets."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif re.search(r'[."\[\]]', part):
            escaped = part.replace('"', '\\"')
            text += f'["{escaped}"]'
        else:
            text += f".{part}" if text else part
    return text


def shown(value: Any) -> Any:
    """The value with `{"secret": ...}` and `<unknown>` for what JSON has no word for."""
    if isinstance(value, Secret):
        return {"secret": shown(value.value)}
    if value is UNKNOWN:
        return "<unknown>"
    if isinstance(value, Mapping):
        return {key: shown(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shown(item) for item in value]
    if isinstance(value, str) and "-----BEGIN" in value:
        return "<PEM>"
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"{value[:_LONGEST]}... ({len(value)} characters)"
    return value


def changed(old: Any, new: Any) -> dict[str, Any]:
    """What is different in the new value, by path; a secret is different from the same value in plain text."""
    return {format_path(path): shown(value) for path, value in _changes((), old, new)}


def _changes(path: Path, old: Any, new: Any) -> Iterator[tuple[Path, Any]]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted({**old, **new}):
            yield from _changes((*path, key), old.get(key, _MISSING), new.get(key, _MISSING))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from _changes((*path, index), before, after)
    elif new is _MISSING:
        yield path, _GONE
    elif old is _MISSING or type(old) is not type(new) or old != new:
        yield path, new


def secrets(value: Any) -> list[str]:
    """The paths of the outermost secrets."""
    return sorted(format_path(path) for path in _secrets((), value))


def _secrets(path: Path, value: Any) -> Iterator[Path]:
    if isinstance(value, Secret):
        yield path
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _secrets((*path, key), item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _secrets((*path, index), item)
