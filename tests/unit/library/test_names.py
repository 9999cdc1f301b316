"""Names in the library: a class has one name, and that name has one class."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pulumi_hosted_mesh

LIBRARY = Path(pulumi_hosted_mesh.__file__).parent
SHIPPED = {LIBRARY / "dns" / "edge_writer"}
"""Programs for Pods, which share nothing with the library."""


def test_no_two_classes_have_one_name() -> None:
    files = [file for file in LIBRARY.rglob("*.py") if not SHIPPED & set(file.parents)]
    found = Counter(
        node.name
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    assert len(found) > 100
    assert [name for name, number in found.items() if number > 1] == []
