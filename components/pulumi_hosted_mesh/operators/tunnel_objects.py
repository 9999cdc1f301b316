"""The tunnel's objects: its server on the control plane, its agent in the hosted cluster."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
from pulumi_kubernetes import apps, core, networking

from pulumi_hosted_mesh.charts.service_wait import service_wait
from pulumi_hosted_mesh.data_plane.account import Account
from pulumi_hosted_mesh.operators import manifests, tunnel
from pulumi_hosted_mesh.operators.control_plane_objects import HostingNamespace
from pulumi_hosted_mesh.operators.data_plane_objects import Credential, Hosted
from pulumi_hosted_mesh.operators.serving_certificate import ServingCertificate
from pulumi_hosted_mesh.spec.operators import Operators, OperatorTunnel
from pulumi_hosted_mesh.vocabulary import READ_AT_START_ANNOTATION, SKIP_AWAIT_ANNOTATION


def server(
    namespace: HostingNamespace, wanted: OperatorTunnel, credential: Credential, serving: ServingCertificate
) -> tuple[pulumi.Resource, core.v1.Service]:
    """Creates the server with its two Services. credential: of the account that verifies the agent's token."""
    document, side = namespace.document, namespace.side
    selector = {manifests.APP: tunnel.TUNNEL}
    configuration = core.v1.ConfigMap(
        f"{side.name}-{tunnel.TUNNEL}",
        metadata=side.metadata(tunnel.TUNNEL),
        data={tunnel.ENVOY_FILE: tunnel.envoy_configuration(wanted)},
        opts=side.options(namespace.itself),
    )
    read = [
        namespace.secret(tunnel.TUNNEL, {manifests.KUBECONFIG: credential.kubeconfig}),
        namespace.secret(tunnel.SERVING_SECRET, {"tls.crt": serving.certificate, "tls.key": serving.private_key}),
        configuration,
    ]
    # At most one: agents of an ending server would still be chosen.
    deployment = namespace.run(tunnel.TUNNEL, tunnel.server_pod(document, document.catalog_resources), read, alone=True)
    waits = service_wait("LoadBalancer", ready=document.wait_until_ready)
    service = core.v1.Service(
        f"{side.name}-{tunnel.TUNNEL}",
        metadata=side.metadata(tunnel.TUNNEL, annotations={**tunnel.server_annotations(wanted), **waits}),
        spec=tunnel.server_service(wanted, selector),
        opts=side.options(*namespace.first),
    )
    core.v1.Service(
        f"{side.name}-{tunnel.PROXY}",
        metadata=side.metadata(tunnel.PROXY, annotations={SKIP_AWAIT_ANNOTATION: "true"}),
        spec=tunnel.proxy_service(selector),
        opts=side.options(*namespace.first),
    )
    return deployment, service


def agent(
    called: str,
    document: Operators,
    side: Hosted,
    wanted: OperatorTunnel,
    authority: pulumi.Input[str],
    namespace: core.v1.Namespace,
    after: Sequence[pulumi.Resource],
) -> pulumi.Resource:
    """Creates the agent: the one Pod of the provider in the hosted cluster. authority: PEM that verifies the server.

    Its account has no rights. The kubelet makes and renews its token, so no token of it is in the stack's state.
    """
    account = Account(
        called=called,
        prefix=f"{side.name}-{tunnel.AGENT}",
        name=tunnel.AGENT,
        namespace=document.namespace,
        labels=side.labels,
        grants=[],
        generations=range(0),
    ).make(side.cluster, namespace, parent=side.parent)
    trusted = core.v1.ConfigMap(
        f"{side.name}-{tunnel.AGENT}",
        metadata=side.metadata(tunnel.AGENT),
        data={tunnel.AUTHORITY_FILE: authority},
        opts=side.options(namespace),
    )
    selector = {manifests.APP: tunnel.AGENT}
    network = networking.v1.NetworkPolicy(
        f"{side.name}-{tunnel.AGENT}",
        metadata=side.metadata(tunnel.AGENT),
        spec=tunnel.agent_network_policy(wanted, selector),
        opts=side.options(namespace),
    )
    started_with = pulumi.Output.unsecret(trusted.metadata.apply(lambda found: str(found.resource_version or "")))
    spec = manifests.deployment(
        tunnel.AGENT,
        tunnel.agent_pod(document, wanted, document.catalog_resources),
        side.labels,
        {READ_AT_START_ANNOTATION: started_with},
        alone=False,
    )
    waits = None if document.wait_until_ready else {SKIP_AWAIT_ANNOTATION: "true"}
    made: pulumi.Resource = apps.v1.Deployment(
        f"{side.name}-{tunnel.AGENT}",
        metadata=side.metadata(tunnel.AGENT, annotations=waits),
        spec=spec,
        opts=side.options(*account, trusted, network, *after),
    )
    return made
