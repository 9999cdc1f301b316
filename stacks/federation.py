"""Stack `federation`: one mesh's part of a federation. Needs a credential of that mesh's data plane and no other.

Facts of peers come from the document, from files, or from outputs of the peers' stacks.
"""

from __future__ import annotations

from typing import Any

import pulumi
from pulumi_hosted_mesh import (
    Federation,
    FederationMember,
    InvalidInputError,
    MeshFederation,
    Offer,
    Problem,
    StackKind,
    StackSettings,
    data_plane_cluster,
    filled_document,
    gateway_address_of,
    peers_without_address,
    peers_without_root,
    read_document,
)

from stacks import configuration, references


async def _document(settings: StackSettings) -> Federation:
    """The document. Missing gateway addresses and root certificates are outputs of the peers' stacks."""
    content, named = configuration.content("federation"), settings.references
    addresses = dict[str, str]()
    for mesh in peers_without_address(content):
        if mesh in named.data_planes:
            field = f"references.dataPlanes.{mesh}"
            stack = references.stack(named.data_planes[mesh], field, StackKind.DATA_PLANE, StackKind.ALL_IN_ONE)
            addresses[mesh] = gateway_address_of(content, mesh, await stack.plain_output("gateway_addresses", dict))
    roots, read = dict[str, str](), dict[str, str]()
    for mesh in peers_without_root(content):
        if mesh in named.roots:
            # With trust complete all peers name one stack; the engine allows one reference to it.
            name = named.roots[mesh]
            if name not in read:
                stack = references.stack(name, f"references.roots.{mesh}", StackKind.ROOT)
                read[name] = await stack.plain_output("certificate", str)
            roots[mesh] = read[name]
    if not addresses and not roots:
        return configuration.document(Federation, "federation")
    return read_document(Federation, filled_document(content, addresses, roots), configuration.called("federation"))


async def build(settings: StackSettings) -> dict[str, Any]:
    """Outputs, public: `hosts`, the names that this mesh imports; `offer`, its exports for its peers' stacks."""
    federation = await _document(settings)
    member = configuration.document(FederationMember, "member")
    offers = configuration.documents(Offer, "offers")
    offers += await _offers(settings, federation, {one.mesh for one in offers}, member.mesh)
    made = MeshFederation(
        f"{federation.name}-{member.mesh}",
        {
            "federation": federation.arguments(),
            "mesh": member.mesh,
            "cluster": data_plane_cluster(member.cluster, "member.cluster", configuration.SOURCE),
            "offers": [one.arguments() for one in offers],
        },
    )
    return {"hosts": made.hosts, "offer": made.offer}


async def _offers(settings: StackSettings, federation: Federation, given: set[str], own: str) -> list[Offer]:
    """The offers in outputs of peers' stacks `federation`. given: meshes with an offer in the configuration.

    Two meshes that import from each other read each other's stacks. So a stack without the output offers nothing yet.
    """
    found = []
    for mesh, name in settings.references.federations.items():
        field = f"references.federations.{mesh}"
        if mesh == own or mesh not in {one.mesh for one in federation.peers}:
            rule = "names this mesh itself" if mesh == own else "names no peer of the federation"
            problem = Problem(field, rule, "Remove it, or correct the name of the mesh")
            raise InvalidInputError([problem], configuration.SOURCE)
        if mesh in given:
            continue
        stack = references.stack(name, field, StackKind.FEDERATION)
        output = await stack.optional_output("offer", dict)
        if output is None:
            pulumi.log.warn(f"{field}: the stack has no output offer yet. Run `pulumi up` there, and then here again.")
            found.append(Offer(federation=federation.name, mesh=mesh))
            continue
        offer = read_document(Offer, output, f"the output offer of the stack under {field}")
        if (offer.federation, offer.mesh) != (federation.name, mesh):
            rule = f"names a stack of mesh {offer.mesh} in federation {offer.federation}"
            raise InvalidInputError([Problem(field, rule, f"Name the stack of {mesh}")], configuration.SOURCE)
        found.append(offer)
    return found
