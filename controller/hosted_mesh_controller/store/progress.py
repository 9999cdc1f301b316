"""An object's last operation and its upkeep, beside the rows of another table."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import ColumnElement, FromClause, Table, and_

from hosted_mesh_controller.store.tables import objects, operations, upkeep

KEY: Final = ("tenant", "kind", "name")
"""Columns of an object's key, in each table with rows of objects."""
COLUMNS: Final[tuple[ColumnElement[Any], ...]] = (
    operations.c.action,
    operations.c.state.label("progress"),
    operations.c.started,
    operations.c.ended,
    upkeep.c.checked,
    upkeep.c.drift,
    upkeep.c.repairs,
)


def with_progress(table: Table) -> FromClause:
    """A table with its objects, each with its last operation and its upkeep if there are any: for `COLUMNS`."""
    return (
        table.join(objects, and_(*[table.c[one] == objects.c[one] for one in KEY]))
        .outerjoin(operations, operations.c.id == objects.c.operation)
        .outerjoin(upkeep, and_(*[upkeep.c[one] == objects.c[one] for one in KEY]))
    )
