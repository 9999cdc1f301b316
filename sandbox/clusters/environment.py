"""The environment of all programs inside: a short list, so that no secret or proxy of the caller gets in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from sandbox.bootstrap import CHECKOUT

_SYSTEM_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_KEPT = ("HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH")
_OF_BYTECODE = ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")


def program_environment(bin_dir: Path | None = None, outside: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Environment for programs inside the sandbox.

    bin_dir: comes first on PATH. No proxy variables: the API server would call webhooks through them.
    """
    first = [str(bin_dir)] if bin_dir else []
    python_path = [str(CHECKOUT), *filter(None, [outside.get("PYTHONPATH")])]
    return {
        **{name: outside[name] for name in (*_KEPT, *_OF_BYTECODE) if name in outside},
        # sbin: nft lives there and is not on every user's PATH.
        "PATH": ":".join([*first, *_SYSTEM_PATH]),
        "PYTHONPATH": ":".join(python_path),
        "PYTHONUNBUFFERED": "1",
    }
