"""A resource hook that makes a turnover of roots wait until its step before has arrived.

It runs before an update of the Secret `cacerts`, in previews too if the new files are known. It reads the data planes
by the program's own clusters; where the program has none, by istiod's kubeconfigs, so it needs no other right.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

import pulumi

from pulumi_hosted_mesh.boundary.cacerts import FILES, ROOT_FILE
from pulumi_hosted_mesh.boundary.per_stack_registry import PerStackRegistry
from pulumi_hosted_mesh.clusters.api_server import ApiServer, UnreachableError
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, DataPlaneCluster
from pulumi_hosted_mesh.clusters.exec_credential import fetched
from pulumi_hosted_mesh.clusters.hooks import engine_calls_hooks, plain
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig
from pulumi_hosted_mesh.control_plane.in_use import ADMISSION, ENDED, WEBHOOKS, data_planes_of
from pulumi_hosted_mesh.control_plane.root_steps import DataPlaneRoots, Step, keys_in, refusals, step
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.vocabulary import (
    CACERTS_SECRET,
    MESH_LABEL,
    REVISION_LABEL,
    root_certificate_config_map,
)

HOOK: Final = "hosted-mesh-root-steps"
PODS: Final = "/api/v1/pods?labelSelector=service.istio.io/canonical-name"
PROXY: Final = "istio-proxy"
OVERRIDE: Final = "Or set trust.goOn: REASON in the mesh document, for this step"


class RootStepError(Exception):
    """A step of a turnover of roots that came too early. The message has the fix."""


@dataclass(frozen=True)
class GuardedRoots:
    """A mesh of the program, its control plane's cluster, and its data planes' clusters if the program has them."""

    mesh: Mesh
    cluster: ControlPlaneCluster
    data_planes: Sequence[DataPlaneCluster] = ()


@dataclass
class RootGuard:
    """The hook of a program, and its meshes by namespace on the control plane."""

    hook: pulumi.ResourceHook | None = None
    meshes: dict[str, GuardedRoots] = field(default_factory=dict)

    def binding(self) -> pulumi.ResourceHookBinding | None:
        """For the options of the Secret; None where nothing calls hooks."""
        return pulumi.ResourceHookBinding(before_update=[self.hook]) if self.hook else None

    async def check(self, args: pulumi.ResourceHookArgs) -> None:
        """Rejects an update of `cacerts` whose step before has not arrived. Raises: RootStepError."""
        namespace, _, name = str(args.id).rpartition("/")
        if name != CACERTS_SECRET or namespace not in self.meshes:
            return
        following = await _files(args.new_inputs or {})
        guarded = self.meshes[namespace]
        config = await guarded.cluster.known_kubeconfig()
        own = [await one.known_kubeconfig() for one in guarded.data_planes]
        if config is None or not all(isinstance(following.get(one), str) for one in FILES):
            return  # unknown in a preview
        known = [one for one in own if one is not None]
        await asyncio.to_thread(_refuse, guarded.mesh, config, known if len(known) == len(own) else [], following)


async def _files(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Plain texts in a Secret's inputs. The provider turns `stringData` into `data` before the engine calls a hook."""
    data, texts = await plain(inputs.get("data")), await plain(inputs.get("stringData"))
    found: dict[str, Any] = {}
    for key, value in (data if isinstance(data, Mapping) else {}).items():
        content = await plain(value)
        found[key] = _decoded(content) if isinstance(content, str) else None
    for key, value in (texts if isinstance(texts, Mapping) else {}).items():
        found[key] = await plain(value)
    return found


_guards = PerStackRegistry[str, RootGuard]()


def root_guard(mesh: Mesh, cluster: ControlPlaneCluster, data_planes: Sequence[DataPlaneCluster]) -> RootGuard:
    """The program's guard, with this mesh in it. Without a hook where `removal_guard` has none."""
    guard = _guards.current().setdefault(HOOK, RootGuard())
    guard.meshes[mesh.control_plane_namespace] = GuardedRoots(mesh, cluster, data_planes)
    if guard.hook is None and engine_calls_hooks() and cluster.has_kubeconfig:
        guard.hook = pulumi.ResourceHook(HOOK, guard.check, pulumi.ResourceHookOptions(on_dry_run=True))
    return guard


