"""Stack `intents`: the objects of an application's intents in one cluster. Needs a credential of that cluster alone."""

from __future__ import annotations

from typing import Any

from pulumi_hosted_mesh import Intents, IntentsTarget, Inventory, StackSettings, TrafficIntents, data_plane_cluster

from stacks import configuration


async def build(_settings: StackSettings) -> dict[str, Any]:
    """Outputs: `pending`, and `exports` and `imports` for this mesh's peer in a federation document."""
    intents = configuration.document(Intents, "intents")
    inventory = configuration.document(Inventory, "inventory")
    target = configuration.document(IntentsTarget, "target")
    made = TrafficIntents(
        f"{intents.project}-{target.name}",
        {
            "intents": intents.arguments(),
            "inventory": inventory.arguments(),
            "target": target.name,
            "cluster": data_plane_cluster(target.cluster, "target.cluster", configuration.SOURCE),
        },
    )
    return {"pending": made.pending, "exports": made.exports, "imports": made.imports}
