"""Delays Pulumi's output at a program's end, as on a busy machine, for programs that the engine runs."""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

import pulumi

_printed = pulumi.log.error


def print_the_end_late() -> None:
    """Delays the errors after the event loop's end; earlier ones come at once."""
    pulumi.log.error = _late_at_the_end


def _late_at_the_end(*args: Any, **kwargs: Any) -> None:
    """The language host calls it after the event loop. The engine interrupts a program after its work; the interrupt
    ends this one at once, without a trace that points here."""
    if not _in_event_loop():
        try:
            time.sleep(20)
        except KeyboardInterrupt:
            os._exit(1)
    _printed(*args, **kwargs)


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
