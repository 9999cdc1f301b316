"""What a preview shows for the update that follows (made by `pack.preview_evidence`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Evidence:
    """`paths`: per URN, the properties whose secrets are not the control plane's. `users`: URNs all of whose secrets
    come from the user's own sources. `foreign`: per URN of the provider's cluster, the properties that hold only the
    user's."""

    paths: Mapping[str, frozenset[str]] = field(default_factory=dict)
    users: frozenset[str] = frozenset()
    foreign: Mapping[str, frozenset[str]] = field(default_factory=dict)
