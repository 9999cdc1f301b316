"""Stack `control-plane`: istiod in the control plane's cluster."""

from __future__ import annotations

from typing import Any

import pulumi
from pulumi_hosted_mesh import (
    DEFAULT_MEMBERSHIP,
    Authority,
    ExternalControlPlane,
    ExternalControlPlaneArgs,
    InvalidInputError,
    Mesh,
    Problem,
    StackKind,
    StackSettings,
    cacerts,
    check_charts,
    control_plane_cluster,
    mesh_authority,
    require_split,
    when_known,
)

from stacks import configuration, references


async def build(settings: StackSettings) -> dict[str, Any]:
    """Outputs: `endpoints` (public facts, by membership and revision), `revisions` (their names, in the document's
    order, which a mapping among outputs does not keep), `addresses` (of istiod's hosts, public), `api_server_clients`
    (source addresses for the owners of the data planes' API servers, public)."""
    mesh = configuration.document(Mesh, "mesh")
    require_split(mesh, configuration.called("mesh"))
    check_charts(mesh)
    cluster = control_plane_cluster(mesh.control_plane.cluster, "controlPlane.cluster", configuration.called("mesh"))
    trusted = mesh_authority(
        mesh.trust,
        lambda: signed_elsewhere(mesh.owner, settings),
        brought=settings.cacerts,
        root_certificate=settings.root_certificate,
        source=configuration.SOURCE,
    )
    arguments: ExternalControlPlaneArgs = {
        "mesh": mesh.arguments(),
        "cluster": cluster,
        "kubeconfigs": _kubeconfigs(mesh, settings),
        "root_certificate": trusted.root_certificate,
        "cacerts": trusted.files,
    }
    if gateway := await references.gateway(settings.references.gateway):
        arguments["gateway"] = gateway
    control_plane = ExternalControlPlane(mesh.name, arguments)
    return {
        "endpoints": control_plane.endpoints,
        "revisions": [one.name for one in mesh.revisions],
        "addresses": control_plane.addresses,
        "api_server_clients": control_plane.api_server_clients,
    }


def signed_elsewhere(mesh: str, settings: StackSettings) -> Authority:
    """mesh: its name at the root, with its tenant's if it has one.

    The key of the stack `trust`, and the certificates signed by the root: of the stack `root`, or of a file."""
    certificate: pulumi.Input[str]
    root_certificate: pulumi.Input[str]
    if settings.certificate and settings.root_certificate:
        certificate, root_certificate = settings.certificate, settings.root_certificate
    else:
        root = references.stack(settings.references.root, "references.root", StackKind.ROOT)
        certificate = when_known(root.output("certificates", dict), lambda found: _signed(found, mesh))
        root_certificate = root.output("certificate")
    key = references.stack(settings.references.trust, "references.trust", StackKind.TRUST).output("private_key")
    return Authority(cacerts(certificate, key, root_certificate), root_certificate)


def _kubeconfigs(mesh: Mesh, settings: StackSettings) -> dict[str, pulumi.Input[str]]:
    """istiod's kubeconfigs by membership: those of the configuration, else of the stacks `access`."""
    given: dict[str, pulumi.Input[str]] = {**(settings.kubeconfigs or {})}
    named = settings.references.access
    stacks = named if isinstance(named, dict) else {DEFAULT_MEMBERSHIP: named}
    for membership in mesh.memberships:
        if membership.name not in given:
            field = (
                "references.access" if membership.name == DEFAULT_MEMBERSHIP else f"references.access.{membership.name}"
            )
            stack = references.stack(stacks.get(membership.name), field, StackKind.ACCESS)
            given[membership.name] = stack.output("kubeconfig")
    return given


def _signed(certificates: dict[str, str], mesh: str) -> str:
    if mesh not in certificates:
        rule = f"names a stack that has not signed mesh {mesh}"
        fix = "Add the mesh there, under root.stacks or root.requests, and run `pulumi up`"
        raise InvalidInputError([Problem("references.root", rule, fix)], configuration.SOURCE)
    return certificates[mesh]
