"""Stack `trust`: the mesh's certificate authorities. Touches no cluster; its state holds both keys."""

from __future__ import annotations

from typing import Any

from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.stack import StackSettings
from pulumi_hosted_mesh.trust.authorities import MeshTrust


async def build(mesh: Mesh, _settings: StackSettings) -> dict[str, Any]:
    """Outputs: `root_certificate` (public PEM, for `data-plane`), `cacerts` (secret, for `control-plane`)."""
    trust = MeshTrust(mesh.name, trust=mesh.trust)
    return {"root_certificate": trust.root_certificate, "cacerts": trust.cacerts.files}
