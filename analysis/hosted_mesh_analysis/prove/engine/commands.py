"""The engine's command, and its environment without links to another stack or service."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ...runner.project import UnusableProjectError

_OF_THE_STACK: Final = ("ACCESS_TOKEN", "API", "BACKEND_URL", "CONFIG", "CREDENTIALS_PATH", "DEBUG_GRPC", "OPTION_")
_OWN: Final = ("STACK", "ENABLE_STREAMING_JSON_PREVIEW")


def engine() -> str:
    """The engine's command. Raises: UnusableProjectError."""
    found = shutil.which("pulumi")
    if found is None:
        raise UnusableProjectError("pulumi: is not on PATH. Install it, or run a program in Python without --preview")
    return found


def engine_variables(given: Mapping[str, str]) -> dict[str, str]:
    """Variables without those that lead the engine to another stack, secret or service."""
    ours, own = (tuple(f"PULUMI_{name}" for name in names) for names in (_OF_THE_STACK, _OWN))
    return {name: value for name, value in given.items() if not name.startswith(ours) and name not in own}


def own_variables(backend: Path, login: Path, passphrase: str) -> dict[str, str]:
    """Variables that lead the engine to a backend in a folder, without login."""
    return {
        "PULUMI_BACKEND_URL": f"file://{backend}",
        "PULUMI_CONFIG_PASSPHRASE": passphrase,
        "PULUMI_CREDENTIALS_PATH": str(login),
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PYTHONHASHSEED": "0",
    }
