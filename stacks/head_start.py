"""The engine works while Python imports, if it is told in time what there is to do."""

from __future__ import annotations

import asyncio

_MOMENT = 0.02  # seconds: what the SDK takes to send a few registrations


async def head_start() -> None:
    """Lets the engine begin with what has been registered so far: other stacks to read, plug-ins to start.

    The SDK sends when the program waits for something, and otherwise at its end. The classes of pulumi_kubernetes are
    imported at their first use, and take longer than what the engine has to do until then.
    """
    await asyncio.sleep(_MOMENT)
