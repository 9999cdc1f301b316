"""A check before an object is created: an existing one is adopted only if it is this stack's own.

A run that is killed leaves objects that its state lacks. With the variable HOSTED_MESH_ADOPT the library's providers
adopt existing objects (`upsertExistingObjects`), so the next run takes these. A resource hook rejects all others before
the object is written.
"""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import pulumi
from pulumi.runtime import settings
from pulumi.runtime.invoke import invoke_async
from pulumi_kubernetes import core, meta

from pulumi_hosted_mesh.boundary.per_stack_registry import PerStackRegistry
from pulumi_hosted_mesh.clusters.api_server import ApiServer, UnreachableError
from pulumi_hosted_mesh.clusters.exec_credential import fetched
from pulumi_hosted_mesh.clusters.hooks import engine_calls_hooks
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.vocabulary import ADOPT_VARIABLE, CACERTS_SECRET, MANAGED_BY_LABEL, PREFIX, STACK_ANNOTATION

if TYPE_CHECKING:
    from pulumi_hosted_mesh.clusters.cluster import Cluster

HOOK: Final = "hosted-mesh-adopt"
DEFINITION: Final = "CustomResourceDefinition"
ROOT_CERTIFICATE: Final = "root-cert.pem"
RECOVERY: Final = "See docs/recovery.md"
END_SECONDS: Final = 300.0
POLL_SECONDS: Final = 0.5
STATE_SECONDS: Final = 20.0


class ExistingObjectError(Exception):
    """An object that is to be created exists, and is not this stack's own. The message has the fix."""


@dataclass
class AdoptionCheck:
    """The hook of one cluster's objects. called: the cluster's name in errors."""

    called: str
    kubeconfig: Callable[[], Any]
    hook: pulumi.ResourceHook | None = None
    _api: ApiServer | None = None
    _kinds: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def binding(self) -> pulumi.ResourceHookBinding:
        """For the options of a resource."""
        return pulumi.ResourceHookBinding(before_create=[self.hook] if self.hook else [])

    async def check(self, args: pulumi.ResourceHookArgs) -> None:
        """Rejects the creation of an object that exists and is another's. Raises: ExistingObjectError."""
        wanted = Wanted.of(await _plain(dict(args.new_inputs or {})))
        config = await self.kubeconfig()
        if wanted is None or config is None:
            return
        try:
            found = await self._settled(config, wanted)
        except (UnreachableError, InvalidInputError) as error:
            if settings.is_dry_run():
                return
            rule = f"{self.called}: whether {wanted.called} exists cannot be seen: {error}"
            raise ExistingObjectError(rule) from None
        if found is None:
            return
        if problem := refusal(wanted, found):
            raise ExistingObjectError(f"{self.called}: {problem}")
        uid = str(found["metadata"].get("uid"))
        if urn := (await _own_objects()).get(uid):
            rule = f"{wanted.called} already exists, and is in the stack's state as {urn.rpartition('::')[2]}"
            fix = "Keep names and identities, or use an alias. To replace it, delete it and run `pulumi up --refresh`"
            raise ExistingObjectError(f"{self.called}: {rule}. {fix}")
        pulumi.log.info(f"{self.called}: {wanted.called} exists from an earlier run of this stack, and is adopted")

    async def _settled(self, config: Kubeconfig, wanted: Wanted) -> Mapping[str, Any] | None:
        """The existing object. One that is being deleted does not count: an update waits for its end."""
        waited = 0.0
        while True:
            found = await asyncio.to_thread(self._existing, config, wanted)
            if found is None or not found["metadata"].get("deletionTimestamp"):
                return found
            if settings.is_dry_run():
                return None
            if waited >= END_SECONDS:
                raise UnreachableError(f"it is still being deleted after {END_SECONDS:.0f} s: see its finalizers")
            await asyncio.sleep(POLL_SECONDS)
            waited += POLL_SECONDS

    def _existing(self, config: Kubeconfig, wanted: Wanted) -> Mapping[str, Any] | None:
        if self._api is None:
            self._api = ApiServer(fetched(config, "cluster", self.called))
        kind = self._kinds.get(wanted.api_version, {}).get(wanted.kind)
        if kind is None:  # also if it was not served a moment ago: the same run may install a definition
            self._kinds[wanted.api_version] = self._api.kinds(wanted.api_version)
            kind = self._kinds[wanted.api_version].get(wanted.kind)
        return self._api.get(wanted.path(kind)) if kind else None


@dataclass(frozen=True)
class Wanted:
    """An object that is to be created."""

    api_version: str
    kind: str
    name: str
    namespace: str
    manifest: Mapping[str, Any]

    @classmethod
    def of(cls, inputs: Mapping[str, Any]) -> Wanted | None:
        """The object of a resource's inputs; None without a name: a component, or a value that is not known yet."""
        metadata = inputs.get("metadata")
        values = [inputs.get("apiVersion"), inputs.get("kind")]
        if not isinstance(metadata, Mapping) or not all(
            isinstance(one, str) for one in (*values, metadata.get("name"))
        ):
            return None
        namespace = metadata.get("namespace")
        return cls(str(values[0]), str(values[1]), metadata["name"], namespace or "default", inputs)

    @property
    def called(self) -> str:
        """Its name in errors."""
        return f"{self.kind} {self.name}"

    def path(self, kind: Mapping[str, Any]) -> str:
        """Its path at the API server. kind: the entry of its kind in the API server's list."""
        group = f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"
        within = f"/namespaces/{quote(self.namespace or 'default')}" if kind.get("namespaced") else ""
        return f"{group}{within}/{kind['name']}/{quote(self.name)}"

    def marks(self, part: str) -> dict[str, str]:
        """The library's own labels or annotations on it."""
        given = self.manifest["metadata"].get(part)
        items = given.items() if isinstance(given, Mapping) else ()
        return {key: value for key, value in items if key.startswith(f"{PREFIX}/")}


