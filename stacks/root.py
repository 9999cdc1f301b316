"""Stack `root`: a root certificate authority, which signs the intermediates of one mesh or of several.

It changes no cluster. Its state holds the root's key: give the root's owner access to it, and no deployer.
"""

from __future__ import annotations

from typing import Any

import pulumi
from pulumi_hosted_mesh import MeshRoot, RootSettings, StackKind, StackSettings

from stacks import configuration, references


async def build(_settings: StackSettings) -> dict[str, Any]:
    """Outputs, all public: `certificate` (the root's, PEM), `certificates` (intermediates by name of the mesh)."""
    document = configuration.document(RootSettings, "root")
    requests: dict[str, pulumi.Input[str]] = {**document.requests}
    for mesh, name in document.stacks.items():
        trust = references.stack(name, f"root.stacks.{mesh}", StackKind.TRUST)
        if not await trust.is_empty(
            f"Mesh {mesh} gets no certificate. Run `pulumi up` of that stack, then of this one"
        ):
            requests[mesh] = trust.output("request")
    root = MeshRoot(document.name, {"trust": document.trust.arguments(), "requests": requests})
    return {"certificate": root.certificate, "certificates": root.certificates}
