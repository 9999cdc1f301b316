"""Stack `federation`: one mesh's part of a federation. Needs a credential of that mesh's data plane and no other."""

from __future__ import annotations

from typing import Any

from pulumi_hosted_mesh import MeshFederation
from pulumi_hosted_mesh.assembly.document import data_plane_cluster
from pulumi_hosted_mesh.spec.federation import Federation, FederationMember, Offer
from pulumi_hosted_mesh.spec.stack import StackSettings

from stacks import configuration


async def build(settings: StackSettings) -> dict[str, Any]:  # noqa: ARG001 (every stack is built so)
    """Outputs: `hosts`, the names that this mesh imports."""
    federation = configuration.document(Federation, "federation")
    member = configuration.document(FederationMember, "member")
    offers = configuration.documents(Offer, "offers")
    made = MeshFederation(
        f"{federation.name}-{member.mesh}",
        {
            "federation": federation.arguments(),
            "mesh": member.mesh,
            "cluster": data_plane_cluster(member.cluster, "member.cluster", configuration.SOURCE),
            "offers": [one.arguments() for one in offers],
        },
    )
    return {"hosts": made.hosts}
