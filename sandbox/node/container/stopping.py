"""Ends a container's process: preStop hook, SIGTERM, and SIGKILL when the time is over."""

import asyncio
import signal
from contextlib import suppress

from lightkube.models.core_v1 import LifecycleHandler

from sandbox.node.container import probes
from sandbox.node.container.processes import Process, StartError


async def _run_hook(hook: LifecycleHandler, target: probes.Target, grace: float) -> probes.Outcome:
    try:
        if hook.exec:
            code, output = await target.run(list(hook.exec.command or []), grace)
            return probes.Outcome(code == 0, f"ended with {code}: {output[:200]}")
        if hook.httpGet:
            return await probes.http_get(target, hook.httpGet, grace)
        if hook.sleep:
            await asyncio.sleep(hook.sleep.seconds)
    except StartError as error:
        return probes.Outcome(False, str(error))
    return probes.Outcome(True)


async def end(process: Process, target: probes.Target, grace: float) -> str:
    """Returns when the process has ended. grace: seconds for all of it, the hook included; 0 kills at once.

    The answer says what was wrong with the preStop hook; empty if nothing.
    """
    lifecycle = target.container.lifecycle
    hook = lifecycle.preStop if lifecycle else None
    outcome = probes.Outcome(True)
    with suppress(TimeoutError):
        async with asyncio.timeout(grace):
            if grace <= 0:
                raise TimeoutError
            if hook:
                outcome = await _run_hook(hook, target, grace)
            process.signal(signal.SIGTERM)
            await asyncio.shield(process.exited)
    process.signal(signal.SIGKILL)
    await asyncio.shield(process.exited)
    return "" if outcome.ok else outcome.message