def refusal(wanted: Wanted, found: Mapping[str, Any]) -> str | None:
    """Why an existing object is not adopted; None if its labels are the new one's. A definition of a kind is shared.

    A Namespace also has the stack's name: two stacks may have a mesh of one name. `cacerts` also has the same root: a
    stack that lost its state has made another one, and no workload would trust it.
    """
    labels = found["metadata"].get("labels") or {}
    own = wanted.marks("labels")
    if (
        wanted.kind == DEFINITION
        or MANAGED_BY_LABEL not in own
        or any(labels.get(key) != value for key, value in own.items())
    ):
        fix = "Rename the mesh, or delete the object if nothing needs it"
        return f"{wanted.called} already exists, and its labels are not this mesh's. {fix}"
    stack = wanted.marks("annotations").get(STACK_ANNOTATION)
    holder = (found["metadata"].get("annotations") or {}).get(STACK_ANNOTATION)
    if stack and holder != stack:
        rule = f"is of the stack {holder}" if holder else f"has no annotation {STACK_ANNOTATION}"
        return f"{wanted.called} already exists, and {rule}, not {stack}. Rename the mesh. {RECOVERY}"
    is_authority = wanted.kind == "Secret" and wanted.name == CACERTS_SECRET
    if is_authority and (root := _root(wanted.manifest)) and root != _root(found):
        return (
            f"{wanted.called} already exists, with another root certificate. Restore the state of the keys. {RECOVERY}"
        )
    return None


def adopts(cluster: Cluster) -> bool:
    """Whether a cluster's provider adopts existing objects: if the variable is set, except in a component host, which
    calls no hooks, and for a cluster that is given as a provider."""
    is_asked = bool(os.environ.get(ADOPT_VARIABLE))
    return is_asked and settings.get_root_resource() is not None and cluster.has_kubeconfig


def adoption_check(cluster: Cluster, named: str) -> AdoptionCheck | None:
    """The check of a cluster whose provider of this name adopts; None where nothing is written, as in an analysis."""
    if not adopts(cluster) or not engine_calls_hooks():
        return None
    made = AdoptionCheck(cluster.called, cluster.known_kubeconfig)
    made.hook = pulumi.ResourceHook(f"{HOOK}-{named}", made.check, pulumi.ResourceHookOptions(on_dry_run=True))
    return made


def make_namespace(
    name: str, metadata: pulumi.Input[meta.v1.ObjectMetaArgs], opts: pulumi.ResourceOptions
) -> core.v1.Namespace:
    """A Namespace with the stack's name. An existing one keeps its annotation, so a moved stack changes nothing."""
    opts.ignore_changes = [f'metadata.annotations["{STACK_ANNOTATION}"]']
    stack = f"{pulumi.get_project()}/{pulumi.get_stack()}"
    if isinstance(metadata, pulumi.Output):
        return core.v1.Namespace(name, metadata=metadata.apply(partial(_of_stack, stack)), opts=opts)
    return core.v1.Namespace(name, metadata=_of_stack(stack, metadata), opts=opts)


def _of_stack(stack: str, metadata: Any) -> Any:
    metadata.annotations = {**(metadata.annotations or {}), STACK_ANNOTATION: stack}
    return metadata


_states: PerStackRegistry[str, asyncio.Future[dict[str, str]]] = PerStackRegistry()


async def _own_objects() -> dict[str, str]:
    """The URNs of the stack's objects by uid, as its state has them. Read once in a run, and only if it is needed."""
    known = _states.current()
    if HOOK not in known:
        known[HOOK] = asyncio.ensure_future(_read_state())
    return await known[HOOK]


async def _read_state() -> dict[str, str]:
    name = f"{pulumi.get_organization()}/{pulumi.get_project()}/{pulumi.get_stack()}"
    reading = invoke_async("pulumi:pulumi:readStackResourceOutputs", {"stackName": name})
    try:
        found: Any = await asyncio.wait_for(reading, STATE_SECONDS)
    except TimeoutError:  # an engine that is ending answers no more, and waits for its hooks
        raise ExistingObjectError(f"the state of {name} was not read within {STATE_SECONDS:.0f} s. Run again") from None
    uids = {}
    for urn, one in (found.get("outputs") or {}).items():
        metadata = (one.get("outputs") or one).get("metadata") if isinstance(one, Mapping) else None
        if isinstance(metadata, Mapping) and metadata.get("uid"):
            uids[str(metadata["uid"])] = str(urn)
    return uids


def _root(manifest: Mapping[str, Any]) -> str | None:
    """The root certificate of a Secret `cacerts`; None while it is unknown."""
    plain, encoded = manifest.get("stringData"), manifest.get("data")
    if isinstance(plain, Mapping) and isinstance(found := plain.get(ROOT_CERTIFICATE), str):
        return found.strip()
    if isinstance(encoded, Mapping) and isinstance(found := encoded.get(ROOT_CERTIFICATE), str):
        return base64.b64decode(found).decode().strip()
    return None


async def _plain(value: Any) -> Any:
    """A value of a resource, without Outputs; a secret one comes as an Output."""
    return await pulumi.Output.from_input(value).future(with_unknowns=True)
