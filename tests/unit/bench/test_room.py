"""The bench measures everything, so nothing may need it."""

from __future__ import annotations

import re

from sandbox.bootstrap import CHECKOUT


def test_nobody_imports_the_bench() -> None:
    rooms = ("components", "stacks", "plan", "policies", "analysis", "sandbox", "tests", "examples")
    files = [file for room in rooms for file in (CHECKOUT / room).rglob("*.py")]
    importing = {
        file.relative_to(CHECKOUT) for file in files if re.search(r"^\s*(from|import) bench\b", file.read_text(), re.M)
    }
    assert importing
    assert {file.parent.as_posix() for file in importing} == {"tests/unit/bench"}
