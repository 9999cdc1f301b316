"""Stack `access`: istiod's account on a data plane."""

from __future__ import annotations

from typing import Any

from pulumi_hosted_mesh import DataPlane, DataPlaneAccess, StackSettings, TokenKind, data_plane_cluster

from stacks import configuration


async def build(settings: StackSettings) -> dict[str, Any]:
    """Outputs: `kubeconfig` (secret, for `control-plane`), `token_generation` of a long-lived token."""
    document = configuration.document(DataPlane, "dataPlane")
    access = document.access.arguments()
    if settings.token:
        access |= {"token_generation": settings.token.generation, "keep_previous_token": settings.token.keep_previous}
    made = DataPlaneAccess(
        document.mesh,
        {
            "mesh": document.mesh,
            "cluster": data_plane_cluster(document.cluster, "dataPlane.cluster", configuration.SOURCE),
            "access": access,
            "cluster_id": document.cluster_id_in(document.mesh),
            "network": document.network_in(document.mesh),
        },
    )
    facts: dict[str, Any] = {"kubeconfig": made.kubeconfig}
    if document.access.token is TokenKind.LONG_LIVED:
        facts["token_generation"] = access.get("token_generation", 1)
    return facts
