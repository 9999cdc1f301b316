"""Waiting for events: a slow event passes, a missing one fails."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
# Seconds. A bound for missing events, not for slow ones: other work on the machine is no reason to fail.
LIMIT = 240.0


def eventually(look: Callable[[], T], what: str = "", *, seconds: float = LIMIT) -> T:
    """The first true answer of `look`. `what`: the awaited event, for the error."""
    deadline = time.monotonic() + seconds
    while not (answer := look()):
        assert time.monotonic() < deadline, f"not seen in {seconds:g} s: {what or look} (last answer: {answer!r})"
        time.sleep(0.1)
    return answer
