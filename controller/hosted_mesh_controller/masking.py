"""Masks the secrets of an operation in text for events and logs."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

MASK = "[secret]"
SHORTEST = 6
"""Shorter values are left: masking them would destroy the text."""
_SECRET_FIELDS = ("token", "password", "client-key-data", "id-token", "refresh-token", "client-secret")


class Masker:
    """Replaces known secrets, and each of their lines, by a mask."""

    def __init__(self, secrets: Iterable[str]) -> None:
        parts = {line.strip() for secret in secrets for line in (secret, *secret.splitlines())}
        plain = {one for one in parts if len(one) >= SHORTEST and not one.startswith("-----")}
        self._secrets = sorted(plain, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """The text without the secrets."""
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return text


def secrets_of_kubeconfig(path: Path) -> Iterator[str]:
    """Tokens, passwords and keys of a kubeconfig file; none for an unreadable file."""
    try:
        content: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        users = [one.get("user") or {} for one in content.get("users") or ()]
    except (OSError, ValueError, AttributeError, TypeError, yaml.YAMLError):
        return
    for user in users:
        config = (user.get("auth-provider") or {}).get("config") or {}
        for field in _SECRET_FIELDS:
            value = user.get(field) or config.get(field)
            if isinstance(value, str):
                yield value
                if field.endswith("-data"):
                    try:
                        yield base64.b64decode(value).decode()
                    except (binascii.Error, UnicodeDecodeError):
                        continue
        for name in ("tokenFile", "client-key"):
            if isinstance(user.get(name), str):
                file = (path.parent / user[name]).expanduser()
                if file.is_file():
                    yield file.read_text(encoding="utf-8", errors="replace")
