"""istiod's access to a data plane: a ServiceAccount, its few rights, its token as a kubeconfig.

No `from __future__ import annotations` here: Pulumi's component host reads the annotations as they are.
"""

from typing import NotRequired, TypedDict

import pulumi

from pulumi_hosted_mesh._generated.inputs import AccessArgs
from pulumi_hosted_mesh.boundary.arguments import access_of, checked, outputs_of
from pulumi_hosted_mesh.boundary.typed_arguments import typed_arguments
from pulumi_hosted_mesh.clusters.adoption import make_namespace
from pulumi_hosted_mesh.clusters.cluster import DataPlaneCluster, refuse_providers
from pulumi_hosted_mesh.clusters.metadata import cluster_wide
from pulumi_hosted_mesh.data_plane.account import Account, Grant
from pulumi_hosted_mesh.data_plane.rights import SERVICE_ACCOUNT, cluster_rules, namespace_rules, reading_role
from pulumi_hosted_mesh.data_plane.root_certificate_owner import own_root_certificates
from pulumi_hosted_mesh.data_plane.served_kinds import sets_owner
from pulumi_hosted_mesh.spec.data_plane import Access, TokenKind
from pulumi_hosted_mesh.spec.fields import label_value, mesh_name
from pulumi_hosted_mesh.vocabulary import (
    CONTROL_PLANE_CLUSTERS_ANNOTATION,
    NETWORK_LABEL,
    TYPE_DATA_PLANE_ACCESS,
    labels,
    namespace_of,
)


class DataPlaneAccessArgs(TypedDict):
    """The arguments of istiod's access to one data plane."""

    mesh: str
    """The mesh's name."""
    cluster: DataPlaneCluster
    """The data plane's cluster."""
    access: NotRequired[AccessArgs]
    """Address, rights and token."""
    cluster_id: NotRequired[str]
    """Istio's cluster ID; by default the mesh's name."""
    network: NotRequired[str]
    """Istio's name of the cluster's network, for Pods without a sidecar; none by default."""


class DataPlaneAccess(pulumi.ComponentResource):
    """The mesh's namespace in the data plane's cluster, with istiod's account and its least rights.

    Raises: InvalidInputError if the cluster is not a data plane, or no certificate verifies its API server.
    """

    kubeconfig: pulumi.Output[str]
    """istiod's kubeconfig of the data plane. A secret; empty with `token: bounded`."""

    def __init__(self, name: str, args: DataPlaneAccessArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        called = f"DataPlaneAccess {name}"
        args = typed_arguments(DataPlaneAccessArgs, args, called)
        refuse_providers(opts, called)
        mesh, access = checked(args["mesh"], mesh_name, "mesh", called), access_of(args.get("access") or {})
        cluster_id, network = args.get("cluster_id") or mesh, args.get("network")
        checked(cluster_id, label_value, "cluster_id", called)
        if network:
            checked(network, label_value, "network", called)
        super().__init__(TYPE_DATA_PLANE_ACCESS, name, {}, opts)
        cluster = DataPlaneCluster.of(args["cluster"], name=name, parent=self)
        has_owner = sets_owner(access, cluster, called)
        metadata = cluster_wide(
            mesh,
            cluster,
            namespace_of(mesh),
            # Lets the mesh's istiods, and no others, write their root certificate here (see `rights`).
            annotations={CONTROL_PLANE_CLUSTERS_ANNOTATION: "*"},
            labels={NETWORK_LABEL: network} if network else None,
        )
        self.namespace = make_namespace(f"{name}-data-plane", metadata, cluster.options(self))
        """The Namespace, a dependency of the mesh's other objects there."""
        account = _account(called, name, mesh, access, cluster)
        made = account.make(cluster, self.namespace, parent=self)
        if has_owner:
            own_root_certificates(name, mesh, cluster, self.namespace, parent=self)
        self.kubeconfig = pulumi.Output.secret("")
        if access.token is TokenKind.LONG_LIVED:
            token = account.token(cluster, made, parent=self)
            given = outputs_of(args.get("access"))
            self.kubeconfig = account.kubeconfig(
                cluster_id,
                token,
                given.get("api_server") or access.api_server or cluster.server,
                given.get("certificate_authority") or access.certificate_authority or cluster.certificate_authority,
            )
        self.register_outputs({"kubeconfig": self.kubeconfig})


def _account(called: str, name: str, mesh: str, access: Access, cluster: DataPlaneCluster) -> Account:
    """istiod's account; `rights` has its rights and their reasons."""
    first = access.token_generation - (1 if access.keep_previous_token and access.token_generation > 1 else 0)
    return Account(
        called=called,
        prefix=f"{name}-{SERVICE_ACCOUNT}",
        name=SERVICE_ACCOUNT,
        namespace=namespace_of(mesh),
        labels=labels(mesh, cluster.role),
        grants=[
            Grant("reads", reading_role(mesh), cluster_rules(mesh, access.features), everywhere=True),
            Grant("elects", SERVICE_ACCOUNT, namespace_rules(access.features)),
        ],
        generations=range(first, access.token_generation + 1),
    )
