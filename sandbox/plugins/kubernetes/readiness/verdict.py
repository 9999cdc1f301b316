"""The words between the conditions and the loop that waits for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from sandbox.plugins.kubernetes.objects import Gvk, Object

OWN: Final = "own"
ENDPOINTS: Final = "endpoints"
PODS: Final = "pods"
REPLICA_SETS: Final = "replica sets"
CLAIMS: Final = "claims"

OTHERS: Final[Mapping[str, Gvk]] = {
    ENDPOINTS: Gvk("", "v1", "Endpoints"),
    PODS: Gvk("", "v1", "Pod"),
    REPLICA_SETS: Gvk("apps", "v1", "ReplicaSet"),
    CLAIMS: Gvk("", "v1", "PersistentVolumeClaim"),
}


@dataclass(frozen=True)
class View:
    """What is known when a judgement is asked for.

    target: the object as it was when the wait began. own: as seen since, None before (or after it was deleted).
    others: per name of OTHERS, the objects of the namespace by name. settled: whether the last change to its
    Endpoints is long enough ago. last: it is the last look.
    """

    target: Object
    own: Object | None
    others: Mapping[str, Mapping[str, Object]] = field(default_factory=dict)
    settled: bool = False
    last: bool = False

    def all(self, name: str) -> Mapping[str, Object]:
        """The watched objects of that name of OTHERS, by object name."""
        return self.others.get(name, {})


@dataclass(frozen=True)
class Verdict:
    """done: ready. failed: never going to be. note: what it waits for, for people. reasons: if time ran out now."""

    done: bool
    note: str = ""
    reasons: tuple[str, ...] = ()
    failed: bool = False


@dataclass(frozen=True)
class Condition:
    """When a kind is ready. watches: names of OTHERS to watch too. seconds: the most to wait, None as the resource
    says. on_read: judged when reading too (refresh), so that what broke since shows. settles: needs quiet Endpoints."""

    judge: Callable[[View], Verdict]
    watches: tuple[str, ...] = ()
    seconds: float | None = None
    on_read: bool = False
    settles: bool = False
