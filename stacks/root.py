"""Stack `root`: a root certificate authority, which signs the intermediates of one mesh or of several.

Touches no cluster. Its state holds the root's key, so it is read by those who sign, and by nobody who deploys.
"""

from __future__ import annotations

from typing import Any

import pulumi
from pulumi_hosted_mesh import MeshRoot
from pulumi_hosted_mesh.spec.stack import RootSettings, StackKind, StackSettings

from stacks import configuration, references


async def build(_settings: StackSettings) -> dict[str, Any]:
    """Outputs, all public: `certificate` (the root's, PEM), `certificates` (intermediates by name of the mesh)."""
    document = configuration.document(RootSettings, "root")
    requests: dict[str, pulumi.Input[str]] = {**document.requests}
    for mesh, name in document.stacks.items():
        requests[mesh] = references.stack(name, f"root.stacks.{mesh}", StackKind.TRUST).output("request")
    root = MeshRoot(document.name, {"trust": document.trust.arguments(), "requests": requests})
    return {"certificate": root.certificate, "certificates": root.certificates}
