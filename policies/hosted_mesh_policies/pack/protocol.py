"""The messages of Pulumi's analyzer protocol, without the rest of Pulumi's SDK.

The generated modules lie inside the package `pulumi`. Its import takes as long as judging a whole mesh, and the engine
waits for it at the start of every preview. The modules need only each other, so they are loaded from its folder.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pulumi.runtime.proto import analyzer_pb2, plugin_pb2

__all__ = ["analyzer_pb2", "plugin_pb2"]

_SDK: Final = "pulumi.runtime.proto"
_ALONE: Final = f"{__name__}_of_pulumi"


def _package() -> str:
    """The package of the messages: the SDK's own if it is loaded, or if its folder has another layout."""
    found = importlib.util.find_spec("pulumi") if "pulumi" not in sys.modules else None
    folders = [Path(place) / "runtime" / "proto" for place in (found and found.submodule_search_locations) or ()]
    if not any((folder / "analyzer_pb2.py").is_file() for folder in folders):
        return _SDK
    package = sys.modules[_ALONE] = ModuleType(_ALONE)
    package.__path__ = [str(folder) for folder in folders]
    return _ALONE


if not TYPE_CHECKING:
    _source = _package()
    plugin_pb2 = import_module(f"{_source}.plugin_pb2")
    analyzer_pb2 = import_module(f"{_source}.analyzer_pb2")
