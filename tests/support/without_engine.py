"""A Pulumi program in this process, without an engine: it registers with a given monitor."""

from __future__ import annotations

import asyncio
import unittest.mock
from collections.abc import Callable
from typing import Any

from pulumi.runtime import mocks, resource, settings
from pulumi.runtime.proto import source_pb2
from pulumi.runtime.stack import run_in_stack


class Loop(asyncio.SelectorEventLoop):
    """Calls the monitor at once, where the SDK would start a thread to wait for an answer. With threads, the order of
    two independent resources could vary."""

    def run_in_executor(self, _: Any, func: Any, *args: Any) -> Any:  # type: ignore[override]
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as problem:
            future.set_exception(problem)
        return future


def perform(
    program: Callable[[], Any], monitor: Any, *, project: str = "project", stack: str = "stack", preview: bool = False
) -> None:
    """Runs the program to its end, in a loop of its own. Raises the program's exceptions."""
    loop = Loop()
    asyncio.set_event_loop(loop)
    names = {"project": project, "stack": stack}
    # The source lines of a resource are unused here; pytest's own frames are among them, and take as long as all else.
    without = unittest.mock.patch.object(resource, "_get_stack_trace", source_pb2.StackTrace)
    try:
        settings.reset_options(**names, preview=preview)
        engine = mocks.MockEngine(None)
        settings.configure(mocks.MockSettings(monitor=monitor, engine=engine, dry_run=preview, **names))
        with without:
            loop.run_until_complete(run_in_stack(program))
    finally:
        end(loop)
        settings.ROOT.set(None)


def end(loop: asyncio.AbstractEventLoop) -> None:
    """Closes the loop. A failed program leaves registrations behind, and Outputs without a reader."""
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    asyncio.set_event_loop(None)
    loop.close()
