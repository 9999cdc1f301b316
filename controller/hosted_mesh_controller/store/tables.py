"""The tables. JSON is text with escapes, so that any character of a document fits into any database."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Column, ColumnElement, Float, Index, Integer, MetaData, String, Table, Text, text

from hosted_mesh_controller.vocabulary import State

METADATA: Final = MetaData()

# One row: the version of these tables.
store = Table("store", METADATA, Column("version", Integer, primary_key=True, autoincrement=False))

# The processes that carry out operations on PostgreSQL, in the order of their start.
executors = Table(
    "executors",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("id", String(128), nullable=False, unique=True),
    Column("seen", Float, nullable=False),  # by the database's clock
)

tokens = Table(
    "tokens",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("digest", String(64), nullable=False),  # of 256 random bits: SHA-256 suffices, there is nothing to guess
    Column("role", String(16), nullable=False),
    Column("tenant", String(63)),
    Column("created", Float, nullable=False),
    Column("expires", Float),
    Column("revoked", Float),
)

objects = Table(
    "objects",
    METADATA,
    Column("tenant", String(63), primary_key=True),
    Column("kind", String(32), primary_key=True),
    Column("name", String(63), primary_key=True),
    Column("generation", Integer, nullable=False),
    Column("documents", Text, nullable=False),
    Column("state", String(16), nullable=False),
    Column("ready_generation", Integer, nullable=False, default=0),
    Column("outputs", Text, nullable=False, default="{}"),
    Column("operation", String(32)),
    Column("created", Float, nullable=False),
    Column("changed", Float, nullable=False),
)

operations = Table(
    "operations",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("tenant", String(63), nullable=False),
    Column("kind", String(32), nullable=False),
    Column("name", String(63), nullable=False),
    Column("stack", String(200), nullable=False),
    Column("action", String(16), nullable=False),
    Column("state", String(16), nullable=False),
    Column("generation", Integer, nullable=False),
    Column("documents", Text, nullable=False),
    Column("tag", Integer, nullable=False),  # place in the order of fair queueing
    Column("attempts", Integer, nullable=False, default=0),
    Column("cancel", Integer, nullable=False, default=0),
    Column("created", Float, nullable=False),
    Column("started", Float),
    Column("ended", Float),
    Column("result", Text),
    Column("error", Text),
    Index("operations_of_tenant", "tenant", "created"),
    Index("operations_of_stack", "stack", "state"),
)
_ACTIVE: Final = text(f"state IN ('{State.QUEUED}', '{State.RUNNING}')")
# The lock of a stack: the database admits one operation that is queued or runs.
Index("one_active", operations.c.stack, unique=True, sqlite_where=_ACTIVE, postgresql_where=_ACTIVE)

events = Table(
    "events",
    METADATA,
    Column("operation", String(32), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("time", Float, nullable=False),
    Column("data", Text, nullable=False),
)

idempotency_keys = Table(
    "idempotency_keys",
    METADATA,
    Column("token", String(32), primary_key=True),
    Column("key", String(128), primary_key=True),
    Column("request", String(64), nullable=False),
    Column("status", Integer, nullable=False),
    Column("headers", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("created", Float, nullable=False),
)

# State of an object's upkeep. No row: no check so far, and the policy of the settings.
upkeep = Table(
    "upkeep",
    METADATA,
    Column("tenant", String(63), primary_key=True),
    Column("kind", String(32), primary_key=True),
    Column("name", String(63), primary_key=True),
    Column("repair", String(16)),  # the object's own policy
    Column("checked", Float),
    Column("drift", Text, nullable=False, default="[]"),  # steps that would mend, with paths of fields, no values
    Column("error", Text),
    Column("repairs", Text, nullable=False, default="[]"),  # times
    Column("renewed", Float),
    Column("certificates", Text, nullable=False, default="[]"),
)

# Objects that a custom resource in a cluster orders. A removed resource leaves its row with an empty uid.
sources = Table(
    "sources",
    METADATA,
    Column("tenant", String(63), primary_key=True),
    Column("kind", String(32), primary_key=True),
    Column("name", String(63), primary_key=True),
    Column("cluster", String(63), nullable=False, index=True),
    Column("uid", String(36), nullable=False),
    Column("generation", Integer, nullable=False),  # of the resource, as ordered
)

# Parts of an object that several custom resources order together. A part that leaves goes when `ordered` is applied.
parts = Table(
    "parts",
    METADATA,
    Column("cluster", String(63), primary_key=True),
    Column("resource", String(63), primary_key=True),
    Column("tenant", String(63), nullable=False),
    Column("kind", String(32), nullable=False),
    Column("name", String(63), nullable=False),
    Column("uid", String(36), nullable=False),  # empty: its resource went without the finalizer
    Column("generation", Integer, nullable=False),  # of the resource, as accepted
    Column("spec", Text, nullable=False),  # of the resource, as accepted
    Column("facts", Text, nullable=False),  # of its compilation, for the status
    Column("base", Integer, nullable=False),  # generation of the mesh behind it
    Column("ordered", Integer, nullable=False),  # generation of the object that has this part
    Column("leaving", Integer, nullable=False, default=0),
    Index("parts_of_object", "tenant", "kind", "name"),
)

# Revisions of meshes that discovery found in clusters.
found = Table(
    "found",
    METADATA,
    Column("cluster", String(63), primary_key=True),
    Column("namespace", String(63), primary_key=True),
    Column("revision", String(63), primary_key=True),
    Column("role", String(32), primary_key=True),
    Column("mesh", String(255), nullable=False),
    Column("facts", Text, nullable=False),
    Column("first", Float, nullable=False),
    Column("last", Float, nullable=False),
)

# The last look at each cluster.
looks = Table(
    "looks",
    METADATA,
    Column("cluster", String(63), primary_key=True),
    Column("time", Float, nullable=False),
    Column("readable", Integer, nullable=False),
)

# Services that a federated mesh exports by labels, as the last successful look found them. One row for an object.
offers = Table(
    "offers",
    METADATA,
    Column("tenant", String(63), primary_key=True),
    Column("name", String(63), primary_key=True),
    Column("domain", String(255), nullable=False),  # of the federation, part of the services' hosts
    Column("services", Text, nullable=False),
    Column("changed", Float, nullable=False),  # the first look with these services
)

claims = Table(
    "claims",
    METADATA,
    Column("claim", String(200), primary_key=True),
    Column("tenant", String(63), nullable=False),
    Column("kind", String(32), nullable=False),
    Column("name", String(63), nullable=False),
)

# Users of issuers in the audit log: the column `token` of their entries has the id.
subjects = Table(
    "subjects",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("issuer", Text, nullable=False),
    Column("subject", Text, nullable=False),
)

audit = Table(
    "audit",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("time", Float, nullable=False),
    Column("token", String(32), nullable=False),
    Column("role", String(16), nullable=False),
    Column("tenant", String(63)),
    Column("act", String(32), nullable=False),
    Column("object", String(200), nullable=False),
    Column("operation", String(32)),
    Column("changed", Text, nullable=False),  # paths of fields, no values
)


def of_object(table: Table, tenant: str, kind: str, name: str) -> list[ColumnElement[bool]]:
    """The conditions for a table's rows of one object."""
    return [table.c.tenant == tenant, table.c.kind == kind, table.c.name == name]
