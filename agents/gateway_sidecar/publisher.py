"""Validates Envoy's configuration of the rows, and writes it as files that Envoy follows."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from . import envoy_config
from .rows import Row
from .settings import Settings

VALIDATION_SECONDS: Final = 60
INVALID: Final = "Envoy rejects its configuration"
Rows = tuple[Row, ...]


class Publisher:
    """Keeps the files of listeners and clusters. folder: Envoy's. valid: whether Envoy accepts rows together."""

    def __init__(self, settings: Settings, folder: Path, valid: Callable[[Rows], bool]) -> None:
        self._settings, self._folder, self._valid = settings, folder, valid
        self.published: Rows | None = None

    def publish(self, rows: Rows) -> dict[str, str]:
        """Writes the configuration of all rows that Envoy accepts. Returns the reasons of the others, by host.

        One row that Envoy rejects leaves the others served: rows as published before come first, and the changed ones
        are added one by one.
        """
        if rows == self.published:
            return {}
        accepted = rows if self._valid(rows) else self._accepted(rows)
        if accepted != self.published:
            # Clusters first: a new listener refers to them.
            self._write("clusters.json", envoy_config.clusters(accepted, self._settings))
            self._write("listeners.json", envoy_config.listeners(accepted, self._settings))
            self.published = accepted
        return {row.host: INVALID for row in rows if row not in accepted}

    def _accepted(self, rows: Rows) -> Rows:
        before = set(self.published or ())
        accepted = tuple(row for row in rows if row in before)
        if not self._valid(accepted):
            accepted = ()
        for row in rows:
            if row not in accepted and self._valid(more := tuple(sorted({*accepted, row}))):
                accepted = more
        return accepted

    def _write(self, name: str, resources: Iterable[Any]) -> None:
        """Replaces a file at once: Envoy reads it when a new one is moved there."""
        new = self._folder / f".{name}"
        new.write_text(json.dumps({"resources": [*resources]}), encoding="utf-8")
        new.replace(self._folder / name)


def validator(envoy: Path, settings: Settings, folder: Path) -> Callable[[Rows], bool]:
    """A function that runs `envoy --mode validate`. folder: for its file."""
    candidate = folder / "candidate.json"
    command = [str(envoy), "--mode", "validate", "--config-path", str(candidate), "--log-level", "error"]

    def valid(rows: Rows) -> bool:
        static = {
            "listeners": _untyped(envoy_config.listeners(rows, settings)),
            "clusters": _untyped(envoy_config.clusters(rows, settings)),
        }
        candidate.write_text(json.dumps({"static_resources": static}), encoding="utf-8")
        done = subprocess.run(command, capture_output=True, timeout=VALIDATION_SECONDS, check=False)
        return done.returncode == 0

    return valid


def _untyped(resources: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """As parts of a whole configuration, which names no types of them."""
    return [{key: value for key, value in one.items() if key != "@type"} for one in resources]
