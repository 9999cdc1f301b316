"""A program by somebody without knowledge of the rules: its leak, or the reason why nothing leaks, and how early it shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .material import Material
from .recover import Recover, as_written
from .scene import Scene

Play = Callable[[Scene], Any]
Moment = Literal["preview", "update", "either"]


@dataclass(frozen=True)
class BlindProgram:
    """`why` names the leak and its reader, or the reason why nothing leaks. `source` is a class of ways to leak, or a
    published incident.

    A leak with `at="preview"` can be found at the first preview. One with "update" shows only when the update has its
    values, "either" leaves it open; both have to be stopped before the write. `recover` gets the secret back out of
    the objects that were sent: the proof that it is a leak.

    `before` is the program of an earlier update, `unseen` a run without a preview, `config` secret configuration by
    key, `pack` the pack's settings. `rightly` gives the reason why a harmless program's objects differ when the
    control plane's secrets do.
    """

    name: str
    theme: str
    why: str
    play: Play
    leak: bool
    source: str = ""
    at: Moment = "preview"
    recover: Recover = as_written
    before: Play | None = None
    unseen: bool = False
    stack: str = "corpus"
    config: Callable[[Material, Material], Mapping[str, str]] | None = None
    pack: Mapping[str, Any] = field(default_factory=dict)
    rightly: str = ""


LEAKS: dict[str, BlindProgram] = {}
CLEAN: dict[str, BlindProgram] = {}


def _keep(kept: dict[str, BlindProgram], program: BlindProgram) -> None:
    assert program.name not in LEAKS.keys() | CLEAN.keys(), f"two programs are called {program.name}"
    kept[program.name] = program


def leak(theme: str, name: str, why: str, source: str, **more: Any) -> Callable[[Play], Play]:
    """Keeps the function below as a program that leaks."""

    def keep(play: Play) -> Play:
        before = play if more.get("before") == "the same" else more.get("before")
        _keep(LEAKS, BlindProgram(name, theme, why, play, True, source, **{**more, "before": before}))
        return play

    return keep


def clean(theme: str, name: str, why: str, **more: Any) -> Callable[[Play], Play]:
    """Keeps the function below as a harmless program."""

    def keep(play: Play) -> Play:
        before = play if more.get("before") == "the same" else more.get("before")
        _keep(CLEAN, BlindProgram(name, theme, why, play, False, **{**more, "before": before}))
        return play

    return keep
