"""Probes one run of a container and keeps its state's ``started`` and ``ready`` true to what they say."""

import asyncio
from collections.abc import Awaitable, Callable

from lightkube.models.core_v1 import Probe

from sandbox.node.container import probes
from sandbox.node.container.state import ContainerState

Report = Callable[[str, str], Awaitable[None]]


class Health:
    """warn: writes an event. restart: asks for the container's end because a probe (its name) failed.

    started: set once the startup probe has passed; init containers that come after a sidecar wait for it.
    """

    def __init__(
        self,
        target: probes.Target,
        state: ContainerState,
        started: asyncio.Event,
        *,
        publish: Callable[[], None],
        warn: Report,
        restart: Callable[[str], Awaitable[None]],
    ) -> None:
        self._target, self._state, self._started = target, state, started
        self._publish, self._warn, self._restart = publish, warn, restart

    async def watch(self) -> None:
        """Runs as long as the container does; cancel it then."""
        container = self._target.container
        if container.startupProbe:
            await self._pass_startup(container.startupProbe)
        self._state.started = True
        self._state.ready = container.readinessProbe is None
        self._started.set()
        self._publish()
        standing = [(container.readinessProbe, self._on_readiness), (container.livenessProbe, self._on_liveness)]
        await asyncio.gather(*(probes.watch(self._target, probe, tell) for probe, tell in standing if probe))

    async def _pass_startup(self, probe: Probe) -> None:
        passed = asyncio.Event()

        async def tell(ok: bool, message: str) -> None:
            if ok:
                passed.set()
            else:
                await self._fail("Startup", message)

        probing = asyncio.create_task(probes.watch(self._target, probe, tell))
        try:
            await passed.wait()
        finally:
            probing.cancel()

    async def _on_readiness(self, ok: bool, message: str) -> None:
        self._state.ready = ok
        self._publish()
        if not ok:
            await self._warn("Unhealthy", f"Readiness probe failed: {message}")

    async def _on_liveness(self, ok: bool, message: str) -> None:
        if not ok:
            await self._fail("Liveness", message)

    async def _fail(self, probe: str, message: str) -> None:
        await self._warn("Unhealthy", f"{probe} probe failed: {message}")
        await self._restart(probe.lower())
