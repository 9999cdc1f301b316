"""The pages of docs/policies, read as the tests need them: sections, examples, tables.

Fenced blocks carry their part in the info string, which GitHub does not show:

    ```python preamble           what every example on every page begins with (README.md)
    ```python refused [stack=…]  a program that the section's rule refuses, in a stack of that name;
                      [mode=update]  in an update without preview, where the first preview would pass
    ```text verdict              what the rule says about the program before it; indented lines go on
    ```python cure [stack=…]     a program about which no rule says anything
    ```json config               a file for --policy-pack-config
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from sandbox.bootstrap import CHECKOUT

FOLDER = CHECKOUT / "docs" / "policies"
_FENCE = re.compile(r"^```(\w*)[ ]?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_ROW = re.compile(r"^\|(.+)\|$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its part ("refused"), and what else its info string says."""

    language: str
    part: str
    text: str
    settings: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Example:
    """A refused program, the verdict on it and its cure."""

    page: str
    section: str
    refused: Block
    verdict: list[str]
    cure: Block


@dataclass(frozen=True)
class Section:
    """What stands under one heading of the second level, headings below it included."""

    page: str
    title: str
    text: str

    @cached_property
    def blocks(self) -> list[Block]:
        found = []
        for language, rest, text in _FENCE.findall(self.text):
            part, *more = rest.split() or [""]
            found.append(Block(language, part, text, dict(pair.split("=", 1) for pair in more)))
        return found

    @property
    def examples(self) -> list[Example]:
        """Each refused program with the verdict and the cure that follow it."""
        told = [block for block in self.blocks if block.part in {"refused", "verdict", "cure"}]
        assert [block.part for block in told] == ["refused", "verdict", "cure"] * (len(told) // 3), self.title
        return [
            Example(self.page, self.title, refused, _lines(verdict.text), cure)
            for refused, verdict, cure in zip(told[::3], told[1::3], told[2::3], strict=True)
        ]

    @property
    def rows(self) -> list[list[str]]:
        """The cells of its tables' rows."""
        return [[cell.strip() for cell in row.split(" | ")] for row in _ROW.findall(self.text)]


def _lines(text: str) -> list[str]:
    """A verdict's messages: one per line, and a line that begins with spaces goes on."""
    return re.sub(r"\n +", " ", text).strip().splitlines()


def read(path: Path) -> list[Section]:
    """A page's sections; what stands before the first heading of the second level has the title ""."""
    parts = re.split(r"^## (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    titled = zip(parts[1::2], parts[2::2], strict=True)
    return [Section(path.name, "", parts[0]), *(Section(path.name, title, text) for title, text in titled)]


def pages() -> list[Path]:
    return sorted(FOLDER.glob("*.md"))


def sections() -> list[Section]:
    return [section for page in pages() for section in read(page)]


def anchors(path: Path) -> set[str]:
    """The anchors that GitHub gives a page's headings."""
    without_code = _FENCE.sub("", path.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in _HEADING.findall(without_code)}
