"""Plays the cases of a file against a folder of plug-ins, with a process for each setting of the provider."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from sandbox.plugins.official import executable
from tests.recorded import cases
from tests.recorded.cases import Case
from tests.recorded.kubernetes_world import KubernetesWorld
from tests.recorded.play import Facts, World, play, play_provider
from tests.recorded.plugin import Plugin, running

# Files of cases and facts, by package.
NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "kubernetes": ("kubernetes", "kubernetes-stacks"),
    "random": ("random",),
    "tls": ("tls",),
}


def of_provider(programs: Path) -> Facts:
    """The facts of the kubernetes provider's settings, by case; no cluster is needed."""
    with running(programs / executable("kubernetes"), "kubernetes", None) as plugin:
        return {case.name: play_provider(case, plugin) for case in cases.of_provider()}


class Replay:
    """The plug-ins of one package; a context manager, which ends them.

    programs: the folder that has the plug-in.
    """

    def __init__(self, programs: Path, package: str, world: World) -> None:
        self._program = programs / executable(package)
        self._package = package
        self._world = world
        self._running: dict[tuple[tuple[str, str], ...], Plugin] = {}
        self._made: dict[str, dict[str, Any]] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Replay:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.close()

    def play(self, case: Case) -> Facts:
        """The facts of one case; those that it refers to have to be played before it."""
        return play(case, self._plugin(case.provider), self._world, self._made)

    def abilities(self) -> dict[str, bool]:
        """What the plug-in says that it can do, once it is configured: acceptSecrets and the like."""
        return self._plugin({}).abilities

    def version(self) -> str:
        """What the plug-in says of itself."""
        return self._plugin({}).version()

    def _plugin(self, own: Mapping[str, str]) -> Plugin:
        settings = {**(self._world.settings() if isinstance(self._world, KubernetesWorld) else {}), **own}
        key = tuple(sorted(own.items()))
        if key not in self._running:
            process = running(self._program, self._package, settings)
            self._running[key] = self._stack.enter_context(process)
        return self._running[key]
