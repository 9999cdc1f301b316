"""The delay before external-dns' next pass. External-dns starts a pass each second and waits for its first response."""

from __future__ import annotations

import time
from typing import Protocol

MAX_SHARE = 10
"""A pass takes at most one part in so many of the time."""
MAX_SECONDS = 5.0
"""Upper limit of the delay after a successful pass: the time that external-dns itself waits after an event."""
FIRST_RETRY_SECONDS = 1.0


class Clock(Protocol):
    """The module `time`, or a test's replacement."""

    def monotonic(self) -> float: ...
    def sleep(self, seconds: float, /) -> None: ...


class SyncThrottle:
    """max_retry: most seconds between two failing passes. A pass with few records starts without delay."""

    def __init__(self, max_retry: float, clock: Clock = time) -> None:
        self._max_retry, self._clock = max_retry, clock
        self._started = self._due = 0.0
        self._retry, self._failed = FIRST_RETRY_SECONDS, False

    def wait(self) -> None:
        """Blocks until the next pass may start."""
        self._clock.sleep(max(self._due - self._clock.monotonic(), 0.0))

    def started(self) -> None:
        """Records that the pass got its first response."""
        self._retry = self._retry if self._failed else FIRST_RETRY_SECONDS
        self._started, self._failed = self._clock.monotonic(), False

    def planned(self) -> None:
        """Records that the pass has read everything and computes its changes."""
        self._due = self._started + min(MAX_SHARE * (self._clock.monotonic() - self._started), MAX_SECONDS)

    def failed(self) -> None:
        """Delays the next pass, and each further one longer."""
        self._due, self._failed = self._clock.monotonic() + self._retry, True
        self._retry = min(2 * self._retry, self._max_retry)
