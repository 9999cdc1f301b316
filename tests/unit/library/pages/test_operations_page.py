"""The page of operations has each cause that `doctor` and `check-webhooks` report."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from pulumi_hosted_mesh import operations

ROOT = Path(__file__).parents[4]
FOLDER = Path(operations.__path__[0])


def causes(source: str) -> set[str]:
    """The causes in a module: texts in the second argument of each Verdict."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and len(node.args) > 1]
    return {
        part.value
        for call in calls
        if ast.unparse(call.func) == "Verdict"
        for part in ast.walk(call.args[1])
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    }


@pytest.mark.parametrize("folder", ["doctor", "webhooks"])
def test_the_page_has_each_cause(folder: str) -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    found = {cause for file in (FOLDER / folder).glob("*.py") for cause in causes(file.read_text())}
    assert len(found) > 5
    # `missing-` and others with the kind of an object behind them are one row, `missing-...`.
    written = {one: f"`{one}...`" if one.endswith("-") else f"`{one}`" for one in found}
    assert {one for one, cause in written.items() if cause not in page} == set()
