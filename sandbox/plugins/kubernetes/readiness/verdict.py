"""The words between the conditions and the loop that waits for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from sandbox.plugins.kubernetes.objects import Gvk, Object

ENDPOINTS: Final = Gvk("", "v1", "Endpoints")
PODS: Final = Gvk("", "v1", "Pod")
REPLICA_SETS: Final = Gvk("apps", "v1", "ReplicaSet")


@dataclass(frozen=True)
class View:
    """What is known when a judgement is asked for.

    target: the object as it was when the wait began. own: as seen since, None before (or after it was deleted).
    others: per kind that the condition looks at, the objects of the namespace by name. settled: whether the last change
    to its Endpoints is long enough ago. last: it is the last look.
    """

    target: Object
    own: Object | None
    others: Mapping[Gvk, Mapping[str, Object]] = field(default_factory=dict)
    settled: bool = False
    last: bool = False

    def all(self, kind: Gvk) -> Mapping[str, Object]:
        """The objects of that kind, by name."""
        return self.others.get(kind, {})


@dataclass(frozen=True)
class Verdict:
    """done: ready. note: what it waits for, for people. reasons: if time ran out now."""

    done: bool
    note: str = ""
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Condition:
    """When a kind is ready. others: kinds to look at too. seconds: the most to wait, None as the resource says.

    on_read: judged when reading too (refresh), so that what broke since shows.
    """

    judge: Callable[[View], Verdict]
    others: tuple[Gvk, ...] = ()
    seconds: float | None = None
    on_read: bool = False
