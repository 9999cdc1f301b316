"""Replaces a kubeconfig's references to files, so that it works in any directory."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pulumi_hosted_mesh.problems import RuleBrokenError


def with_content(entry: Mapping[str, Any], directory: Path | None) -> dict[str, Any]:
    """A cluster's or user's entry with the content of files in place of paths, and its program by an absolute path.

    directory: of the kubeconfig, for relative paths; None for a text.
    Raises: RuleBrokenError for a file that cannot be read, or a relative path without a directory.
    """
    result = dict(entry)
    for key in ("certificate-authority", "client-certificate", "client-key"):
        path = result.pop(key, None)
        if path and not result.get(f"{key}-data"):  # as in client-go, data come before a file
            content = _read(str(path), key, directory)
            result[f"{key}-data"] = base64.b64encode(content).decode()
    if path := result.pop("tokenFile", None):
        token = _read(str(path), "tokenFile", directory).decode(errors="replace").strip()
        result["token"] = token  # as in client-go, the file comes before a token
    plugin = result.get("exec")
    if isinstance(plugin, Mapping) and "/" in str(plugin.get("command")):
        result["exec"] = {**plugin, "command": str(_found(str(plugin["command"]), "exec.command", directory))}
    return result


def _read(path: str, key: str, directory: Path | None) -> bytes:
    found = _found(path, key, directory)
    try:
        return found.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "the path has invalid characters"
        rule = f"names a file that cannot be read ({key}: {reason})"
        raise RuleBrokenError(rule, "Correct the path in the kubeconfig, or log in again") from None


def _found(path: str, key: str, directory: Path | None) -> Path:
    """A path in a kubeconfig, as kubectl understands it."""
    if directory is None and not Path(path).is_absolute():
        rule = f"names a file by a relative path ({key}), but a kubeconfig given as text has no directory"
        raise RuleBrokenError(rule, "Embed the files: kubectl config view --raw --flatten --minify")
    return (directory or Path("/")).absolute() / path
