"""All programs. Each module of `subjects` has those of one subject, leaks and their harmless neighbours."""

from __future__ import annotations

import importlib
from pathlib import Path

from .program import CLEAN, LEAKS

__all__ = ["CLEAN", "LEAKS", "SUBJECTS"]

SUBJECTS: dict[str, str] = {}
"""The subject of each program, by its name."""

for _module in sorted(Path(__file__).parent.glob("subjects/*.py")):
    _before = LEAKS.keys() | CLEAN.keys()
    importlib.import_module(f"{__package__}.subjects.{_module.stem}")
    SUBJECTS.update(dict.fromkeys((LEAKS.keys() | CLEAN.keys()) - _before, _module.stem))
