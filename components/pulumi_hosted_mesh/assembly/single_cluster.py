"""A mesh in one cluster (`split: false`), as part of a HostedMesh."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import pulumi

from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.charts.chart import crds_chart
from pulumi_hosted_mesh.charts.directory import newest
from pulumi_hosted_mesh.charts.service_addresses import chart_addresses
from pulumi_hosted_mesh.clusters.adoption import make_namespace
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster
from pulumi_hosted_mesh.clusters.metadata import on_control_plane
from pulumi_hosted_mesh.control_plane.issued_authority import IssuedAuthority
from pulumi_hosted_mesh.control_plane.removal_guard import removal_guard
from pulumi_hosted_mesh.control_plane.single_cluster import make_gateways, make_guards, make_istiods
from pulumi_hosted_mesh.control_plane.validated_inputs import authority
from pulumi_hosted_mesh.data_plane.root_certificate_owner import own_root_certificates
from pulumi_hosted_mesh.data_plane.served_kinds import sets_owner
from pulumi_hosted_mesh.data_plane.unique_revisions import require_unique_revisions
from pulumi_hosted_mesh.data_plane.values import crds_values, gateway_values
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.trust.management import Authority
from pulumi_hosted_mesh.vocabulary import NETWORK_LABEL


@dataclass(frozen=True)
class SingleClusterMesh:
    """A mesh's outputs. gateway_addresses: by `<namespace>/<name>`."""

    endpoint: ControlPlaneEndpoint
    gateway_addresses: dict[str, Any]


def make_in_one_cluster(
    name: str, mesh: Mesh, cluster: ControlPlaneCluster, trusted: Authority, called: str, parent: pulumi.Resource
) -> SingleClusterMesh:
    """The mesh's namespace, definitions, istiods and gateways. name: prefix of the resources' names.

    called: the component, for errors. Raises: InvalidInputError.
    """
    (member,) = mesh.memberships
    files = authority(mesh, trusted.files)
    has_owner = sets_owner(member.access, cluster, called)
    for revision in mesh.revisions:
        require_unique_revisions(cluster, {revision.name, *mesh.tags_of(revision)}, mesh.name)
    network = mesh.network(member)
    metadata = on_control_plane(mesh, cluster, mesh.namespace, labels={NETWORK_LABEL: network} if network else None)
    namespace = make_namespace(f"{name}-single-cluster", metadata, cluster.options(parent))
    owners = [own_root_certificates(name, mesh.name, cluster, namespace, parent=parent)] if has_owner else []
    definitions: list[pulumi.Resource] = []
    if member.crds.install:
        charts = newest(one.charts for one in mesh.revisions)
        definitions.append(
            crds_chart(
                f"{name}-base",
                charts=charts,
                cluster=cluster,
                values=crds_values(),
                parent=parent,
                keep=member.crds.keep_on_destroy,
            )
        )
    root = issued_root = pulumi.Output.from_input(trusted.root_certificate)
    if mesh.trust.issuer is not None:
        within = cluster.options(parent, depends_on=[namespace])
        issued = IssuedAuthority(name, mesh, mesh.trust.issuer, cluster, root, within, parent=parent)
        definitions.append(issued.certificate)
        issued_root = issued.root
    guard = removal_guard(mesh, cluster, own_webhooks=True)
    istiods = make_istiods(
        name,
        mesh,
        cluster,
        namespace,
        cacerts=files,
        root_digest=issued_root.apply(lambda pem: hashlib.sha256(pem.encode()).hexdigest()),
        after=definitions,
        guard=guard,
        parent=parent,
    )
    endpoint = ControlPlaneEndpoint.of(mesh, mesh.revisions[0], member, root)
    values = {one.name: gateway_values(endpoint, one) for one in member.gateways}
    gateways = make_gateways(name, mesh, cluster, endpoint, values, after=istiods, parent=parent)
    last = [*istiods, *gateways.values(), *definitions, *owners]
    make_guards(name, mesh, namespace, guard=guard, after=last, parent=parent)
    return SingleClusterMesh(endpoint, {called: chart_addresses(made) for called, made in gateways.items()})
