"""Harmless programs that write one object of public values beside the secrets of the control plane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .objects import release
from .program import Play, clean
from .scene import Scene


@dataclass(frozen=True)
class Harmless:
    """`beside` makes the secrets of the control plane. `why` describes a program, with `where` for the object and `what`
    for its values."""

    beside: Play
    why: str = "{what}"

    def plain(self, theme: str, name: str, what: str, kind: str, body: Mapping[str, Any], **more: Any) -> None:
        """A program that writes one object."""

        @clean(theme, name, self.why.format(where="cluster", what=what), **more)
        def _(scene: Scene) -> None:
            self.beside(scene)
            scene.object("dp", kind, name, body)

    def files(self, theme: str, name: str, what: str, data: Mapping[str, str], **more: Any) -> None:
        """A program that writes files into a map."""

        @clean(theme, f"file-{name}", self.why.format(where="map", what=what), **more)
        def _(scene: Scene) -> None:
            self.beside(scene)
            scene.config_map("dp", name, data)

    def chart(self, theme: str, name: str, what: str, values: Mapping[str, Any], **more: Any) -> None:
        """A program that installs one chart."""

        @clean(theme, f"chart-{name}", self.why.format(where="chart", what=what), **more)
        def _(scene: Scene) -> None:
            self.beside(scene)
            release(scene, "dp", name, values)
