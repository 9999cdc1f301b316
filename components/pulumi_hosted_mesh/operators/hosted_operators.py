"""Operators of a hosted cluster: OLM beside its control plane, so its nodes run the users' programs only.

No `from __future__ import annotations` here: Pulumi's component host reads the annotations as they are.
"""

from typing import NotRequired, TypedDict

import pulumi
from pulumi_kubernetes import core

from pulumi_hosted_mesh._generated.inputs import OperatorsArgs
from pulumi_hosted_mesh.boundary.arguments import checked
from pulumi_hosted_mesh.boundary.typed_arguments import typed_arguments
from pulumi_hosted_mesh.charts.service_addresses import service_addresses
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, DataPlaneCluster, refuse_providers
from pulumi_hosted_mesh.data_plane.account import token_generation
from pulumi_hosted_mesh.operators import data_plane_objects as hosted
from pulumi_hosted_mesh.operators import manifests, tunnel, tunnel_objects
from pulumi_hosted_mesh.operators.catalog_settings import with_enabled_catalogs
from pulumi_hosted_mesh.operators.control_plane_objects import HostingNamespace
from pulumi_hosted_mesh.operators.hosted_nodes import require_placeable
from pulumi_hosted_mesh.operators.serving_certificate import ServingCertificate
from pulumi_hosted_mesh.operators.sides import Side
from pulumi_hosted_mesh.operators.upgrade_gate import require_upgradable
from pulumi_hosted_mesh.spec.fields import pem_certificate
from pulumi_hosted_mesh.spec.load import read_arguments
from pulumi_hosted_mesh.spec.operators import Operators
from pulumi_hosted_mesh.vocabulary import (
    TYPE_HOSTED_OPERATORS,
    TYPE_OPERATORS_CONTROL_PLANE,
    TYPE_OPERATORS_DATA_PLANE,
)


class HostedOperatorsArgs(TypedDict):
    """Arguments of HostedOperators."""

    operators: OperatorsArgs
    """The document: catalogs, Subscriptions, placement, exposure of packageserver."""
    control_plane: ControlPlaneCluster
    """The control plane's cluster, where OLM runs."""
    data_plane: DataPlaneCluster
    """The hosted cluster, where operators run."""
    certificate_authority: NotRequired[pulumi.Input[str]]
    """PEM that verifies `operators.api_server`. Default: the hosted cluster's kubeconfig's."""
    token_generation: NotRequired[int]
    """Increase it by one to replace all tokens. The old ones stay until the new ones are in use. Default: 1."""


class HostedOperators(pulumi.ComponentResource):
    """OLM on the control plane, and its definitions, accounts and catalogs in the hosted cluster. No Pod runs there
    but the agent of the optional tunnel to users' catalogs.

    Raises: InvalidInputError for swapped clusters, an invalid document, a selector that matches no node, a Subscription
    to a catalog that the hosted cluster disables, and an upgrade that an operator blocks; before the first object.
    """

    namespace: pulumi.Output[str]
    """OLM's namespace on the control plane."""
    addresses: pulumi.Output[dict[str, list[str]]]
    """Addresses of packageserver's load balancer and the tunnel's by host, public: for the DNS bridge's `records`."""

    def __init__(self, name: str, args: HostedOperatorsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        called = f"HostedOperators {name}"
        args = typed_arguments(HostedOperatorsArgs, args, called)
        refuse_providers(opts, called)
        document = read_arguments(Operators, args["operators"], "the operators")
        generation = token_generation(args, called)
        super().__init__(TYPE_HOSTED_OPERATORS, name, {}, opts)
        control_plane = ControlPlaneCluster.of(args["control_plane"], name=name, parent=self)
        data_plane = DataPlaneCluster.of(args["data_plane"], name=name, parent=self)
        control_plane.distinct_from(data_plane)
        document = with_enabled_catalogs(document, data_plane, called)
        require_placeable(document, data_plane, called)
        require_upgradable(document, control_plane, data_plane, called)
        here = Side.make(
            TYPE_OPERATORS_CONTROL_PLANE, name, document.name, document.control_plane_namespace, control_plane, self
        )
        there = Side.make(TYPE_OPERATORS_DATA_PLANE, name, document.name, document.namespace, data_plane, self)
        authority = data_plane.certificate_authority
        if "certificate_authority" in args:
            authority = checked(args["certificate_authority"], pem_certificate, "certificate_authority", called)

        # The hosted cluster: kinds and accounts.
        kinds = hosted.definitions(there, keep=document.keep_crds)
        olm_namespace = core.v1.Namespace(
            f"{name}-olm", metadata=there.cluster_wide(document.namespace), opts=there.options()
        )
        credentials = hosted.credentials(called, document, there, olm_namespace, authority, generation)
        hosted.users_rights(there)
        placed = hosted.place(document, there)

        # The control plane: OLM, packageserver, catalogs.
        # An API server verifies an aggregated one by the name of its Service there (kube-aggregator), also if the
        # Service leads to another host.
        packages_host = f"{manifests.PACKAGE_SERVER}.{document.namespace}.svc"
        serving = ServingCertificate.make(f"{name}-packages", manifests.PACKAGE_SERVER, packages_host, here.parent)
        namespace = HostingNamespace.make(document, here)
        catalogs = namespace.catalogs()
        olm = namespace.olm(credentials, kinds)
        packages, service = namespace.package_server(credentials[manifests.PACKAGE_SERVER], authority, serving)
        exposed = {document.package_server.host: service}
        if wanted := document.tunnel:
            keys = ServingCertificate.make(f"{name}-tunnel", tunnel.TUNNEL, wanted.host, here.parent)
            server, balancer = tunnel_objects.server(namespace, wanted, credentials[tunnel.TUNNEL], keys)
            exposed[wanted.host] = balancer
            tunnel_objects.agent(called, document, there, wanted, keys.authority, olm_namespace, [server, balancer])

        # The hosted cluster: objects that OLM acts on, removed before OLM.
        hosted.packages_api(document, there, serving.bundle, [olm_namespace, packages, service])
        first = [*kinds, *placed, *olm, *catalogs, olm_namespace]
        operators = hosted.operators_namespace(there, first)
        sources = hosted.catalog_sources(document, there, first)
        hosted.subscriptions(document, there, [*operators, *sources])

        self.namespace = pulumi.Output.from_input(document.control_plane_namespace)
        self.addresses = pulumi.Output.all(**{host: service_addresses(one) for host, one in exposed.items()})
        self.register_outputs({"namespace": self.namespace, "addresses": self.addresses})
