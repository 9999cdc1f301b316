"""When the next pass of an external-dns may begin, which looks for work every second: it waits for its first answer."""

from __future__ import annotations

import time
from typing import Protocol

SHARE = 10
"""A pass takes at most one part in so many of the time."""
LONGEST_SECONDS = 5.0
"""With however many records: as long as external-dns waits after an event."""
FIRST_SECONDS = 1.0


class Clock(Protocol):
    """The module `time`, or a test's."""

    def monotonic(self) -> float: ...
    def sleep(self, seconds: float, /) -> None: ...


class Pace:
    """longest: seconds between two passes that fail. A pass with few records is let through at once."""

    def __init__(self, longest: float, clock: Clock = time) -> None:
        self._longest, self._clock = longest, clock
        self._began = self._due = 0.0
        self._pause, self._failed = FIRST_SECONDS, False

    def wait(self) -> None:
        """Until the next pass may begin."""
        self._clock.sleep(max(self._due - self._clock.monotonic(), 0.0))

    def begin(self) -> None:
        """Its first answer goes out."""
        self._pause = self._pause if self._failed else FIRST_SECONDS
        self._began, self._failed = self._clock.monotonic(), False

    def planned(self) -> None:
        """It has asked for all that it asks for before it writes."""
        self._due = self._began + min(SHARE * (self._clock.monotonic() - self._began), LONGEST_SECONDS)

    def failed(self) -> None:
        """Something was refused, so the next one waits, longer each time."""
        self._due, self._failed = self._clock.monotonic() + self._pause, True
        self._pause = min(2 * self._pause, self._longest)
