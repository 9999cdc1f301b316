"""istiod of one mesh in the provider's cluster."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import pulumi
from pulumi_kubernetes import core, networking

from pulumi_hosted_mesh.boundary.credentials import CaCerts, IstiodCredential
from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.charts.chart import istio_chart
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, require_control_plane
from pulumi_hosted_mesh.clusters.metadata import cluster_wide, in_mesh
from pulumi_hosted_mesh.control_plane import manifests
from pulumi_hosted_mesh.control_plane.istiod_values import istiod_values
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.vocabulary import (
    CACERTS_SECRET,
    KUBECONFIG_DIGEST_ANNOTATION,
    KUBECONFIG_KEY,
    KUBECONFIG_SECRET,
    ROOT_DIGEST_ANNOTATION,
    TYPE_EXTERNAL_CONTROL_PLANE,
)


class ExternalControlPlane(pulumi.ComponentResource):
    """A namespace of the mesh's own in the provider's cluster, with istiod in it and one exposed Service.

    mesh: the document.
    cluster: the provider's cluster.
    cacerts: the mesh's intermediate authority. Without it istiod would make its own and write its key to the user's
        cluster, so it is not optional.
    credential: istiod's kubeconfig of the user's cluster.
    after: what istiod should find when it starts, in the same stack: the CRDs, or it has to look again later.
    Outputs: `endpoint`, all that the data plane is told.
    Raises: InvalidInputError if the cluster is not a control plane, or the charts cannot be used.
    """

    endpoint: ControlPlaneEndpoint

    def __init__(
        self,
        name: str,
        *,
        mesh: Mesh,
        cluster: ControlPlaneCluster,
        cacerts: CaCerts,
        credential: IstiodCredential,
        after: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        require_control_plane(cluster)
        super().__init__(TYPE_EXTERNAL_CONTROL_PLANE, name, {}, opts)
        namespace = core.v1.Namespace(
            f"{name}-control-plane", metadata=cluster_wide(mesh, cluster, mesh.namespace), opts=cluster.options(self)
        )
        inside = cluster.options(self, depends_on=[namespace])

        quota = core.v1.ResourceQuota(
            f"{name}-quota",
            metadata=in_mesh(mesh, cluster, "mesh"),
            spec=core.v1.ResourceQuotaSpecArgs(hard=manifests.quota_limits(mesh)),
            opts=inside,
        )
        network = networking.v1.NetworkPolicy(
            f"{name}-network",
            metadata=in_mesh(mesh, cluster, "mesh"),
            spec=manifests.network_policy_spec(mesh),
            opts=inside,
        )
        authority = core.v1.Secret(
            f"{name}-cacerts", metadata=in_mesh(mesh, cluster, CACERTS_SECRET), string_data=cacerts.files, opts=inside
        )
        access = core.v1.Secret(
            f"{name}-istio-kubeconfig",
            metadata=in_mesh(mesh, cluster, KUBECONFIG_SECRET),
            string_data={KUBECONFIG_KEY: credential.kubeconfig},
            opts=inside,
        )
        istio_chart(
            f"{name}-istiod",
            mesh=mesh,
            cluster=cluster,
            chart="istiod",
            release="istiod",
            values=istiod_values(mesh),
            parent=self,
            depends_on=[quota, network, authority, access, *after],
            await_ready=mesh.control_plane.istiod.wait_until_ready,
            pod_annotations=read_at_start(cacerts, credential),
            pod_spec=manifests.without_tokens,
        )
        # Not after istiod: a cloud takes minutes for a load balancer, and istiod may start in them.
        core.v1.Service(
            f"{name}-exposed",
            metadata=in_mesh(mesh, cluster, "istiod-exposed", manifests.exposed_service_annotations(mesh)),
            spec=manifests.exposed_service_spec(mesh),
            opts=inside,
        )
        self.endpoint = ControlPlaneEndpoint.of(mesh, cacerts.root_certificate)
        self.register_outputs(self.endpoint.as_output())


def read_at_start(cacerts: CaCerts, credential: IstiodCredential) -> dict[str, pulumi.Output[str]]:
    """Annotations of istiod's Pods that make a rollout of each change that istiod takes only when it starts.

    These are its kubeconfig and the root certificate: a `cacerts` with another root, renewed or new, it ignores as a
    whole, while another intermediate it notices by itself. SHA-256, public: a token in a kubeconfig has far too much
    entropy to be guessed from its hash.
    """

    def digest(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()

    return {
        KUBECONFIG_DIGEST_ANNOTATION: pulumi.Output.unsecret(credential.kubeconfig.apply(digest)),
        ROOT_DIGEST_ANNOTATION: cacerts.root_certificate.apply(digest),
    }
