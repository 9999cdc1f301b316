"""The Pulumi engine's event log: read while it grows, as notes, a summary, or an error for people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Event = Mapping[str, Any]
_MOST_ERRORS = 6  # shown; the rest is in the log
# Printed besides the error itself, without help for people.
_NOISE = ("preview failed", "update failed", "update canceled", "resource plugin", "one or more errors occurred")


@dataclass(frozen=True)
class Changes:
    """The result of a run or a preview: numbers of resources, and the wall clock in seconds."""

    create: int = 0
    update: int = 0
    replace: int = 0
    delete: int = 0
    same: int = 0
    seconds: float = 0.0

    @property
    def total(self) -> int:
        """The number of touched resources; 0 means that the run had no changes."""
        return self.create + self.update + self.replace + self.delete

    def __str__(self) -> str:
        """One line: "55 created", or "0 changes (55 unchanged)"."""
        words = {"created": self.create, "updated": self.update, "replaced": self.replace, "deleted": self.delete}
        text = ", ".join(f"{number} {word}" for word, number in words.items() if number) or "0 changes"
        return f"{text} ({self.same} unchanged)" if self.same else text


class EventLog:
    """A file of the engine with one JSON object a line; a new phase (update after preview) starts afresh."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._inode = 0
        self._offset = 0

    def new(self) -> Iterator[Event]:
        """The events since the last call; an unfinished line waits for the next."""
        try:
            with self._path.open("rb") as file:
                status = self._path.stat()
                if status.st_ino != self._inode or status.st_size < self._offset:
                    self._inode, self._offset = status.st_ino, 0
                file.seek(self._offset)
                whole, newline, _ = file.read().rpartition(b"\n")
        except FileNotFoundError:
            return
        self._offset += len(whole) + len(newline)
        for line in whole.splitlines():
            yield json.loads(line)


@dataclass
class Story:
    """The story of the events so far: notes for people, errors, and the numbers at the end."""

    phase: str
    finished: int = 0
    errors: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    changes: Changes = field(default_factory=Changes)

    def take(self, event: Event) -> str | None:
        """Takes one event in; returns a note if it starts a new activity."""
        if metadata := event.get("resourcePreEvent", {}).get("metadata"):
            if metadata["op"] != "same":
                return f"{self.phase}, {self.finished} done: {metadata['op']} {short_name(metadata['urn'])}"
        elif event.get("resOutputsEvent"):
            self.finished += 1
        elif failure := event.get("resOpFailedEvent", {}).get("metadata"):
            return f"failed: {failure['op']} {short_name(failure['urn'])}"
        elif summary := event.get("summaryEvent"):
            self.changes = _changes(summary)
        elif violation := event.get("policyEvent"):
            self._violation(violation)
        elif diagnostic := event.get("diagnosticEvent"):
            self._diagnostic(diagnostic)
        return None

    def reason(self) -> str:
        """The reason of a failure: each error's first line, without noise; else the program's last words."""
        distinct = list(dict.fromkeys(self.errors))
        if not distinct:
            return "\n".join(self.messages[-_MOST_ERRORS:])
        rest = [f"and {len(distinct) - _MOST_ERRORS} more"] if len(distinct) > _MOST_ERRORS else []
        return "\n".join([*distinct[:_MOST_ERRORS], *rest])

    def _violation(self, event: Event) -> None:
        if event.get("enforcementLevel") == "mandatory":
            where = short_name(event["resourceUrn"]) if event.get("resourceUrn") else "the stack"
            self.errors.append(f"policy {event['policyName']}, {where}: {_first_line(event['message'])}")

    def _diagnostic(self, event: Event) -> None:
        text = event.get("message", "").strip()
        severity = event.get("severity", "")
        if not text or severity == "debug":
            return
        if severity.startswith("info"):
            self.messages.append(text)
        if severity == "error" and not text.removeprefix("error: ").startswith(_NOISE):
            where = f"{short_name(event['urn'])}: " if event.get("urn") else ""
            self.errors.append(where + _first_line(text.removeprefix("error: ")))


def short_name(urn: str) -> str:
    """A short name of a URN: urn:pulumi:s::p::parent$kubernetes:apps/v1:Deployment::istiod is "Deployment istiod"."""
    kind, _, name = urn.partition("::")[2].partition("::")[2].partition("::")
    return f"{kind.rpartition('$')[2].rpartition(':')[2]} {name}"


def _first_line(text: str) -> str:
    """The first line; of a Python traceback the last one, which has the exception."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    traceback = any(line.startswith("Traceback") for line in lines)
    return (lines[-1] if traceback else lines[0]) if lines else ""


def _changes(summary: Event) -> Changes:
    counts: Mapping[str, int] = summary.get("resourceChanges") or {}
    replaced = max(counts.get(word, 0) for word in ("replace", "create-replacement", "delete-replaced"))
    return Changes(
        create=counts.get("create", 0),
        update=counts.get("update", 0),
        replace=replaced,
        delete=counts.get("delete", 0),
        same=counts.get("same", 0),
        seconds=float(summary.get("durationSeconds", 0)),
    )
