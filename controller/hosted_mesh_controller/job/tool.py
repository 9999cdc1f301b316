"""The project's command line, as processes of looks run it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

_PROGRAM: Final = Path(sys.executable).with_name("hosted-mesh")
_LIMIT: Final = 60.0  # seconds for one cluster


def printed(*arguments: str, given: str = "") -> str:
    """Standard output of `hosted-mesh`. given: its standard input. Raises: OSError, subprocess.SubprocessError."""
    done = subprocess.run([str(_PROGRAM), *arguments], capture_output=True, text=True, timeout=_LIMIT, input=given)
    return done.stdout
