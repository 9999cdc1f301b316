"""A rule's verdict on a resource."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Severity(Enum):
    """Severity, in Pulumi's words."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class Undeclared(str):
    """The text of a verdict that rests only on an undeclared owner."""

    __slots__ = ()


class Warned(str):
    """The text of a warning, at any level of its rule."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One violation. `what` and `path` name places and never contain a value or a part of one.

    `rule` is the policy's name, `urn` the resource, `path` its property ("" for the whole resource). `advisory` lowers
    a mandatory policy's level for this verdict.
    """

    rule: str
    urn: str
    path: str
    what: str
    advisory: bool = False

    @property
    def message(self) -> str:
        return f"{self.path}: {self.what}" if self.path else self.what
