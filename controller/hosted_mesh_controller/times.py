"""Times as text."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(seconds: float) -> str:
    """A time in RFC 3339."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
