"""One revision of istiod in the control plane's cluster."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import partial

import pulumi
from pulumi_kubernetes import core

from pulumi_hosted_mesh.charts.chart import Changes, MeshCharts
from pulumi_hosted_mesh.charts.service_addresses import service_addresses
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster
from pulumi_hosted_mesh.clusters.metadata import in_mesh
from pulumi_hosted_mesh.control_plane import manifests
from pulumi_hosted_mesh.control_plane.istiod_values import istiod_values
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.revision import Revision
from pulumi_hosted_mesh.vocabulary import KUBECONFIG_DIGEST_ANNOTATION, ROOT_DIGEST_ANNOTATION, TYPE_ISTIOD, suffixed


class IstiodRevision(pulumi.ComponentResource):
    """istiod by Istio's chart, and the Services through which data planes reach it.

    name: prefix of the children's names; unique within the program.
    room: the mesh's Namespace and its quota, which may have to grow: before all that is made here.
    needed: what istiod needs beside these when it starts; its Services do not wait for it.
    read_at_start: what istiod takes only when it starts, see `read_at_start`.
    """

    addresses: dict[str, pulumi.Output[list[str]]]
    """Of its load balancers, by the host that leads there."""

    def __init__(
        self,
        name: str,
        *,
        mesh: Mesh,
        revision: Revision,
        cluster: ControlPlaneCluster,
        read_at_start: Mapping[str, pulumi.Input[str]],
        room: Sequence[pulumi.Resource],
        needed: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__(TYPE_ISTIOD, name, {}, opts)
        listed = revision.features.certificate_revocation
        MeshCharts(mesh.name, revision.charts, cluster, parent=self).make(
            f"{name}-istiod",
            "istiod",
            release=suffixed("istiod", revision.name),
            values=istiod_values(mesh, revision),
            depends_on=[*room, *needed],
            await_ready=revision.istiod.wait_until_ready,
            changes=Changes(
                pod_annotations=read_at_start,
                pod_spec=manifests.istiods_pod,
                config_data=partial(manifests.with_revocation_list, mesh) if listed else None,
            ),
        )
        # Not after istiod: a cloud takes minutes for a load balancer, and istiod may start in them. A revision has
        # Services of its own, so no other revision's host ever leads to an istiod that does not answer yet.
        self.addresses = {}
        for service in manifests.exposed_services(mesh, revision):
            made = core.v1.Service(
                f"{name}-{service.name}",
                metadata=in_mesh(mesh.name, cluster, service.name, annotations=service.annotations),
                spec=service.spec,
                opts=cluster.options(self, depends_on=room),
            )
            self.addresses[service.host] = service_addresses(made)
        self.register_outputs({})


def read_at_start(
    kubeconfigs: Mapping[str, pulumi.Output[str]], root_certificate: pulumi.Output[str]
) -> dict[str, pulumi.Output[str]]:
    """Annotations of istiod's Pods that make a rollout of each change that istiod takes only when it starts.

    These are its kubeconfig and the root certificate: a `cacerts` with another root, renewed or new, it ignores as a
    whole, while another intermediate it notices by itself. SHA-256, public: a token in a kubeconfig has far too much
    entropy to be guessed from its hash.
    """

    def digest(texts: Sequence[str]) -> str:
        return hashlib.sha256("".join(texts).encode()).hexdigest()

    credentials = pulumi.Output.all(*(kubeconfigs[name] for name in sorted(kubeconfigs)))
    return {
        KUBECONFIG_DIGEST_ANNOTATION: pulumi.Output.unsecret(credentials.apply(digest)),
        ROOT_DIGEST_ANNOTATION: root_certificate.apply(lambda pem: digest([pem])),
    }