def _refuse(mesh: Mesh, config: Kubeconfig, own: Sequence[Kubeconfig], following: Mapping[str, str]) -> None:
    """own: of the data planes; empty to use istiod's. Raises: RootStepError."""
    try:
        api = ApiServer(fetched(config, "controlPlane.cluster", "the document"))
        secret = api.get(f"/api/v1/namespaces/{quote(mesh.control_plane_namespace)}/secrets/{CACERTS_SECRET}")
    except (UnreachableError, InvalidInputError):
        return  # the update itself fails, too
    present = {name: _decoded(content) for name, content in ((secret or {}).get("data") or {}).items()}
    if secret is None or not all(present.get(one) for one in FILES):
        return
    try:
        wanted = step(present, following)
        same = keys_in(present[ROOT_FILE]).keys() & keys_in(following[ROOT_FILE]).keys()
    except ValueError:
        return
    if not same:
        pulumi.log.warn(
            f"mesh {mesh.name} gets another root, and no trusted one stays: proxies of the old and the new one reject "
            "each other until all have been restarted. trust.roots moves without this gap"
        )
    if wanted is None:
        return
    if mesh.trust.go_on:
        pulumi.log.warn(f"mesh {mesh.name} takes a step of its roots without a check: {mesh.trust.go_on}")
        return
    if found := list(_reasons(mesh, api, own, secret, wanted)):
        raise RootStepError(f"mesh {mesh.name}: {'; '.join(found)}. {OVERRIDE}")


def _reasons(
    mesh: Mesh, api: ApiServer, own: Sequence[Kubeconfig], secret: Mapping[str, Any], wanted: Step
) -> list[str]:
    unseen: list[str] = []
    data_planes = []
    for one in own or data_planes_of(api, mesh.control_plane_namespace, unseen):
        try:
            server = (
                ApiServer(fetched(one, "memberships.cluster", "the document")) if isinstance(one, Kubeconfig) else one
            )
            data_planes.append(roots_of(mesh, server))
        except (UnreachableError, InvalidInputError, ValueError) as error:
            unseen.append(f"a data plane: {error}")
    lifetime = timedelta(hours=mesh.trust.workload_lifetime_hours)
    found = list(refusals(wanted, data_planes, _written(secret, "data"), datetime.now(UTC), lifetime))
    return [*found, *(f"its proxies cannot be seen: {one}" for one in unseen)]


def roots_of(mesh: Mesh, api: ApiServer) -> DataPlaneRoots:
    """A data plane as its API server shows it. Raises: UnreachableError; ValueError for an unreadable certificate."""
    name = root_certificate_config_map(mesh.name)
    # istiod has the right to list this one, not to get it.
    listed = f"/api/v1/namespaces/{quote(mesh.namespace)}/configmaps?fieldSelector=metadata.name%3D{quote(name)}"
    config_map: Mapping[str, Any] = next(iter(api.list(listed)), {})
    pem = (config_map.get("data") or {}).get(ROOT_FILE, "")
    revisions = {one.name for one in mesh.revisions}
    return DataPlaneRoots(
        roots=frozenset(keys_in(pem) if pem else ()),
        written=_written(config_map, "data"),
        webhooks={
            str(one["metadata"]["name"]): frozenset.intersection(*map(_bundle, one["webhooks"]))
            for kind in WEBHOOKS
            for one in api.list(f"{ADMISSION}/{kind}")
            if (one["metadata"].get("labels") or {}).get(MESH_LABEL) == mesh.name and one.get("webhooks")
        },
        started={
            (str(one["metadata"]["namespace"]), str(one["metadata"]["name"])): _started(one)
            for one in api.list(PODS)
            if (one["metadata"].get("annotations") or {}).get(REVISION_LABEL) in revisions
            and (one.get("status") or {}).get("phase") not in ENDED
        },
    )


def _bundle(hook: Mapping[str, Any]) -> frozenset[bytes]:
    pem = _decoded(str((hook.get("clientConfig") or {}).get("caBundle") or ""))
    return frozenset(keys_in(pem) if pem else ())


def _started(pod: Mapping[str, Any]) -> datetime | None:
    """The start of a Pod's proxy; None before it."""
    status = pod.get("status") or {}
    for one in [*(status.get("containerStatuses") or []), *(status.get("initContainerStatuses") or [])]:
        running = (one.get("state") or {}).get("running") or {}
        if one.get("name") == PROXY and running.get("startedAt"):
            return datetime.fromisoformat(str(running["startedAt"]))
    return None


def _written(manifest: Mapping[str, Any], part: str) -> datetime | None:
    """The last time at which a manager wrote a part of an object."""
    entries = (manifest.get("metadata") or {}).get("managedFields") or []
    times = [one["time"] for one in entries if f"f:{part}" in (one.get("fieldsV1") or {}) and one.get("time")]
    return max(map(datetime.fromisoformat, times), default=None)


def _decoded(content: str) -> str:
    try:
        return base64.b64decode(content).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
