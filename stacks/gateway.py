"""Stack `gateway`: one entry for all meshes of a control plane's cluster. Meshes' stacks add their hosts themselves."""

from __future__ import annotations

from typing import Any

from pulumi_hosted_mesh import GatewayStack, SharedGateway, StackSettings, control_plane_cluster

from stacks import configuration


async def build(_settings: StackSettings) -> dict[str, Any]:
    """Outputs, all public: `facts` (namespace, zones and ports, for meshes' stacks), `addresses` (of its load
    balancer)."""
    document = configuration.document(GatewayStack, "gateway")
    made = SharedGateway(
        "shared",
        {
            "gateway": document.gateway.arguments(),
            "cluster": control_plane_cluster(document.cluster, "gateway.cluster", configuration.SOURCE),
        },
    )
    return {"facts": made.facts, "addresses": made.addresses}
