"""Files that a kubeconfig refers to: what leaves it must mean the same in another directory."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pulumi_hosted_mesh.problems import RuleBrokenError


def with_content(entry: Mapping[str, Any], directory: Path | None) -> dict[str, Any]:
    """A cluster's or user's entry with files replaced by their content, and its program named by its whole path.

    directory: of the kubeconfig, which its relative paths start at; None if it comes from no file.
    Raises: RuleBrokenError for a file that cannot be read, or a relative path that starts nowhere.
    """
    result = dict(entry)
    for key in ("certificate-authority", "client-certificate", "client-key"):
        if path := result.pop(key, None):
            content = _read(str(path), key, directory)
            result.setdefault(f"{key}-data", base64.b64encode(content).decode())
    if path := result.pop("tokenFile", None):
        token = _read(str(path), "tokenFile", directory).decode(errors="replace").strip()
        result.setdefault("token", token)
    plugin = result.get("exec")
    if isinstance(plugin, Mapping) and "/" in str(plugin.get("command")):
        result["exec"] = {**plugin, "command": str(_found(str(plugin["command"]), "exec.command", directory))}
    return result


def _read(path: str, key: str, directory: Path | None) -> bytes:
    found = _found(path, key, directory)
    try:
        return found.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "the path has signs that no path has"
        rule = f"names a file that cannot be read ({key}: {reason})"
        raise RuleBrokenError(rule, "Correct the path in the kubeconfig, or log in anew") from None


def _found(path: str, key: str, directory: Path | None) -> Path:
    """A path in a kubeconfig, as kubectl understands it."""
    if directory is None and not Path(path).is_absolute():
        rule = f"names a file by a relative path ({key}), and a text that comes from no file has no place to start at"
        raise RuleBrokenError(rule, "Take the files in: kubectl config view --raw --flatten --minify")
    return (directory or Path("/")).absolute() / path
