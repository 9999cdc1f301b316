"""Service meshes whose control plane runs in one cluster and whose proxies run in others, as Pulumi components.

    import pulumi_hosted_mesh as hosted_mesh

Every public name is here, and loaded when it is first used; all else is private.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pulumi_hosted_mesh.assembly.document import read_deployment, read_endpoint, read_mesh
    from pulumi_hosted_mesh.assembly.hosted_mesh import HostedMesh, HostedMeshArgs
    from pulumi_hosted_mesh.assembly.mesh_deployment import MeshDeployment, MeshDeploymentArgs
    from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
    from pulumi_hosted_mesh.boundary.guard import data_plane_secret, declassify
    from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, DataPlaneCluster
    from pulumi_hosted_mesh.control_plane.external import ExternalControlPlane, ExternalControlPlaneArgs
    from pulumi_hosted_mesh.data_plane.access import DataPlaneAccess, DataPlaneAccessArgs
    from pulumi_hosted_mesh.data_plane.crds import DataPlaneCrds, DataPlaneCrdsArgs
    from pulumi_hosted_mesh.data_plane.remote import RemoteDataPlane, RemoteDataPlaneArgs
    from pulumi_hosted_mesh.dns.bridge import ExternalDNSBridge, ExternalDNSBridgeArgs
    from pulumi_hosted_mesh.dns.document import read_dns_bridge
    from pulumi_hosted_mesh.dns.edge import DnsEdge, DnsEdgeArgs
    from pulumi_hosted_mesh.federation.mesh_federation import MeshFederation, MeshFederationArgs
    from pulumi_hosted_mesh.inputs import (
        AccessArgs,
        AccessLogArgs,
        AudienceArgs,
        AutoscalingArgs,
        AzureArgs,
        ChartsArgs,
        ChartSourceArgs,
        CloudflareArgs,
        ControlPlaneArgs,
        CoreDnsArgs,
        CrdsArgs,
        DataPlaneArgs,
        DataPlaneTemplateArgs,
        DeploymentArgs,
        DeploymentClusterArgs,
        DnsBridgeArgs,
        DnsProviderArgs,
        EastWestGatewayArgs,
        EdgeArgs,
        EgressArgs,
        EndpointArgs,
        ExportArgs,
        ExposureArgs,
        FeaturesArgs,
        FederationArgs,
        GatewayArgs,
        GatewayPortArgs,
        GatewayServiceArgs,
        GoogleArgs,
        GroupArgs,
        ImagesArgs,
        ImportArgs,
        IntermediateArgs,
        IstiodArgs,
        MembershipArgs,
        MeshArgs,
        MeshTemplateArgs,
        NetworkPolicyArgs,
        OfferArgs,
        OfferedServiceArgs,
        OtherArgs,
        OverrideArgs,
        PeerArgs,
        ProxiesArgs,
        ProxyResourcesArgs,
        ResourcesArgs,
        RevisionArgs,
        RevisionTemplateArgs,
        Rfc2136Args,
        RootArgs,
        Route53Args,
        SchedulingArgs,
        SelectionArgs,
        TolerationArgs,
        TrustArgs,
        WebhookArgs,
        WebhookExposureArgs,
        WebhooksArgs,
        ZoneArgs,
    )
    from pulumi_hosted_mesh.problems import InvalidInputError
    from pulumi_hosted_mesh.trust.authorities import MeshRoot, MeshRootArgs, MeshTrust, MeshTrustArgs, cacerts

_HOMES: Final = {
    "assembly.document": ("read_deployment", "read_endpoint", "read_mesh"),
    "assembly.hosted_mesh": ("HostedMesh", "HostedMeshArgs"),
    "assembly.mesh_deployment": ("MeshDeployment", "MeshDeploymentArgs"),
    "boundary.endpoint": ("ControlPlaneEndpoint",),
    "boundary.guard": ("data_plane_secret", "declassify"),
    "clusters.cluster": ("ControlPlaneCluster", "DataPlaneCluster"),
    "control_plane.external": ("ExternalControlPlane", "ExternalControlPlaneArgs"),
    "data_plane.access": ("DataPlaneAccess", "DataPlaneAccessArgs"),
    "data_plane.crds": ("DataPlaneCrds", "DataPlaneCrdsArgs"),
    "data_plane.remote": ("RemoteDataPlane", "RemoteDataPlaneArgs"),
    "federation.mesh_federation": ("MeshFederation", "MeshFederationArgs"),
    "dns.bridge": ("ExternalDNSBridge", "ExternalDNSBridgeArgs"),
    "dns.document": ("read_dns_bridge",),
    "dns.edge": ("DnsEdge", "DnsEdgeArgs"),
    "problems": ("InvalidInputError",),
    "trust.authorities": ("MeshRoot", "MeshRootArgs", "MeshTrust", "MeshTrustArgs", "cacerts"),
}

__all__ = [
    "AccessArgs",
    "AccessLogArgs",
    "AudienceArgs",
    "AutoscalingArgs",
    "AzureArgs",
    "ChartSourceArgs",
    "ChartsArgs",
    "CloudflareArgs",
    "ControlPlaneArgs",
    "ControlPlaneCluster",
    "ControlPlaneEndpoint",
    "CoreDnsArgs",
    "CrdsArgs",
    "DataPlaneAccess",
    "DataPlaneAccessArgs",
    "DataPlaneArgs",
    "DataPlaneCluster",
    "DataPlaneCrds",
    "DataPlaneCrdsArgs",
    "DataPlaneTemplateArgs",
    "DeploymentArgs",
    "DeploymentClusterArgs",
    "DnsBridgeArgs",
    "DnsEdge",
    "DnsEdgeArgs",
    "DnsProviderArgs",
    "EastWestGatewayArgs",
    "EdgeArgs",
    "EgressArgs",
    "EndpointArgs",
    "ExportArgs",
    "ExposureArgs",
    "ExternalControlPlane",
    "ExternalControlPlaneArgs",
    "ExternalDNSBridge",
    "ExternalDNSBridgeArgs",
    "FeaturesArgs",
    "FederationArgs",
    "GatewayArgs",
    "GatewayPortArgs",
    "GatewayServiceArgs",
    "GoogleArgs",
    "GroupArgs",
    "HostedMesh",
    "HostedMeshArgs",
    "ImagesArgs",
    "ImportArgs",
    "IntermediateArgs",
    "InvalidInputError",
    "IstiodArgs",
    "MembershipArgs",
    "MeshArgs",
    "MeshDeployment",
    "MeshDeploymentArgs",
    "MeshFederation",
    "MeshFederationArgs",
    "MeshRoot",
    "MeshRootArgs",
    "MeshTemplateArgs",
    "MeshTrust",
    "MeshTrustArgs",
    "NetworkPolicyArgs",
    "OfferArgs",
    "OfferedServiceArgs",
    "OtherArgs",
    "OverrideArgs",
    "PeerArgs",
    "ProxiesArgs",
    "ProxyResourcesArgs",
    "RemoteDataPlane",
    "RemoteDataPlaneArgs",
    "ResourcesArgs",
    "RevisionArgs",
    "RevisionTemplateArgs",
    "Rfc2136Args",
    "RootArgs",
    "Route53Args",
    "SchedulingArgs",
    "SelectionArgs",
    "TolerationArgs",
    "TrustArgs",
    "WebhookArgs",
    "WebhookExposureArgs",
    "WebhooksArgs",
    "ZoneArgs",
    "cacerts",
    "data_plane_secret",
    "declassify",
    "read_deployment",
    "read_dns_bridge",
    "read_endpoint",
    "read_mesh",
]

# The inputs' shapes, which are most of the names, are all in one module.
_HOME_OF: Final = dict.fromkeys(__all__, "inputs") | {name: home for home, names in _HOMES.items() for name in names}


if not TYPE_CHECKING:  # for a type checker it would answer to every name, a misspelt one too

    def __getattr__(name: str) -> Any:
        """Loads a public name. A stack that makes certificates alone so has no need to load the Kubernetes package."""
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
