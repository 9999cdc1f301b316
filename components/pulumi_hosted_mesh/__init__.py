"""Service meshes with a control plane in one cluster and proxies in others, as Pulumi components.

    import pulumi_hosted_mesh as hosted_mesh

Every public name is here, and is loaded on first use. All modules are private. There are four kinds:

- Components, such as `HostedMesh`, and the TypedDicts of their arguments, such as `HostedMeshArgs`.
- Clusters and facts: `ControlPlaneCluster`, `DataPlaneCluster`, `ControlPlaneEndpoint`.
- Documents, such as `Mesh`, and functions that read them: `read_mesh` returns a component's arguments,
  `read_document` the document itself.
- Parts for stacks that pass documents and outputs to each other: `StackSettings`, `mesh_authority`,
  `require_matching_endpoints`, `published_records`, `when_known`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pulumi_hosted_mesh._generated.inputs import (
        AccessArgs,
        AccessLogArgs,
        AccessRuleArgs,
        ApplicationArgs,
        ApplicationClusterArgs,
        ApplicationPartArgs,
        ApplicationPlacementArgs,
        AudienceArgs,
        AutoscalingArgs,
        AzureArgs,
        CatalogResourcesArgs,
        ChartsArgs,
        ChartSourceArgs,
        CircuitBreakingArgs,
        CloudflareArgs,
        CollectorArgs,
        CollectorLimitsArgs,
        ControlPlaneArgs,
        CoreDnsArgs,
        CrdsArgs,
        DataPlaneArgs,
        DataPlaneTemplateArgs,
        DebugProxyArgs,
        DeploymentArgs,
        DeploymentClusterArgs,
        DnsBridgeArgs,
        DnsProviderArgs,
        EastWestGatewayArgs,
        EdgeArgs,
        EgressArgs,
        EgressGatewayArgs,
        EgressProxyArgs,
        EndpointArgs,
        ExportArgs,
        ExposureArgs,
        ExternalServiceArgs,
        FeaturesArgs,
        FederationArgs,
        GatewayArgs,
        GatewayFactsArgs,
        GatewayImagesArgs,
        GatewayNetworkPolicyArgs,
        GatewayPortArgs,
        GatewayServiceArgs,
        GatewaySettingsArgs,
        GoogleArgs,
        GroupArgs,
        ImagesArgs,
        ImportArgs,
        InboundCertificateArgs,
        IntentArgs,
        IntentClientArgs,
        IntentGroupArgs,
        IntentsArgs,
        IntentServiceArgs,
        IntermediateArgs,
        InventoryArgs,
        InventoryClusterArgs,
        InventoryFederationArgs,
        InventoryGatewayArgs,
        IssuerArgs,
        IstiodArgs,
        JwtArgs,
        KialiArgs,
        LoadBalancingArgs,
        LocalityPreferenceArgs,
        MembershipArgs,
        MeshArgs,
        MeshTemplateArgs,
        MirrorArgs,
        NameConstraintsArgs,
        NetworkPolicyArgs,
        ObservabilityArgs,
        OfferArgs,
        OfferedServiceArgs,
        OlmResourcesArgs,
        OperatorCatalogArgs,
        OperatorImagesArgs,
        OperatorPlacementArgs,
        OperatorsArgs,
        OperatorsNetworkPolicyArgs,
        OperatorSubscriptionArgs,
        OperatorTolerationArgs,
        OperatorTunnelArgs,
        OperatorUpgradesArgs,
        OriginateArgs,
        OtherArgs,
        OverrideArgs,
        PackageServerExposureArgs,
        PartResourcesArgs,
        PeerArgs,
        PlacedPortArgs,
        PlacedServiceArgs,
        PowerDnsArgs,
        PrometheusArgs,
        ProxiesArgs,
        ProxyResourcesArgs,
        PushedMetricsArgs,
        ResourcesArgs,
        RetriesArgs,
        RevisionArgs,
        RevisionTemplateArgs,
        Rfc2136Args,
        RootArgs,
        Route53Args,
        SchedulingArgs,
        SelectionArgs,
        TcpKeepaliveArgs,
        TolerationArgs,
        TracesArgs,
        TrustArgs,
        WebhookArgs,
        WebhookExposureArgs,
        WebhooksArgs,
        WeightArgs,
        ZoneArgs,
    )
    from pulumi_hosted_mesh.applications.application_deployment import ApplicationDeployment, ApplicationDeploymentArgs
    from pulumi_hosted_mesh.assembly.document import (
        control_plane_cluster,
        data_plane_cluster,
        hosted_mesh_args,
        read_application,
        read_deployment,
        read_endpoint,
        read_mesh,
    )
    from pulumi_hosted_mesh.assembly.hosted_mesh import HostedMesh, HostedMeshArgs
    from pulumi_hosted_mesh.assembly.members import remote_data_plane_args
    from pulumi_hosted_mesh.assembly.mesh_deployment import MeshDeployment, MeshDeploymentArgs
    from pulumi_hosted_mesh.assembly.preflight import check_charts
    from pulumi_hosted_mesh.boundary.arguments import when_known
    from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
    from pulumi_hosted_mesh.boundary.endpoint_check import require_matching_endpoints
    from pulumi_hosted_mesh.boundary.guard import data_plane_secret, declassify
    from pulumi_hosted_mesh.boundary.name_constraints import name_constraints
    from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, DataPlaneCluster
    from pulumi_hosted_mesh.control_plane.external import ExternalControlPlane, ExternalControlPlaneArgs
    from pulumi_hosted_mesh.control_plane.manifests import exposed_services
    from pulumi_hosted_mesh.control_plane.validated_inputs import require_split
    from pulumi_hosted_mesh.data_plane.access import DataPlaneAccess, DataPlaneAccessArgs
    from pulumi_hosted_mesh.data_plane.crds import DataPlaneCrds, DataPlaneCrdsArgs
    from pulumi_hosted_mesh.data_plane.remote import RemoteDataPlane, RemoteDataPlaneArgs
    from pulumi_hosted_mesh.dns.bridge import ExternalDNSBridge, ExternalDNSBridgeArgs
    from pulumi_hosted_mesh.dns.document import read_dns_bridge
    from pulumi_hosted_mesh.dns.edge import DnsEdge, DnsEdgeArgs
    from pulumi_hosted_mesh.dns.published_hosts import (
        PublishedHost,
        control_plane_hosts,
        gateway_host,
        published_records,
    )
    from pulumi_hosted_mesh.dns.user_facing import has_user_facing_service
    from pulumi_hosted_mesh.federation.mesh_federation import MeshFederation, MeshFederationArgs
    from pulumi_hosted_mesh.federation.peer_outputs import (
        filled_document,
        gateway_address_of,
        peers_without_address,
        peers_without_root,
    )
    from pulumi_hosted_mesh.intents.compiled import Compiled
    from pulumi_hosted_mesh.intents.compiler import compile_intents
    from pulumi_hosted_mesh.intents.traffic_intents import TrafficIntents, TrafficIntentsArgs
    from pulumi_hosted_mesh.observability.mesh_observability import MeshObservability, MeshObservabilityArgs
    from pulumi_hosted_mesh.operators.hosted_operators import HostedOperators, HostedOperatorsArgs
    from pulumi_hosted_mesh.problems import InvalidInputError, Problem
    from pulumi_hosted_mesh.spec.cluster import ClusterBase
    from pulumi_hosted_mesh.spec.data_plane import DataPlane, TokenKind, WebhookManagement
    from pulumi_hosted_mesh.spec.dns import DnsBridge, DnsEdgeStack, DnsStack
    from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
    from pulumi_hosted_mesh.spec.federation import Federation, FederationMember, Offer
    from pulumi_hosted_mesh.spec.fields import Model
    from pulumi_hosted_mesh.spec.gateway import GatewayFacts, GatewaySettings, GatewayStack
    from pulumi_hosted_mesh.spec.intents import Intents, IntentsTarget
    from pulumi_hosted_mesh.spec.inventory import Inventory
    from pulumi_hosted_mesh.spec.load import (
        content_of_file,
        content_of_text,
        field_path,
        read_document,
        read_document_file,
        whole_numbers,
    )
    from pulumi_hosted_mesh.spec.mesh import Mesh
    from pulumi_hosted_mesh.spec.observability import Observability, ObservabilityStack
    from pulumi_hosted_mesh.spec.operators import Operators, OperatorsStack
    from pulumi_hosted_mesh.spec.stack import RootSettings, StackKind, StackSettings
    from pulumi_hosted_mesh.spec.trust import AuthorityManagement, NameConstraints
    from pulumi_hosted_mesh.tenancy.gateway import SharedGateway, SharedGatewayArgs
    from pulumi_hosted_mesh.trust.authorities import MeshRoot, MeshRootArgs, MeshTrust, MeshTrustArgs, cacerts
    from pulumi_hosted_mesh.trust.management import Authority, mesh_authority
    from pulumi_hosted_mesh.vocabulary import DEFAULT_MEMBERSHIP, suffixed

_HOMES: Final = {
    "applications.application_deployment": (
        "ApplicationDeployment",
        "ApplicationDeploymentArgs",
    ),
    "assembly.document": (
        "control_plane_cluster",
        "data_plane_cluster",
        "hosted_mesh_args",
        "read_application",
        "read_deployment",
        "read_endpoint",
        "read_mesh",
    ),
    "assembly.hosted_mesh": (
        "HostedMesh",
        "HostedMeshArgs",
    ),
    "assembly.members": ("remote_data_plane_args",),
    "assembly.mesh_deployment": (
        "MeshDeployment",
        "MeshDeploymentArgs",
    ),
    "assembly.preflight": ("check_charts",),
    "boundary.arguments": ("when_known",),
    "boundary.endpoint": ("ControlPlaneEndpoint",),
    "boundary.endpoint_check": ("require_matching_endpoints",),
    "boundary.guard": (
        "data_plane_secret",
        "declassify",
    ),
    "boundary.name_constraints": ("name_constraints",),
    "clusters.cluster": (
        "ControlPlaneCluster",
        "DataPlaneCluster",
    ),
    "control_plane.external": (
        "ExternalControlPlane",
        "ExternalControlPlaneArgs",
    ),
    "control_plane.manifests": ("exposed_services",),
    "control_plane.validated_inputs": ("require_split",),
    "data_plane.access": (
        "DataPlaneAccess",
        "DataPlaneAccessArgs",
    ),
    "data_plane.crds": (
        "DataPlaneCrds",
        "DataPlaneCrdsArgs",
    ),
    "data_plane.remote": (
        "RemoteDataPlane",
        "RemoteDataPlaneArgs",
    ),
    "dns.bridge": (
        "ExternalDNSBridge",
        "ExternalDNSBridgeArgs",
    ),
    "dns.document": ("read_dns_bridge",),
    "dns.edge": (
        "DnsEdge",
        "DnsEdgeArgs",
    ),
    "dns.published_hosts": (
        "PublishedHost",
        "control_plane_hosts",
        "gateway_host",
        "published_records",
    ),
    "dns.user_facing": ("has_user_facing_service",),
    "federation.mesh_federation": (
        "MeshFederation",
        "MeshFederationArgs",
    ),
    "federation.peer_outputs": (
        "filled_document",
        "gateway_address_of",
        "peers_without_address",
        "peers_without_root",
    ),
    "intents.compiled": ("Compiled",),
    "intents.compiler": ("compile_intents",),
    "intents.traffic_intents": (
        "TrafficIntents",
        "TrafficIntentsArgs",
    ),
    "observability.mesh_observability": (
        "MeshObservability",
        "MeshObservabilityArgs",
    ),
    "operators.hosted_operators": (
        "HostedOperators",
        "HostedOperatorsArgs",
    ),
    "problems": (
        "InvalidInputError",
        "Problem",
    ),
    "spec.cluster": ("ClusterBase",),
    "spec.data_plane": (
        "DataPlane",
        "TokenKind",
        "WebhookManagement",
    ),
    "spec.dns": (
        "DnsBridge",
        "DnsEdgeStack",
        "DnsStack",
    ),
    "spec.endpoint": ("EndpointDocument",),
    "spec.federation": (
        "Federation",
        "FederationMember",
        "Offer",
    ),
    "spec.fields": ("Model",),
    "spec.gateway": (
        "GatewayFacts",
        "GatewaySettings",
        "GatewayStack",
    ),
    "spec.intents": (
        "Intents",
        "IntentsTarget",
    ),
    "spec.inventory": ("Inventory",),
    "spec.load": (
        "content_of_file",
        "content_of_text",
        "field_path",
        "read_document",
        "read_document_file",
        "whole_numbers",
    ),
    "spec.mesh": ("Mesh",),
    "spec.observability": (
        "Observability",
        "ObservabilityStack",
    ),
    "spec.operators": (
        "Operators",
        "OperatorsStack",
    ),
    "spec.stack": (
        "RootSettings",
        "StackKind",
        "StackSettings",
    ),
    "spec.trust": (
        "AuthorityManagement",
        "NameConstraints",
    ),
    "tenancy.gateway": (
        "SharedGateway",
        "SharedGatewayArgs",
    ),
    "trust.authorities": (
        "MeshRoot",
        "MeshRootArgs",
        "MeshTrust",
        "MeshTrustArgs",
        "cacerts",
    ),
    "trust.management": (
        "Authority",
        "mesh_authority",
    ),
    "vocabulary": (
        "DEFAULT_MEMBERSHIP",
        "suffixed",
    ),
}

__all__ = [
    "DEFAULT_MEMBERSHIP",
    "AccessArgs",
    "AccessLogArgs",
    "AccessRuleArgs",
    "ApplicationArgs",
    "ApplicationClusterArgs",
    "ApplicationDeployment",
    "ApplicationDeploymentArgs",
    "ApplicationPartArgs",
    "ApplicationPlacementArgs",
    "AudienceArgs",
    "Authority",
    "AuthorityManagement",
    "AutoscalingArgs",
    "AzureArgs",
    "CatalogResourcesArgs",
    "ChartSourceArgs",
    "ChartsArgs",
    "CircuitBreakingArgs",
    "CloudflareArgs",
    "ClusterBase",
    "CollectorArgs",
    "CollectorLimitsArgs",
    "Compiled",
    "ControlPlaneArgs",
    "ControlPlaneCluster",
    "ControlPlaneEndpoint",
    "CoreDnsArgs",
    "CrdsArgs",
    "DataPlane",
    "DataPlaneAccess",
    "DataPlaneAccessArgs",
    "DataPlaneArgs",
    "DataPlaneCluster",
    "DataPlaneCrds",
    "DataPlaneCrdsArgs",
    "DataPlaneTemplateArgs",
    "DebugProxyArgs",
    "DeploymentArgs",
    "DeploymentClusterArgs",
    "DnsBridge",
    "DnsBridgeArgs",
    "DnsEdge",
    "DnsEdgeArgs",
    "DnsEdgeStack",
    "DnsProviderArgs",
    "DnsStack",
    "EastWestGatewayArgs",
    "EdgeArgs",
    "EgressArgs",
    "EgressGatewayArgs",
    "EgressProxyArgs",
    "EndpointArgs",
    "EndpointDocument",
    "ExportArgs",
    "ExposureArgs",
    "ExternalControlPlane",
    "ExternalControlPlaneArgs",
    "ExternalDNSBridge",
    "ExternalDNSBridgeArgs",
    "ExternalServiceArgs",
    "FeaturesArgs",
    "Federation",
    "FederationArgs",
    "FederationMember",
    "GatewayArgs",
    "GatewayFacts",
    "GatewayFactsArgs",
    "GatewayImagesArgs",
    "GatewayNetworkPolicyArgs",
    "GatewayPortArgs",
    "GatewayServiceArgs",
    "GatewaySettings",
    "GatewaySettingsArgs",
    "GatewayStack",
    "GoogleArgs",
    "GroupArgs",
    "HostedMesh",
    "HostedMeshArgs",
    "HostedOperators",
    "HostedOperatorsArgs",
    "ImagesArgs",
    "ImportArgs",
    "InboundCertificateArgs",
    "IntentArgs",
    "IntentClientArgs",
    "IntentGroupArgs",
    "IntentServiceArgs",
    "Intents",
    "IntentsArgs",
    "IntentsTarget",
    "IntermediateArgs",
    "InvalidInputError",
    "Inventory",
    "InventoryArgs",
    "InventoryClusterArgs",
    "InventoryFederationArgs",
    "InventoryGatewayArgs",
    "IssuerArgs",
    "IstiodArgs",
    "JwtArgs",
    "KialiArgs",
    "LoadBalancingArgs",
    "LocalityPreferenceArgs",
    "MembershipArgs",
    "Mesh",
    "MeshArgs",
    "MeshDeployment",
    "MeshDeploymentArgs",
    "MeshFederation",
    "MeshFederationArgs",
    "MeshObservability",
    "MeshObservabilityArgs",
    "MeshRoot",
    "MeshRootArgs",
    "MeshTemplateArgs",
    "MeshTrust",
    "MeshTrustArgs",
    "MirrorArgs",
    "Model",
    "NameConstraints",
    "NameConstraintsArgs",
    "NetworkPolicyArgs",
    "Observability",
    "ObservabilityArgs",
    "ObservabilityStack",
    "Offer",
    "OfferArgs",
    "OfferedServiceArgs",
    "OlmResourcesArgs",
    "OperatorCatalogArgs",
    "OperatorImagesArgs",
    "OperatorPlacementArgs",
    "OperatorSubscriptionArgs",
    "OperatorTolerationArgs",
    "OperatorTunnelArgs",
    "OperatorUpgradesArgs",
    "Operators",
    "OperatorsArgs",
    "OperatorsNetworkPolicyArgs",
    "OperatorsStack",
    "OriginateArgs",
    "OtherArgs",
    "OverrideArgs",
    "PackageServerExposureArgs",
    "PartResourcesArgs",
    "PeerArgs",
    "PlacedPortArgs",
    "PlacedServiceArgs",
    "PowerDnsArgs",
    "Problem",
    "PrometheusArgs",
    "ProxiesArgs",
    "ProxyResourcesArgs",
    "PublishedHost",
    "PushedMetricsArgs",
    "RemoteDataPlane",
    "RemoteDataPlaneArgs",
    "ResourcesArgs",
    "RetriesArgs",
    "RevisionArgs",
    "RevisionTemplateArgs",
    "Rfc2136Args",
    "RootArgs",
    "RootSettings",
    "Route53Args",
    "SchedulingArgs",
    "SelectionArgs",
    "SharedGateway",
    "SharedGatewayArgs",
    "StackKind",
    "StackSettings",
    "TcpKeepaliveArgs",
    "TokenKind",
    "TolerationArgs",
    "TracesArgs",
    "TrafficIntents",
    "TrafficIntentsArgs",
    "TrustArgs",
    "WebhookArgs",
    "WebhookExposureArgs",
    "WebhookManagement",
    "WebhooksArgs",
    "WeightArgs",
    "ZoneArgs",
    "cacerts",
    "check_charts",
    "compile_intents",
    "content_of_file",
    "content_of_text",
    "control_plane_cluster",
    "control_plane_hosts",
    "data_plane_cluster",
    "data_plane_secret",
    "declassify",
    "exposed_services",
    "field_path",
    "filled_document",
    "gateway_address_of",
    "gateway_host",
    "has_user_facing_service",
    "hosted_mesh_args",
    "mesh_authority",
    "name_constraints",
    "peers_without_address",
    "peers_without_root",
    "published_records",
    "read_application",
    "read_deployment",
    "read_dns_bridge",
    "read_document",
    "read_document_file",
    "read_endpoint",
    "read_mesh",
    "remote_data_plane_args",
    "require_matching_endpoints",
    "require_split",
    "suffixed",
    "when_known",
    "whole_numbers",
]

# One module has the TypedDicts of documents, which are most of the names.
_HOME_OF: Final = dict.fromkeys(__all__, "_generated.inputs") | {
    name: home for home, names in _HOMES.items() for name in names
}


if not TYPE_CHECKING:  # with it a type checker would accept misspelt names

    def __getattr__(name: str) -> Any:
        """Loads a public name. So a stack that only creates certificates does not load the Kubernetes package."""
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
