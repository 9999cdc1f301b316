"""Stack `root`: a root certificate authority, which signs the intermediates of one mesh or of several.

It changes no cluster. Its state holds the root's key: give the root's owner access to it, and no deployer.
"""

from __future__ import annotations

from typing import Any

import pulumi
from pulumi_hosted_mesh import (
    MeshRoot,
    MeshRootArgs,
    NameConstraints,
    RootSettings,
    StackKind,
    StackSettings,
    read_document,
)

from stacks import configuration, references

FIX = "Run `pulumi up` of its stack `trust`, or add its names to nameConstraints"


async def build(_settings: StackSettings) -> dict[str, Any]:
    """Outputs, all public: `certificate` (the root's, PEM), `certificates` (intermediates by name of the mesh)."""
    document = configuration.document(RootSettings, "root")
    requests: dict[str, pulumi.Input[str]] = {**document.requests}
    permitted: dict[str, NameConstraints] = {}
    for mesh, name in document.stacks.items():
        trust = references.stack(name, f"root.stacks.{mesh}", StackKind.TRUST)
        if not await trust.is_empty(
            f"Mesh {mesh} gets no certificate. Run `pulumi up` of that stack, then of this one"
        ):
            requests[mesh] = trust.output("request")
            if document.is_constrained and (names := await trust.optional_output("name_constraints", dict)):
                permitted[mesh] = read_document(NameConstraints, names, f"output name_constraints of {name}")
    if document.is_constrained:
        permitted |= document.name_constraints
        for mesh in sorted(requests.keys() - permitted.keys()):
            pulumi.log.warn(f"root: the intermediate of {mesh} may sign for every mesh under it. {FIX}")
    arguments: MeshRootArgs = {
        "trust": document.trust.arguments(),
        "requests": requests,
        "name_constraints": {mesh: names.arguments() for mesh, names in permitted.items()},
    }
    root = MeshRoot(document.name, arguments)
    return {"certificate": root.certificate, "certificates": root.certificates}
