"""All programs. A folder of `sets` is a set, and each of its modules may have programs.

A set may know the `world` of another's, which has none.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from .stranger import CLEAN, LEAKS

__all__ = ["CLEAN", "LEAKS", "SETS"]

_MODULES = sorted(Path(__file__).parent.glob("sets/*/*.py"))
SETS = tuple(sorted({module.parent.name.replace("_", " ") for module in _MODULES}))
"""As the documentation calls them."""

for _module in _MODULES:
    importlib.import_module(f"{__package__}.sets.{_module.parent.name}.{_module.stem}")
