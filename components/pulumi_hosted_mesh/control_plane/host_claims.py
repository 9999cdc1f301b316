"""Rejects a host of another mesh at the shared gateway before its ConfigMap is created, in previews too.

Without it the API server rejects the second object of a name, during `pulumi up` only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

import pulumi

from pulumi_hosted_mesh.boundary.per_stack_registry import PerStackRegistry
from pulumi_hosted_mesh.clusters.api_server import ApiServer, UnreachableError
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster
from pulumi_hosted_mesh.clusters.exec_credential import fetched
from pulumi_hosted_mesh.clusters.hooks import engine_calls_hooks
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig
from pulumi_hosted_mesh.control_plane.gateway_hosts import SOURCE, gateway_hosts
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.gateway import GatewayFacts
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.vocabulary import MESH_LABEL, TENANT_LABEL, owner_of

HOOK: Final = "hosted-mesh-gateway-host"
FIX: Final = "Choose another host, or remove it from that mesh first"


class HostTakenError(Exception):
    """A host belongs to another mesh. The message has the fix."""


@dataclass
class HostClaims:
    """The hook of a program, and its control planes' clusters."""

    hook: pulumi.ResourceHook | None = None
    clusters: list[ControlPlaneCluster] = field(default_factory=list)

    def binding(self) -> pulumi.ResourceHookBinding | None:
        """For the options of a host's ConfigMap; None where nothing calls hooks."""
        return pulumi.ResourceHookBinding(before_create=[self.hook]) if self.hook else None

    async def check(self, args: pulumi.ResourceHookArgs) -> None:
        """Raises HostTakenError if the host belongs to another mesh of a cluster of this program."""
        metadata = dict((args.new_inputs or {}).get("metadata") or {})
        labels = dict(metadata.get("labels") or {})
        path = f"/api/v1/namespaces/{quote(metadata['namespace'])}/configmaps/{quote(metadata['name'])}"
        configs = [await cluster.known_kubeconfig() for cluster in self.clusters]
        for config in filter(None, configs):
            owner = await asyncio.to_thread(_owner, config, path)
            if owner is not None and owner != _called(labels):
                raise HostTakenError(f"host {metadata['name']} belongs to mesh {owner} at the gateway. {FIX}")


def _owner(config: Kubeconfig, path: str) -> str | None:
    """The mesh of a host's ConfigMap; None without one. A cluster that does not answer rejects the object itself."""
    try:
        found: Mapping[str, Any] | None = ApiServer(fetched(config, "controlPlane.cluster", "the document")).get(path)
    except (UnreachableError, InvalidInputError):
        return None
    return None if found is None else _called(found["metadata"].get("labels") or {})


def _called(labels: Mapping[str, Any]) -> str:
    return owner_of(str(labels.get(MESH_LABEL)), labels.get(TENANT_LABEL))


_claims = PerStackRegistry[str, HostClaims]()
_hosts = PerStackRegistry[tuple[str, str], str]()


def host_claims(cluster: ControlPlaneCluster) -> HostClaims:
    """The program's claims, with this cluster. Without a hook where `removal_guard` has none."""
    claims = _claims.current().setdefault(HOOK, HostClaims())
    if cluster not in claims.clusters:
        claims.clusters.append(cluster)
    if claims.hook is None and engine_calls_hooks() and cluster.has_kubeconfig:
        claims.hook = pulumi.ResourceHook(HOOK, claims.check, pulumi.ResourceHookOptions(on_dry_run=True))
    return claims


def require_free_hosts(mesh: Mesh, gateway: GatewayFacts) -> None:
    """Raises InvalidInputError if another mesh of the program has one of the hosts."""
    owners = _hosts.current()
    for position, revision in enumerate(mesh.revisions):
        for one in gateway_hosts(mesh, revision):
            owner = owners.setdefault((gateway.namespace, one.host), mesh.owner)
            if owner != mesh.owner:
                rule = f"has host {one.host}, which belongs to mesh {owner} at the gateway"
                raise InvalidInputError([Problem(f"revisions[{position}]", rule, FIX)], SOURCE)
