"""Paths of kubeconfig files: one path, or a list as in $KUBECONFIG."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pulumi_hosted_mesh.problems import InvalidInputError, Problem

DEFAULT: Final = "~/.kube/config"
# The form of os.path.expandvars.
VARIABLE = re.compile(r"\$(?:(\w+)|\{([^}]*)\})", re.ASCII)


def of_environment() -> list[str]:
    """The files of $KUBECONFIG, or kubectl's default. Raises: InvalidInputError if none of several exists."""
    files = listed(os.environ.get("KUBECONFIG") or DEFAULT)
    if len(files) > 1 and (rule := _why_none(files)):
        fix = "Correct the paths, or give --kubeconfig"
        raise InvalidInputError([Problem("$KUBECONFIG", rule, fix)], "the environment")
    return files


def listed(value: str) -> list[str]:
    """The files of a list, each once, without empty entries.

    Like kubectl, it skips missing files, unless all are missing.
    """
    named = list(dict.fromkeys(one for one in value.split(os.pathsep) if one))
    return [one for one in named if not _is_missing(one)] or named


def path_of(written: str) -> Path:
    """The path with `~` and environment variables expanded; for a variable's list, its only existing file."""
    expanded = os.path.expandvars(written)
    if VARIABLE.fullmatch(written) and len(there := listed(expanded)) == 1:
        expanded = there[0]
    return Path(expanded).expanduser()


def why_unreadable(written: str, error: OSError) -> tuple[str, str]:
    """The rule and the fix for an unreadable kubeconfig. written: its path before the expansion."""
    for variable in VARIABLE.finditer(written):
        name = variable.group(1) or variable.group(2)
        if not os.environ.get(name):
            rule = f"environment variable {name} is not set"
            return rule, f"Set it to the path of a kubeconfig, or write the path in place of {variable.group()}"
    if len(several := listed(os.path.expandvars(written))) > 1:
        if none := _why_none(several):
            return none, "Correct the paths"
        rule = f"{written} lists several files, but only one is allowed"
        return rule, "Give one of them, or merge them: (umask 077; kubectl config view --raw --flatten > FILE)"
    return f"cannot be read ({error.strerror})", "Check the path and the file's mode"


def _why_none(files: Sequence[str]) -> str:
    return f"none of these files exists: {', '.join(files)}" if all(map(_is_missing, files)) else ""


def _is_missing(file: str) -> bool:
    try:
        Path(file).expanduser().stat()
    except FileNotFoundError:
        return True
    except OSError:
        return False  # it exists, but cannot be read
    return False
