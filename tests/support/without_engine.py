"""A Pulumi program in this process, without an engine: it registers with the monitor that it is given."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from pulumi.runtime import mocks, settings
from pulumi.runtime.stack import run_in_stack


def perform(
    program: Callable[[], Any],
    monitor: Any,
    *,
    project: str = "project",
    stack: str = "stack",
    preview: bool = False,
    loop: asyncio.AbstractEventLoop | None = None,
) -> None:
    """Runs the program to its end. loop: by default a new one; closed afterwards. Raises what the program raises."""
    loop = loop or asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    names = {"project": project, "stack": stack}
    try:
        settings.reset_options(**names, preview=preview)
        engine = mocks.MockEngine(None)
        settings.configure(mocks.MockSettings(monitor=monitor, engine=engine, dry_run=preview, **names))
        loop.run_until_complete(run_in_stack(program))
    finally:
        end(loop)
        settings.ROOT.set(None)


def end(loop: asyncio.AbstractEventLoop) -> None:
    """Closes it. A program that failed leaves registrations behind, and an Output that nobody asked its value."""
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    asyncio.set_event_loop(None)
    loop.close()
