"""One mesh over separate stacks: the configuration by each stack's own deployer."""

from __future__ import annotations

import copy
from typing import Any

HERE = "organization/hosted-mesh"


def split_configs(mesh: dict[str, Any], endpoints: list[dict[str, Any]] | None = None) -> dict[str, dict[str, Any]]:
    """The stacks' configurations in the order of their runs, of one mesh document with one membership.

    Only the data plane's own document has the location of its cluster. endpoints: the facts in a file for its side; by
    default it reads them from the stack `control-plane`.
    """
    control_plane, membership = copy.deepcopy(mesh), copy.deepcopy(mesh["memberships"][0])
    del control_plane["memberships"][0]["cluster"]
    membership.pop("crds", None)  # the stack `cluster`'s
    document = {**membership, "mesh": mesh["name"], "charts": mesh["revisions"][0]["charts"]}
    told = {"endpoints": endpoints} if endpoints else {"references": {"controlPlane": f"{HERE}/control-plane"}}
    references = {name: f"{HERE}/{name}" for name in ("trust", "root", "access")}
    root = {"name": mesh["name"], "trust": mesh["trust"], "stacks": {mesh["name"]: f"{HERE}/trust"}}
    configs = {
        "trust": {"mesh": control_plane},
        "root": {"root": root},
        "access": {"dataPlane": document},
        "control-plane": {"mesh": control_plane, "references": references},
        "data-plane": {"dataPlane": document, **told},
    }
    return {name: copy.deepcopy(config) for name, config in configs.items()}
