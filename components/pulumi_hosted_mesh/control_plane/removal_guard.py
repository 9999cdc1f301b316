"""A resource hook that keeps a revision of istiod from being removed while it is in use.

The engine stores a hook's name with a resource, and runs the hook of that name when it deletes the resource: in a
program that no longer has the revision, or even the mesh. So there is one hook per program, of a fixed name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self
from urllib.parse import quote

import pulumi
from pulumi_kubernetes import core
from pulumi_kubernetes.helm import v4 as helm

from pulumi_hosted_mesh.boundary.per_stack_registry import PerStackRegistry
from pulumi_hosted_mesh.clusters.api_server import ApiServer, UnreachableError
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster
from pulumi_hosted_mesh.clusters.exec_credential import fetched
from pulumi_hosted_mesh.clusters.hooks import engine_calls_hooks, plain
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig
from pulumi_hosted_mesh.control_plane.in_use import Use, refusal, use_of
from pulumi_hosted_mesh.control_plane.source_ranges import source_ranges_hook
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.vocabulary import REVISION_LABEL, TYPE_REVISION_GUARD

HOOK: Final = "hosted-mesh-revision-in-use"
SERVICE: Final = "kubernetes:core/v1:Service"
PATHS: Final = {
    "kubernetes:apps/v1:Deployment": "/apis/apps/v1/namespaces/{}/deployments/{}",
    SERVICE: "/api/v1/namespaces/{}/services/{}",
}


class RevisionInUseError(Exception):
    """A revision that is to be removed is in use. The message has the fix."""


@dataclass(frozen=True)
class GuardedMesh:
    """A mesh of the program. own_webhooks: the program has the data planes' webhooks too, and removes them first."""

    mesh: Mesh
    own_webhooks: bool


@dataclass(frozen=True)
class Deleted:
    """The object that is to be deleted, of a revision: its path, and its uid if that is known.

    For a RevisionGuard, which has none, the mesh's Namespace.
    """

    namespace: str
    name: str
    revision: str
    path: str
    uid: str | None

    @classmethod
    async def of(cls, args: pulumi.ResourceHookArgs) -> Self | None:
        """None for an object of no revision."""
        if args.type == TYPE_REVISION_GUARD:
            inputs = args.old_inputs or {}
            namespace, revision, uid = [await plain(inputs.get(key)) for key in ("namespace", "revision", "uid")]
            return cls(namespace, args.name, revision, f"/api/v1/namespaces/{quote(namespace)}", uid)
        namespace, _, name = str(args.id).rpartition("/")
        uid = await plain((await plain((args.old_outputs or {}).get("metadata")) or {}).get("uid"))
        path = PATHS[args.type].format(quote(namespace), quote(name))
        revision = (await _labels(args)).get(REVISION_LABEL)
        return None if revision is None else cls(namespace, name, revision, path, uid)

    def is_in(self, api: ApiServer) -> bool:
        """Whether a cluster has it. One of the same name in another cluster is not it. Raises: UnreachableError."""
        found = api.get(self.path)
        return found is not None and self.uid in (None, found["metadata"].get("uid"))


@dataclass
class RemovalGuard:
    """The hooks of a program, its meshes by namespace, and its control planes.

    hook: keeps a revision. ranges: warns of changed source ranges.
    """

    hook: pulumi.ResourceHook | None = None
    ranges: pulumi.ResourceHook | None = None
    clusters: list[ControlPlaneCluster] = field(default_factory=list)
    meshes: dict[str, GuardedMesh] = field(default_factory=dict)

    def binding(self) -> pulumi.ResourceHookBinding | None:
        """For the options of a resource; None where nothing calls hooks."""
        return pulumi.ResourceHookBinding(before_delete=[self.hook]) if self.hook else None

    def service_binding(self) -> pulumi.ResourceHookBinding | None:
        """For the options of a Service for data planes; None where nothing calls hooks."""
        if self.ranges is None:
            return self.binding()
        kept = [self.hook] if self.hook else None
        return pulumi.ResourceHookBinding(before_delete=kept, before_update=[self.ranges])

    async def check(self, args: pulumi.ResourceHookArgs) -> None:
        """Rejects the deletion of a resource of a revision that is in use. Raises: RevisionInUseError."""
        own = await Deleted.of(args)
        if own is None:
            return
        guarded = self.meshes.get(own.namespace)
        if guarded and args.type == SERVICE and _another_exposure(guarded.mesh, own.revision, own.name):
            return
        configs = [await cluster.known_kubeconfig() for cluster in self.clusters]
        if guarded and (reason := guarded.mesh.control_plane.remove_in_use.get(own.revision)):
            place = f"revision {own.revision} in namespace {own.namespace}"
            pulumi.log.warn(f"{place} is removed without a check: {reason}")
            return
        webhooks = guarded is not None and not guarded.own_webhooks
        for config in configs:
            if config is not None:
                await asyncio.to_thread(_refuse, config, own, webhooks=webhooks)


