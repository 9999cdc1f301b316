"""A program by somebody who does not know the rules: what leaks in it, or why nothing does, and how early it shows."""

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
class Stranger:
    """`why` says what leaks to whom, or why nothing does. `source` is a class of ways to leak, or a published incident.

    A leak with `at="preview"` can be known at the first preview. One with "update" shows only when the update knows its
    values, "either" leaves it open; both have to be stopped before the write. `recover` gets the secret back out of
    what was sent: the proof that it is a leak.

    `set` is the set of programs that it is of, as the documentation calls it: the folder of `sets` in which it is.

    `before` is what an earlier update ran, `unseen` a run without a preview, `config` secret configuration by key,
    `pack` the pack's settings. `rightly` says why a harmless program's objects differ when the provider's secrets do.
    """

    name: str
    theme: str
    why: str
    play: Play
    leak: bool
    set: str
    source: str = ""
    at: Moment = "preview"
    recover: Recover = as_written
    before: Play | None = None
    unseen: bool = False
    stack: str = "corpus"
    config: Callable[[Material, Material], Mapping[str, str]] | None = None
    pack: Mapping[str, Any] = field(default_factory=dict)
    rightly: str = ""


LEAKS: dict[str, Stranger] = {}
CLEAN: dict[str, Stranger] = {}


def _keep(kept: dict[str, Stranger], stranger: Stranger) -> None:
    assert stranger.name not in kept, f"two cases are called {stranger.name}"
    kept[stranger.name] = stranger


def _set_of(function: Callable[..., Any]) -> str:
    _, _, inside = function.__module__.partition(".sets.")
    assert inside, f"{function.__module__} is in no folder of a set"
    return inside.partition(".")[0].replace("_", " ")


def leak(theme: str, name: str, why: str, source: str, **more: Any) -> Callable[[Play], Play]:
    """Keeps the function below as a program that leaks."""

    def keep(play: Play) -> Play:
        before = play if more.get("before") == "the same" else more.get("before")
        _keep(LEAKS, Stranger(name, theme, why, play, True, _set_of(play), source, **{**more, "before": before}))
        return play

    return keep


def clean(theme: str, name: str, why: str, *, beside: Play | None = None, **more: Any) -> Callable[[Play], Play]:
    """Keeps the function below as a harmless program. beside: a function of its set's, if the one below is of none."""

    def keep(play: Play) -> Play:
        before = play if more.get("before") == "the same" else more.get("before")
        _keep(CLEAN, Stranger(name, theme, why, play, False, _set_of(beside or play), **{**more, "before": before}))
        return play

    return keep
