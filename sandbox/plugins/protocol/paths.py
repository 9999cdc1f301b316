"""Property paths as the engine writes them: `a.b[0]["c.d"]`."""

from __future__ import annotations

import re
from collections.abc import Sequence

Path = tuple[str | int, ...]
_PART = re.compile(r"""\.?([^.\[\]"]+)|\[(\d+)\]|\[\*\]|\["((?:[^"\\]|\\.)*)"\]""")


def format_path(path: Sequence[str | int]) -> str:
    """Keys joined with dots, quoted in brackets when they hold a dot, a quote or a bracket; indexes in brackets."""
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


def parse_path(text: str) -> Path:
    """The reverse of `format_path`; `*` and `[*]` come out as "*". Raises ValueError when it is not a path."""
    parts: list[str | int] = []
    position = 0
    while position < len(text):
        match = _PART.match(text, position)
        if match is None:
            raise ValueError(f"{text!r} is not a property path")
        key, index, quoted = match.groups()
        if index is not None:
            parts.append(int(index))
        elif quoted is not None:
            parts.append(quoted.replace('\\"', '"'))
        else:
            parts.append(key or "*")
        position = match.end()
    return tuple(parts)


def contains(outer: Sequence[str | int], inner: Sequence[str | int]) -> bool:
    """Whether `inner` is at or below `outer`; "*" in `outer` stands for any key or index."""
    if len(outer) > len(inner):
        return False
    return all(part in ("*", inner[position]) for position, part in enumerate(outer))
