"""The arguments of `hosted-mesh prove`. Imports nothing slow: other commands load it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class Sources:
    """Arguments about secrets: configuration keys, STACK=FILE of other stacks, names of data planes' own secrets."""

    keys: Sequence[str] = ()
    stack_outputs: Sequence[str] = ()
    users: Sequence[str] = ()


@dataclass(frozen=True)
class ProveRequest:
    """The command's arguments."""

    folder: Path
    stack: str
    config_file: Path | None
    sources: Sources
    control_plane: Sequence[str]
    data_plane: Sequence[str]
    policy_config: Path | None
    rounds: int
    python: str | None
    as_json: bool
    as_sarif: bool
    output: Path | None
    preview: bool = False
    keep: Sequence[str] = ()
    state: bool = False
    state_file: Path | None = None

    @property
    def form(self) -> Literal["table", "json", "sarif"]:
        """The report's form."""
        return "json" if self.as_json else "sarif" if self.as_sarif else "table"

    @property
    def contradiction(self) -> str | None:
        """A conflict of options and its fix; None without conflict."""
        if self.as_json and self.as_sarif:
            return "--json and --sarif exclude each other. Give one of them"
        if self.state and self.state_file:
            return "--state and --state-file exclude each other. Give one of them"
        if (self.state or self.state_file) and not self.preview:
            return "--state: requires --preview. Add --preview, or leave it out"
        if self.preview and self.python:
            return "--python: has no effect with --preview: the engine chooses. Leave it out"
        return None
