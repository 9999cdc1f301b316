"""Provider plug-ins for the engine: `select` takes Pulumi's own, or the stand-ins of this folder where there are none.

The stand-ins speak Pulumi's provider protocol in Python, for kubernetes, tls and random. They belong to the sandbox
and are never shipped. What they do not implement they refuse by name.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sandbox.plugins.selection import PluginSet, select

__all__ = ["PluginSet", "select"]


def __getattr__(name: str) -> object:
    # Imported when asked for: every plug-in process imports this package too, and lives for a second.
    if name in __all__:
        return getattr(importlib.import_module("sandbox.plugins.selection"), name)
    raise AttributeError(name)
