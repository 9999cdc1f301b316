"""The arguments of `hosted-mesh diff`. Imports nothing slow: other commands load it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class DiffRequest:
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
    charts: Sequence[Path] = ()
    chart_repositories: Sequence[str] = ()
    fetch: bool = True
    whole: bool = False
    cache: bool = True
    as_html: bool = False
    live: bool = False
    review: Literal["github", "gitlab"] | None = None

    @property
    def form(self) -> Literal["text", "markdown", "json", "html", "github", "gitlab"]:
        """The report's form."""
        if self.review or self.as_html:
            return self.review or "html"
        return "markdown" if self.as_markdown else "json" if self.as_json else "text"

    @property
    def contradiction(self) -> str | None:
        """A conflict of options and its fix; None without conflict."""
        forms = {
            "--markdown": self.as_markdown,
            "--json": self.as_json,
            "--html": self.as_html,
            "--review": self.review,
        }
        if len(given := [option for option, is_given in forms.items() if is_given]) > 1:
            return f"{' and '.join(given)} exclude each other. Give one of them"
        if self.read is not None and (self.base is not None or self.stacks):
            return "--from: compares nothing, so --base and --stack are of no use with it. Leave them out"
        if self.read is not None and self.live:
            return "--live: previews the program here, so --from is of no use with it. Leave one of them out"
        return None
