"""The components as a package for programs in other languages."""

from __future__ import annotations

import sys
from typing import Any, Final

import pulumi
from pulumi.errors import InputPropertiesError
from pulumi.provider import main, server

from pulumi_hosted_mesh.applications.application_deployment import ApplicationDeployment
from pulumi_hosted_mesh.assembly.hosted_mesh import HostedMesh
from pulumi_hosted_mesh.assembly.mesh_deployment import MeshDeployment
from pulumi_hosted_mesh.assembly.package_schema import FILE, provider, text_of
from pulumi_hosted_mesh.control_plane.external import ExternalControlPlane
from pulumi_hosted_mesh.data_plane.access import DataPlaneAccess
from pulumi_hosted_mesh.data_plane.crds import DataPlaneCrds
from pulumi_hosted_mesh.data_plane.remote import RemoteDataPlane
from pulumi_hosted_mesh.dns.bridge import ExternalDNSBridge
from pulumi_hosted_mesh.dns.edge import DnsEdge
from pulumi_hosted_mesh.federation.mesh_federation import MeshFederation
from pulumi_hosted_mesh.intents.traffic_intents import TrafficIntents
from pulumi_hosted_mesh.observability.mesh_observability import MeshObservability
from pulumi_hosted_mesh.operators.hosted_operators import HostedOperators
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.tenancy.gateway import SharedGateway
from pulumi_hosted_mesh.trust.authorities import MeshRoot, MeshTrust

COMPONENTS: Final[tuple[type[pulumi.ComponentResource], ...]] = (
    ApplicationDeployment,
    DataPlaneAccess,
    DataPlaneCrds,
    DnsEdge,
    ExternalControlPlane,
    ExternalDNSBridge,
    HostedMesh,
    HostedOperators,
    MeshDeployment,
    MeshFederation,
    MeshObservability,
    MeshRoot,
    MeshTrust,
    RemoteDataPlane,
    SharedGateway,
    TrafficIntents,
)


class _Servicer(server.ProviderServicer):
    async def _construct(self, request: Any, context: Any) -> Any:
        """Converts InvalidInputError to Pulumi's InputPropertiesError, which Pulumi prints without a stack trace.

        It has no path of a field: the engine would also print the field's value, which may be a secret.
        """
        try:
            return await super()._construct(request, context)
        except (server.ComponentInitError, InvalidInputError) as error:
            cause = error.inner if isinstance(error, server.ComponentInitError) else error
            if isinstance(cause, InvalidInputError):
                raise InputPropertiesError(str(cause), []) from None
            raise


def serve() -> None:
    """Serves the components to the engine; rejects input with the same message as in a Python program."""
    # Pulumi's host creates its server itself and accepts no other.
    server.ProviderServicer = _Servicer  # type: ignore[misc]
    main(provider(COMPONENTS), sys.argv[1:])


def write_schema() -> None:
    """Writes the package's schema, as `hosted-mesh schema --write` does."""
    FILE.write_text(text_of(provider(COMPONENTS).schema), encoding="utf-8")
