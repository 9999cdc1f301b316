"""A mesh's hosts at the shared gateway: one ConfigMap for each, whose name is the host. Pure.

The API server permits one object of a name. So it rejects the second owner of a host, also for two stacks at once.
`agents/gateway_sidecar/rows.py` reads the ConfigMaps.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.exposure import Allowed, GatewayExposure
from pulumi_hosted_mesh.spec.gateway import GatewayFacts
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.revision import Revision

VERSION: Final = 1
"""Version of a row's format."""
KEY: Final = "row"
XDS: Final = "xds"
WEBHOOKS: Final = "webhooks"
SOURCE: Final = "the mesh"


@dataclass(frozen=True)
class GatewayHost:
    """A host, and the data of its ConfigMap."""

    host: str
    data: dict[str, str]


def gateway_hosts(mesh: Mesh, revision: Revision) -> list[GatewayHost]:
    """The hosts of a revision: none without `exposure: gateway`, two with a host for the webhooks."""
    exposure = revision.exposure
    if not isinstance(exposure, GatewayExposure):
        return []
    xds, webhooks = {str(exposure.xds_port): XDS}, {str(exposure.webhook_port): WEBHOOKS}
    if exposure.webhooks is None:
        return [_host(mesh, revision, revision.host, exposure, {**xds, **webhooks})]
    return [
        _host(mesh, revision, revision.host, exposure, xds),
        _host(mesh, revision, exposure.webhooks.host, exposure.webhooks, webhooks),
    ]


def _host(mesh: Mesh, revision: Revision, host: str, allowed: Allowed, routes: dict[str, str]) -> GatewayHost:
    exposure = revision.exposure
    assert isinstance(exposure, GatewayExposure)
    row: dict[str, Any] = {
        "version": VERSION,
        "mesh": mesh.name,
        "revision": revision.name,
        "routes": routes,
        "connections": exposure.connections,
        "newConnectionsPerSecond": exposure.new_connections_per_second,
    }
    if mesh.tenant:
        row["tenant"] = mesh.tenant
    row |= {"openToAll": True} if allowed.open_to_all else {"sourceRanges": list(allowed.source_ranges)}
    return GatewayHost(host, {KEY: json.dumps(row, sort_keys=True)})


def uses_gateway(mesh: Mesh) -> bool:
    """Whether a revision uses the shared gateway."""
    return any(isinstance(one.exposure, GatewayExposure) for one in mesh.revisions)


def uses_gateway_alone(mesh: Mesh) -> bool:
    """Whether all revisions use it, so that nothing else connects to istiod from outside of the cluster."""
    return all(isinstance(one.exposure, GatewayExposure) for one in mesh.revisions)


def require_gateway(mesh: Mesh, gateway: GatewayFacts | None) -> None:
    """Raises InvalidInputError if the gateway cannot serve the mesh's hosts. gateway: its facts."""
    if gateway is None:
        if uses_gateway(mesh):
            rule = "is required: a revision has exposure.kind gateway"
            fix = "Give the facts of the shared gateway; in a stack name its stack under references.gateway"
            raise InvalidInputError([Problem("gateway", rule, fix)], SOURCE)
        return
    if problems := [*_problems(mesh, gateway)]:
        raise InvalidInputError(problems, SOURCE)


def _problems(mesh: Mesh, gateway: GatewayFacts) -> Iterator[Problem]:
    zones, ports = ", ".join(gateway.zones), ", ".join(map(str, gateway.ports))
    for position, revision in enumerate(mesh.revisions):
        exposure, field = revision.exposure, f"revisions[{position}]"
        if not isinstance(exposure, GatewayExposure):
            continue
        hosts = {f"{field}.host": revision.host}
        if exposure.webhooks:
            hosts[f"{field}.exposure.webhooks.host"] = exposure.webhooks.host
        for path, host in hosts.items():
            if not any(host.endswith(f".{zone}") for zone in gateway.zones):
                yield Problem(path, "is outside of the gateway's zones", f"Choose a host below {zones}")
        for name, port in (("xdsPort", exposure.xds_port), ("webhookPort", exposure.webhook_port)):
            if port not in gateway.ports:
                fix = f"Choose one of {ports}, or add it to the ports of the stack gateway first"
                yield Problem(f"{field}.exposure.{name}", "is a port without a listener at the gateway", fix)
