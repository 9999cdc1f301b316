"""The control plane of one mesh: its namespace, what all revisions share there, and an istiod per revision.

No `from __future__ import annotations` here: Pulumi's component host reads the annotations as they are.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict
from urllib.parse import urlsplit

import pulumi
from pulumi_kubernetes import core, networking

from pulumi_hosted_mesh.boundary.arguments import checked, mesh_of
from pulumi_hosted_mesh.boundary.cacerts import whole_cacerts
from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.boundary.typed_arguments import typed_arguments
from pulumi_hosted_mesh.clusters.account_kubeconfig import account_kubeconfig
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, refuse_providers
from pulumi_hosted_mesh.clusters.kubeconfig import Asked
from pulumi_hosted_mesh.clusters.metadata import cluster_wide, in_mesh
from pulumi_hosted_mesh.control_plane import manifests
from pulumi_hosted_mesh.control_plane.istiod import IstiodRevision, read_at_start
from pulumi_hosted_mesh.inputs import MeshArgs
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.data_plane import Membership
from pulumi_hosted_mesh.spec.fields import pem_certificate
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.revision import Revision
from pulumi_hosted_mesh.spec.trust import AuthorityManagement
from pulumi_hosted_mesh.vocabulary import (
    CACERTS_SECRET,
    HTTPS_PORT,
    KUBECONFIG_KEY,
    KUBECONFIG_SECRET,
    REMOTE_CLUSTERS_SECRET,
    TYPE_EXTERNAL_CONTROL_PLANE,
    remote_kubeconfig_key,
    suffixed,
)

SOURCE = "the control plane"


class ExternalControlPlaneArgs(TypedDict):
    """What a mesh's control plane is made of."""

    mesh: MeshArgs
    """The mesh, with its revisions and memberships."""
    cluster: ControlPlaneCluster
    """The control plane's cluster."""
    kubeconfigs: dict[str, pulumi.Input[str]]
    """istiod's kubeconfig of each data plane, by name of the membership (`DataPlaneAccess.kubeconfig`). Secret."""
    root_certificate: pulumi.Input[str]
    """The certificate of the root above the mesh's authority, PEM, public."""
    cacerts: NotRequired[pulumi.Input[Mapping[str, pulumi.Input[str]]]]
    """The mesh's intermediate authority, the files of the Secret `cacerts`. Secret. Without it istiod would make its
    own and write its key to the data plane, so it may be left out only with `trust.management: unmanaged`."""


class ExternalControlPlane(pulumi.ComponentResource):
    """A namespace of the mesh's own in the control plane's cluster, with an istiod per revision and its Services.

    Raises: InvalidInputError if the cluster is not a control plane, a kubeconfig or `cacerts` is missing, or the charts
    cannot be used.
    """

    endpoints: pulumi.Output[dict[str, Any]]
    """All that data planes are told, by `<membership>/<revision>`: public facts."""
    addresses: pulumi.Output[dict[str, list[str]]]
    """Of istiod's load balancers, by the host that leads there: public. None with `exposure: external`."""

    def __init__(
        self,
        name: str,
        args: ExternalControlPlaneArgs,
        opts: pulumi.ResourceOptions | None = None,
        *,
        after: Sequence[pulumi.Resource] = (),
    ) -> None:
        """after: what istiod should find when it starts, in the same program: the CRDs, or it looks again later."""
        called = f"ExternalControlPlane {name}"
        args = typed_arguments(ExternalControlPlaneArgs, args, called)
        refuse_providers(opts, called)
        mesh = mesh_of(args["mesh"])
        kubeconfigs = {one.name: _kubeconfig(mesh, one, args["kubeconfigs"]) for one in mesh.memberships}
        cacerts = _authority(mesh, args.get("cacerts"))
        given_root = checked(args["root_certificate"], pem_certificate, "root_certificate", SOURCE)
        super().__init__(TYPE_EXTERNAL_CONTROL_PLANE, name, {}, opts)
        cluster = ControlPlaneCluster.of(args["cluster"], name=name, parent=self)
        namespace = core.v1.Namespace(
            f"{name}-control-plane",
            metadata=cluster_wide(mesh.name, cluster, mesh.namespace),
            opts=cluster.options(self),
        )
        within = cluster.options(self, depends_on=[namespace])
        quota = core.v1.ResourceQuota(
            f"{name}-quota",
            metadata=in_mesh(mesh.name, cluster, "mesh"),
            spec=core.v1.ResourceQuotaSpecArgs(hard=manifests.quota_limits(mesh)),
            opts=within,
        )
        shared: list[pulumi.Resource] = [
            networking.v1.NetworkPolicy(
                f"{name}-network",
                metadata=in_mesh(mesh.name, cluster, "mesh"),
                spec=_network_policy(mesh, kubeconfigs),
                opts=within,
            ),
        ]
        for secret, files in _secrets(mesh, cacerts, kubeconfigs).items():
            metadata = in_mesh(mesh.name, cluster, secret)
            shared.append(core.v1.Secret(f"{name}-{secret}", metadata=metadata, string_data=files, opts=within))

        root_certificate = pulumi.Output.from_input(given_root)
        addresses: dict[str, Any] = {}
        for revision in mesh.revisions:
            addresses |= IstiodRevision(
                suffixed(name, revision.name),
                mesh=mesh,
                revision=revision,
                cluster=cluster,
                read_at_start=read_at_start(kubeconfigs, root_certificate),
                room=[namespace, quota],
                needed=[*shared, *after],
                opts=pulumi.ResourceOptions(parent=self),
            ).addresses
        self._endpoints = {
            (membership.name, revision.name): ControlPlaneEndpoint.of(mesh, revision, membership, root_certificate)
            for membership in mesh.memberships
            for revision in mesh.revisions
        }
        facts = {f"{member}/{revision}": one.as_output() for (member, revision), one in self._endpoints.items()}
        self.endpoints = pulumi.Output.from_input(facts)
        self.addresses = pulumi.Output.from_input(addresses)
        self.register_outputs({"endpoints": self.endpoints, "addresses": self.addresses})

    def endpoint(self, membership: Membership, revision: Revision) -> ControlPlaneEndpoint:
        """What a data plane is told of a revision."""
        return self._endpoints[membership.name, revision.name]


