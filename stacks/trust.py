"""Stack `trust`: the key of a mesh's intermediate authority. It changes no cluster; its state holds that key."""

from __future__ import annotations

from typing import Any

from pulumi_hosted_mesh import Mesh, MeshTrust, StackSettings, name_constraints

from stacks import configuration


async def build(_settings: StackSettings) -> dict[str, Any]:
    """Outputs: `request`, `name_constraints` (public, for `root`), `private_key` (secret, for `control-plane`)."""
    mesh = configuration.document(Mesh, "mesh")
    trust = MeshTrust(mesh.name, {"trust": mesh.trust.arguments()})
    permitted = name_constraints(mesh).model_dump(mode="json", by_alias=True)
    return {"request": trust.request, "name_constraints": permitted, "private_key": trust.private_key}