class RevisionGuard(pulumi.ComponentResource):
    """The resource of a revision that the engine deletes first, so a refused deletion has removed no object.

    The engine deletes a resource before its dependencies, and all resources without an order at once. So the hook on a
    Deployment comes after the deletion of webhooks and gateways. It has no object in a cluster.
    """

    def __init__(
        self,
        name: str,
        revision: str,
        namespace: core.v1.Namespace,
        *,
        guard: RemovalGuard,
        depends_on: Sequence[pulumi.Resource],
        parent: pulumi.Resource,
    ) -> None:
        """namespace: the mesh's. depends_on: the last resources of the mesh; directly or not, it depends on all."""
        metadata = namespace.metadata
        properties = {"namespace": metadata.name, "revision": revision, "uid": metadata.uid}
        options = pulumi.ResourceOptions(parent=parent, depends_on=_with_objects(depends_on), hooks=guard.binding())
        super().__init__(TYPE_REVISION_GUARD, name, properties, options)
        self.register_outputs({})


_guards = PerStackRegistry[str, RemovalGuard]()


def removal_guard(mesh: Mesh, cluster: ControlPlaneCluster, *, own_webhooks: bool) -> RemovalGuard:
    """The program's guard, with this mesh in it.

    Without a hook in a component host (not tried there), under Pulumi's mocks, and for a cluster
    that is given as a provider.
    """
    guard = _guards.current().setdefault(HOOK, RemovalGuard())
    guard.meshes[mesh.control_plane_namespace] = GuardedMesh(mesh, own_webhooks)
    if cluster not in guard.clusters:
        guard.clusters.append(cluster)
    if engine_calls_hooks():
        guard.ranges = guard.ranges or source_ranges_hook()
        if guard.hook is None and cluster.has_kubeconfig:
            guard.hook = pulumi.ResourceHook(HOOK, guard.check, pulumi.ResourceHookOptions(on_dry_run=True))
    return guard


def _with_objects(resources: Sequence[pulumi.Resource]) -> pulumi.Output[list[pulumi.Resource]]:
    """With the charts' objects. A dependency on a chart orders their deletion too, but with `--continue-on-error` the
    engine keeps the dependencies of a refused resource alone, and not their children."""
    charts = [one.resources for one in resources if isinstance(one, helm.Chart)]

    def flat(objects: Sequence[Sequence[pulumi.Resource] | None]) -> list[pulumi.Resource]:
        return [*resources, *(one for of_chart in objects for one in of_chart or ())]

    return pulumi.Output.all(*charts).apply(flat)


def _refuse(config: Kubeconfig, own: Deleted, *, webhooks: bool) -> None:
    try:
        api = ApiServer(fetched(config, "controlPlane.cluster", "the document"))
        found = use_of(api, own.namespace, own.revision, webhooks=webhooks) if own.is_in(api) else None
    except (UnreachableError, InvalidInputError) as error:
        found = Use(unknown=(f"the control plane's cluster: {error}",))
    if found is None or found.override:
        return
    for one in found.unseen:
        pulumi.log.warn(f"revision {own.revision}: webhooks and Pods were not looked for in {one}")
    if problem := refusal(own.revision, own.namespace, found):
        raise RevisionInUseError(problem)


def _another_exposure(mesh: Mesh, revision: str, service: str) -> bool:
    """Whether the revision stays, and its exposure has this Service no longer."""
    present = next((one for one in mesh.revisions if one.name == revision), None)
    return present is not None and service not in mesh.exposed_services(present)


async def _labels(args: pulumi.ResourceHookArgs) -> Mapping[str, Any]:
    """Labels of a Deployment of istiod, or of the Pods behind a Service."""
    inputs = args.old_inputs or {}
    part, key = ("spec", "selector") if args.type == SERVICE else ("metadata", "labels")
    found = await plain((await plain(inputs.get(part)) or {}).get(key))
    return found if isinstance(found, Mapping) else {}