def _kubeconfig(mesh: Mesh, membership: Membership, given: Mapping[str, pulumi.Input[str]]) -> pulumi.Output[str]:
    if membership.name not in given:
        rule = f"has none for membership {membership.name}"
        raise InvalidInputError([Problem("kubeconfigs", rule, "Give that of its DataPlaneAccess")], SOURCE)
    fix = "Give that of its DataPlaneAccess, or with access.token: bounded what `hosted-mesh token` prints"
    asked = Asked(
        server=membership.access.api_server,
        # istiod takes a further cluster's name out of its kubeconfig (pkg/kube/multicluster/kubeconfig_files.go).
        identity=mesh.cluster_id(membership),
        field=f"kubeconfigs.{membership.name}",
        source=SOURCE,
    )
    return account_kubeconfig(given[membership.name], asked, fix)


def _authority(mesh: Mesh, cacerts: Any) -> pulumi.Output[Any] | None:
    unmanaged = mesh.trust.management is AuthorityManagement.UNMANAGED
    if unmanaged and cacerts is not None:
        rule, fix = "is given, but trust.management is unmanaged", "Leave it out, or set management: brought"
        raise InvalidInputError([Problem("cacerts", rule, fix)], SOURCE)
    if not unmanaged and cacerts is None:
        rule = "is required: without it istiod makes an authority of its own and writes its key to the data plane"
        fix = "Give that of MeshTrust and MeshRoot, or your own; or set trust.management: unmanaged"
        raise InvalidInputError([Problem("cacerts", rule, fix)], SOURCE)
    if cacerts is None:
        return None
    return pulumi.Output.secret(cacerts).apply(lambda files: dict(whole_cacerts(files, SOURCE)))


def _secrets(
    mesh: Mesh, cacerts: pulumi.Output[Any] | None, kubeconfigs: Mapping[str, pulumi.Output[str]]
) -> dict[str, Any]:
    """`stringData` of the mesh's Secrets by their names: the chart mounts the first membership's kubeconfig."""
    first, *others = mesh.memberships
    secrets: dict[str, Any] = {KUBECONFIG_SECRET: {KUBECONFIG_KEY: kubeconfigs[first.name]}}
    if cacerts is not None:
        secrets[CACERTS_SECRET] = cacerts
    if others:
        # istiod reads what ends in .yaml or .yml alone (pkg/kube/krt/files), and takes the cluster's name out of it.
        secrets[REMOTE_CLUSTERS_SECRET] = {remote_kubeconfig_key(one.name): kubeconfigs[one.name] for one in others}
    return secrets


def _network_policy(mesh: Mesh, kubeconfigs: Mapping[str, pulumi.Output[str]]) -> Any:
    """Plain where the document has the API servers' addresses; else their ports are read from the kubeconfigs."""
    if len(mesh.api_server_ports) and all(one.access.api_server for one in mesh.memberships):
        return manifests.network_policy_spec(mesh, sorted(mesh.api_server_ports))
    texts = pulumi.Output.unsecret(pulumi.Output.all(*kubeconfigs.values()).apply(_ports))
    return texts.apply(lambda ports: manifests.network_policy_spec(mesh, ports))


def _ports(kubeconfigs: Sequence[str]) -> list[int]:
    """Ports of the API servers that kubeconfigs name."""
    servers = [json.loads(text)["clusters"][0]["cluster"]["server"] for text in kubeconfigs]
    return sorted({urlsplit(server).port or HTTPS_PORT for server in servers})
