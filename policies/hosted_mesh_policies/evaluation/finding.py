"""What a rule says about a resource."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Severity(Enum):
    """How bad it is; the words are Pulumi's."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class Finding:
    """One violation. `what` and `path` never hold a value or a part of one; they name places.

    `rule` is the policy's name, `urn` the resource to look at, `path` the property on it ("" for the whole resource).
    """

    rule: str
    urn: str
    path: str
    what: str

    @property
    def message(self) -> str:
        return f"{self.path}: {self.what}" if self.path else self.what
