"""Seconds, measured in rounds, and ratios of them."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


def timed(work: Callable[[], T], clock: Callable[[], float] = time.monotonic) -> tuple[T, float]:
    """The result of the work, and its seconds by this clock."""
    began = clock()
    result = work()
    return result, clock() - began


def seconds(work: Callable[[], object]) -> float:
    """The duration of the work."""
    return timed(work)[1]


@dataclass(frozen=True)
class Samples:
    """One figure, measured several times in the order of the rounds. Never empty."""

    values: Sequence[float]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def least(self) -> float:
        return min(self.values)

    @property
    def most(self) -> float:
        return max(self.values)

    def quantile(self, share: float) -> float:
        """The least value that this share of all values does not exceed; the median lies between two of them."""
        if share == 0.5:
            return self.median
        ordered = sorted(self.values)
        return ordered[math.ceil(share * len(ordered)) - 1]

    def figures(self, unit: str) -> list[str]:
        """Median, least and most, in the tables' form."""
        return [f"{value:.2f}{unit}" for value in (self.median, self.least, self.most)]

    def __sub__(self, floor: Samples) -> Samples:
        """Differences round by round, for the same reason as ratios."""
        return Samples([mine - its for mine, its in zip(self.values, floor.values, strict=True)])

    def __truediv__(self, floor: Samples) -> Samples:
        """Ratios round by round, so that a slow machine slows both sides."""
        return Samples([mine / its for mine, its in zip(self.values, floor.values, strict=True)])
