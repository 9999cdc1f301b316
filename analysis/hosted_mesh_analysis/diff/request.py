"""What `hosted-mesh diff` is asked. Imports nothing that takes time: other commands wait for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class Request:
    """The command's arguments."""

    folder: Path
    base: str | None = None
    stacks: Sequence[str] = ()
    read: Path | None = None
    control_plane: Sequence[str] = ()
    data_plane: Sequence[str] = ()
    policy_config: Path | None = None
    stack_outputs: Sequence[str] = ()
    python: str | None = None
    as_markdown: bool = False
    as_json: bool = False
    output: Path | None = None
    tells_differences: bool = False

    @property
    def form(self) -> Literal["text", "markdown", "json"]:
        """Of the report."""
        return "markdown" if self.as_markdown else "json" if self.as_json else "text"

    @property
    def contradiction(self) -> str | None:
        """Which options do not go together, and what to do about it; None when all do."""
        if self.as_markdown and self.as_json:
            return "--markdown and --json exclude each other. Give one of them"
        if self.read is not None and (self.base is not None or self.stacks):
            return "--from: compares nothing, so --base and --stack are of no use with it. Leave them out"
        return None
