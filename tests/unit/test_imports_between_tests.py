"""Test modules import support modules, never each other: a test can move or go without breaking another."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from sandbox.bootstrap import CHECKOUT


def imported(source: str) -> Iterator[str]:
    """The names that a module's imports may load as modules."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{name.name}" for name in node.names)


def of_tests(file: Path) -> list[str]:
    """The test modules that a file imports."""
    return sorted({name for name in imported(file.read_text()) if _is_test(name)})


def _is_test(name: str) -> bool:
    return (CHECKOUT / f"{name.replace('.', '/')}.py").is_file() and name.rpartition(".")[2].startswith("test_")


def test_no_module_imports_a_test_module() -> None:
    files = [file for room in ("tests", "bench", "sandbox") for file in (CHECKOUT / room).rglob("*.py")]
    assert len(files) > 100
    assert {str(file.relative_to(CHECKOUT)): found for file in files if (found := of_tests(file))} == {}


def test_each_form_of_import_is_seen() -> None:
    own = "tests.unit.test_imports_between_tests"
    package, _, name = own.rpartition(".")
    for source in (f"import {own}", f"from {own} import of_tests", f"from {package} import {name}"):
        assert own in set(imported(source))
    assert _is_test(own)
