"""Stack `operators`: OLM on the control plane for one hosted cluster. Needs a credential of both clusters."""

from __future__ import annotations

from typing import Any

from pulumi_hosted_mesh import (
    HostedOperators,
    OperatorsStack,
    StackSettings,
    control_plane_cluster,
    data_plane_cluster,
)

from stacks import configuration


async def build(_settings: StackSettings) -> dict[str, Any]:
    """Outputs: `namespace` on the control plane, and `addresses` of packageserver's host (public)."""
    document = configuration.document(OperatorsStack, "operators")
    made = HostedOperators(
        document.operators.name,
        {
            "operators": document.operators.arguments(),
            "control_plane": control_plane_cluster(
                document.control_plane, "operators.controlPlane", configuration.SOURCE
            ),
            "data_plane": data_plane_cluster(document.data_plane, "operators.dataPlane", configuration.SOURCE),
        },
    )
    return {"namespace": made.namespace, "addresses": made.addresses}
