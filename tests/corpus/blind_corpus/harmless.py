"""Harmless programs of a set that write one thing of public values beside the secrets of its control plane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .objects import release
from .scene import Scene
from .stranger import Play, clean


@dataclass(frozen=True)
class Harmless:
    """`prefix` is of the names of a set's programs, `beside` makes its control plane's secrets. `why` is what is said
    of a program, with `where` its values are and `what` they are."""

    prefix: str
    beside: Play
    why: str = "{what}"

    def plain(self, theme: str, name: str, what: str, kind: str, body: Mapping[str, Any], **more: Any) -> None:
        """A program that writes one object."""

        @clean(theme, f"{self.prefix}-{name}", self.why.format(where="cluster", what=what), beside=self.beside, **more)
        def _(scene: Scene) -> None:
            self.beside(scene)
            scene.object("dp", kind, name, body)

    def files(self, theme: str, name: str, what: str, data: Mapping[str, str], **more: Any) -> None:
        """A program that writes files into a map."""

        @clean(theme, f"{self.prefix}-file-{name}", self.why.format(where="map", what=what), beside=self.beside, **more)
        def _(scene: Scene) -> None:
            self.beside(scene)
            scene.config_map("dp", name, data)

    def chart(self, theme: str, name: str, what: str, values: Mapping[str, Any], **more: Any) -> None:
        """A program that installs one chart."""

        @clean(
            theme, f"{self.prefix}-chart-{name}", self.why.format(where="chart", what=what), beside=self.beside, **more
        )
        def _(scene: Scene) -> None:
            self.beside(scene)
            release(scene, "dp", name, values)
