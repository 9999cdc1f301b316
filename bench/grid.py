"""A table that is printed on a terminal and written to a page of the documentation, both from the same cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table


@dataclass(frozen=True)
class Grid:
    """Rows of ready texts under column names. The first column is text, the others are figures."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def for_terminal(self) -> Table:
        table = Table(title=self.title, title_justify="left")
        for number, name in enumerate(self.columns):
            table.add_column(name, justify="right" if number else "left")
        for row in self.rows:
            table.add_row(*row)
        return table

    def for_page(self) -> str:
        """As Markdown, without the title."""
        lines = [self.columns, ["---", *("---:" for _ in self.columns[1:])], *self.rows]
        return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
