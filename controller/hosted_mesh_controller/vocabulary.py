"""Words that the interface, the database and the processes share."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

PROJECT: Final = "hosted-mesh"
"""Name of the Pulumi project, as in the program's Pulumi.yaml."""
EVERY_TENANT: Final = "*"


class Role(StrEnum):
    """The rights of a token."""

    PROVIDER = "provider"
    """All tenants, and the provider's own fields and kinds."""
    TENANT = "tenant"
    """Orders of one tenant."""
    READER = "reader"
    """Reads one tenant's objects and operations."""
    ADMISSION = "admission"
    """Answers the webhooks of one tenant's clusters, and nothing else."""


class KindName(StrEnum):
    """The kinds of ordered objects, as in paths; `documents` has their table."""

    MESHES = "meshes"
    FEDERATIONS = "federations"
    DNS_EDGES = "dns-edges"
    DNS = "dns"
    INTENTS = "intents"
    OPERATORS = "operators"
    OBSERVABILITY = "observability"


class Side(StrEnum):
    """The role of a cluster in a mesh."""

    CONTROL_PLANE = "control-plane"
    DATA_PLANE = "data-plane"


class Action(StrEnum):
    """The engine's command."""

    UP = "up"
    DESTROY = "destroy"
    PREVIEW_UP = "preview-up"
    PREVIEW_DESTROY = "preview-destroy"
    CHECK = "check"
    """A preview after a refresh in memory: finds drift."""
    REPAIR = "repair"
    """An `up` after a refresh: mends drift."""
    RENEW = "renew"
    """An `up` because a certificate ends soon."""
    FOLLOW = "follow"
    """An `up` because exported Services came or went."""

    @property
    def previews(self) -> bool:
        """Whether it changes nothing."""
        return self in (Action.PREVIEW_UP, Action.PREVIEW_DESTROY, Action.CHECK)

    @property
    def is_upkeep(self) -> bool:
        """Whether the schedule makes it, and no order."""
        return self in (Action.CHECK, Action.REPAIR, Action.RENEW, Action.FOLLOW)


class Repair(StrEnum):
    """The policy for drift."""

    ALWAYS = "always"
    """Changes by others are mended, within a budget."""
    REPORT = "report"
    """Changes by others stay, and are reported."""


class State(StrEnum):
    """The state of an operation."""

    WAITING = "waiting"
    """Another operation of the same object comes first."""
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REPLACED = "replaced"
    """A newer order of the same object came before its start."""

    @property
    def ended(self) -> bool:
        """Whether it changes no more."""
        return self not in (State.WAITING, State.QUEUED, State.RUNNING)


OPEN: Final = tuple(str(state) for state in State if not state.ended)
"""States of operations that have not ended."""


class ObjectState(StrEnum):
    """The state of an ordered object."""

    PENDING = "pending"
    READY = "ready"
    FAILED = "failed"
    DELETING = "deleting"


def stack_name(tenant: str, kind: str, name: str) -> str:
    """The stack of an object. Each part is a DNS label, so the dots are unambiguous."""
    return f"{tenant}.{kind}.{name}"
