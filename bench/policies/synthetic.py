"""A stack of any size: the resources of `program/`, and the number of their bytes.

Every fifth resource is a Secret on the control plane, the others are ConfigMaps on the data plane. So rows with more
secrets and as many resources scan as many bytes. No secret reaches the data plane: the bench measures a plan that
passes, the slow case, since the pack searches all of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

LINES: Final = 16
"""Lines of settings in one object."""
EVERY: Final = 5
"""One resource in so many belongs to the control plane."""
NO_SECRET: Final = {"note": "none"}


@dataclass(frozen=True)
class Planned:
    """One object. `public` is a ConfigMap's data or a Secret's annotations; `secret` is a Secret's `stringData`."""

    side: Literal["cp", "dp"]
    kind: Literal["ConfigMap", "Secret"]
    name: str
    public: Mapping[str, str]
    secret: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Bytes of its name, keys and values."""
        texts = {**self.public, **self.secret}
        return len(self.name) + sum(len(key) + len(value) for key, value in texts.items())

    @property
    def manifest(self) -> dict[str, Any]:
        """The object without its `stringData`: the caller marks that as secret."""
        metadata: dict[str, Any] = {"name": self.name, "namespace": "default"}
        if self.kind == "Secret":
            return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata | {"annotations": dict(self.public)}}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(self.public)}


def planned(resources: int, secrets: int) -> Iterator[Planned]:
    """`resources` objects, with `secrets` secrets spread evenly over the Secrets among them."""
    places = -(-resources // EVERY)
    for number in range(resources):
        if number % EVERY:
            yield Planned("dp", "ConfigMap", f"app-{number:06}", _settings(number))
        else:
            place = number // EVERY
            mine = range(place * secrets // places, (place + 1) * secrets // places)
            tokens = {f"token-{one}": made_up(one) for one in mine}
            yield Planned("cp", "Secret", f"key-{number:06}", _settings(number), tokens or NO_SECRET)


def made_up(number: int) -> str:
    """A text without access to anything, as random as a token, and the same in each run."""
    return hashlib.sha256(f"bench {number}".encode()).hexdigest()[:40]


def _settings(number: int) -> dict[str, str]:
    """Settings like those of applications: hosts, numbers, words, paths."""
    return {f"setting-{line:02}": _line(number, line) for line in range(LINES)}


def _line(number: int, line: int) -> str:
    texts = (
        f"https://service-{number:06}.example.com:{8000 + line}/v1",
        f"retries={line} timeout={number % 60:02}s balancer=round-robin",
        f"the quick brown fox jumps over lazy dog {number:06}",
        f"/etc/service/{number:06}/part-{line:02}/settings.yaml",
    )
    return texts[line % len(texts)]
