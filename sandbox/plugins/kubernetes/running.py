"""Create, Update, Read and Delete of one resource."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

from sandbox.plugins.kubernetes.client import ApiError, Unreachable
from sandbox.plugins.kubernetes.cluster import Cluster, FieldConflict, MissingNamespace
from sandbox.plugins.kubernetes.discovery import NoSuchKind
from sandbox.plugins.kubernetes.inputs import normalize, to_object
from sandbox.plugins.kubernetes.managers import manager_name
from sandbox.plugins.kubernetes.objects import (
    Object,
    gvk_of,
    gvk_of_urn,
    is_crd,
    name_of,
    parse_qualified_name,
    qualified_name,
    remove_in,
    set_in,
)
from sandbox.plugins.kubernetes.pruning import prune
from sandbox.plugins.kubernetes.readiness.kinds import read_condition_for
from sandbox.plugins.kubernetes.readiness.waiting import NotReady
from sandbox.plugins.kubernetes.scheme import is_built_in
from sandbox.plugins.kubernetes.secretness import marked
from sandbox.plugins.kubernetes.settings import Settings
from sandbox.plugins.kubernetes.state import checkpoint, saved
from sandbox.plugins.protocol.engine import Engine
from sandbox.plugins.protocol.errors import InitializationFailed, ProviderError
from sandbox.plugins.protocol.stubs import empty_pb2, provider_pb2
from sandbox.plugins.protocol.values import contains_unknown, read_struct, write_struct

_DELETE_HELP: Final = (
    "If the cluster was deleted, you can remove this resource from Pulumi state by rerunning the operation with the "
    'PULUMI_K8S_DELETE_UNREACHABLE environment variable set to "true"'
)
_EXISTS_HELP: Final = (
    "The resource already exists in the cluster. Adopt it with `pulumi import`, give the resource that had it an "
    "alias, or set upsertExistingObjects on the provider."
)


@dataclass(frozen=True)
class Running:
    """What is done to the cluster for one resource. cluster: None when unreachable."""

    urn: str
    cluster: Cluster | None
    settings: Settings
    unreachable: str
    engine: Engine

    def create(self, request: Any) -> Any:
        given = read_struct(request.properties)
        inputs = to_object(given)
        if request.preview and (self.cluster is None or not self._can_preview(inputs)):
            return provider_pb2.CreateResponse(properties=request.properties)
        cluster = self._reachable()
        manager = manager_name(inputs, "", server_side_apply=self.settings.server_side_apply)
        try:
            live = cluster.create(inputs, manager, preview=request.preview, note=self._note)
        except MissingNamespace:
            return provider_pb2.CreateResponse(properties=request.properties)
        except (ApiError, NoSuchKind, FieldConflict, Unreachable) as error:
            if request.preview and _is_no_answer(error):
                return provider_pb2.CreateResponse(properties=request.properties)
            raise self._not_created(error) from None
        failure: NotReady | None = None
        if request.preview:
            live.pop("status", None)
        else:
            try:
                live = cluster.await_ready(inputs, live, timeout=request.timeout, note=self._note)
            except NotReady as error:
                live, failure = error.live, error
        self._note("")
        api_version = str(inputs["apiVersion"])
        state = checkpoint(inputs, live, given, initial_api_version=api_version, field_manager=manager)
        if failure is not None:
            raise InitializationFailed(
                f'resource "{self.urn}" was successfully created, but the Kubernetes API server reported that it '
                f"failed to fully initialize or become live: {failure}",
                id=qualified_name(live),
                state=state,
                reasons=failure.reasons,
            )
        if is_crd(inputs) and not request.preview:
            cluster.discovery.refresh()
        response = provider_pb2.CreateResponse(id="" if request.preview else qualified_name(live))
        write_struct(state, response.properties)
        return response

    def _can_preview(self, inputs: Object) -> bool:
        """Whether the server can be asked what would come out: all is known and it has the kind."""
        assert self.cluster is not None
        known = not contains_unknown(inputs) and self.cluster.discovery.has(gvk_of(inputs))
        return known and self.settings.server_side_apply

    def _not_created(self, error: Exception) -> ProviderError:
        if isinstance(error, NoSuchKind):
            return ProviderError(
                f'creation of resource "{self.urn}" with kind {gvk_of_urn(self.urn)} failed because the Kubernetes '
                "API server reported that the apiVersion for this resource does not exist. Verify that any required "
                f"CRDs have been created: {error}"
            )
        help_text = f"\n\n{_EXISTS_HELP}" if isinstance(error, ApiError) and error.reason == "AlreadyExists" else ""
        return ProviderError(
            f'resource "{self.urn}" was not successfully created by the Kubernetes API server: {error}{help_text}'
        )

    def update(self, request: Any) -> Any:
        given = read_struct(request.news)
        inputs = normalize(to_object(given))
        if request.preview and (self.cluster is None or not self._can_preview(inputs)):
            return provider_pb2.UpdateResponse(properties=request.news)
        cluster = self._reachable()
        old = saved(read_struct(request.olds))
        manager = manager_name(inputs, old.field_manager, server_side_apply=self.settings.server_side_apply)
        failure: Exception | None = None
        reasons: tuple[str, ...] = ()
        try:
            ignored = list(request.ignoreChanges)
            live = cluster.update(inputs, old.live, manager, ignored=ignored, preview=request.preview)
            if not request.preview:
                live = cluster.await_ready(inputs, live, timeout=request.timeout, note=self._note)
        except NoSuchKind as error:
            raise ProviderError(
                f'update of resource "{self.urn}" failed because the Kubernetes API server reported that the '
                f"apiVersion for this resource does not exist. Verify that any required CRDs have been created: {error}"
            ) from None
        except NotReady as error:
            failure, reasons, live = error, error.reasons, error.live
        except (ApiError, FieldConflict, Unreachable) as error:
            if request.preview and isinstance(error, ApiError) and error.code == 403:
                return provider_pb2.UpdateResponse(properties=request.news)
            failure, live = error, self._live_after(old.live, error)
        self._note("")
        state = checkpoint(
            inputs,
            live,
            given,
            initial_api_version=old.initial_api_version or str(old.inputs.get("apiVersion", "")),
            field_manager=manager,
        )
        if failure is not None:
            raise InitializationFailed(
                f'the Kubernetes API server reported that "{qualified_name(live)}" failed to fully initialize or '
                f"become live: {failure}",
                id=qualified_name(live),
                state=state,
                reasons=reasons,
            )
        if not request.preview and self.settings.server_side_apply and old.field_manager not in ("", manager):
            cluster.relinquish(live, old.field_manager)
        response = provider_pb2.UpdateResponse()
        write_struct(state, response.properties)
        return response

    def _live_after(self, old_live: Object, failure: Exception) -> Object:
        try:
            return self._reachable().get(old_live)
        except (ApiError, NoSuchKind, Unreachable) as error:
            raise ProviderError(
                f'update of resource "{self.urn}" failed: {failure}\nunable to get cluster state: {error}'
            ) from None

    def read(self, request: Any) -> Any:
        gone = provider_pb2.ReadResponse()
        if self.cluster is None:
            return self._read_unreachable(request)
        given = read_struct(request.inputs)
        old = saved(read_struct(request.properties))
        namespace, name = parse_qualified_name(request.id)
        if not name:
            raise ProviderError(f'failed to read resource: the id "{request.id}" names no object')
        inputs = normalize(to_object(given))
        is_import = not gvk_of(inputs).kind and not gvk_of(old.live).kind
        if not gvk_of(inputs).kind:
            gvk = gvk_of_urn(self.urn) if is_import else gvk_of(old.live)
            inputs["apiVersion"], inputs["kind"] = gvk.api_version, gvk.kind
            if not name_of(inputs):
                set_in(inputs, name, "metadata", "name")
            if namespace and not inputs["metadata"].get("namespace"):
                inputs["metadata"]["namespace"] = namespace
        failure: NotReady | None = None
        try:
            live = self.cluster.get({**inputs, "metadata": {**inputs.get("metadata", {}), "name": name}})
        except NoSuchKind:
            return gone
        except ApiError as error:
            if error.is_not_found:
                return gone
            raise ProviderError(str(error)) from None
        except Unreachable as error:
            raise ProviderError(str(error)) from None
        condition = None if is_import else read_condition_for(inputs, live)
        if condition is not None:
            verdict = self.cluster.waiting.judge_now(condition, live)
            if not verdict.done:
                failure = NotReady(
                    f"Resource '{name_of(live)}' was created but failed to initialize", live, verdict.reasons
                )
        live_inputs = prune(live, inputs)
        if is_import:
            live_inputs = _imported(live, live_inputs)
        state = checkpoint(
            live_inputs,
            live,
            given,
            initial_api_version=old.initial_api_version or str(inputs.get("apiVersion", "")),
            field_manager=manager_name(
                inputs, old.field_manager, server_side_apply=self.settings.server_side_apply
            ),
        )
        read_inputs = marked(live_inputs, given)
        if failure is not None:
            raise InitializationFailed(
                str(failure),
                id=request.id or qualified_name(live),
                state=state,
                reasons=failure.reasons,
                inputs=read_inputs,
            )
        response = provider_pb2.ReadResponse(id=request.id or qualified_name(live))
        write_struct(state, response.properties)
        write_struct(read_inputs, response.inputs)
        return response

    def _read_unreachable(self, request: Any) -> Any:
        self.engine.log("warning", f"configured Kubernetes cluster is unreachable: {self.unreachable}", self.urn)
        if self.settings.delete_unreachable:
            self.engine.log("info", "deleteUnreachable is set: deleting the resource from Pulumi state", self.urn)
            return provider_pb2.ReadResponse()
        if self.settings.skip_update_unreachable:
            return provider_pb2.ReadResponse(id=request.id, properties=request.properties, inputs=request.inputs)
        raise ProviderError(f"failed to read resource state due to unreachable cluster. {_DELETE_HELP}")

    def delete(self, request: Any) -> Any:
        given = read_struct(request.properties)
        old = saved(given)
        if self.cluster is None:
            self.engine.log("warning", f"configured Kubernetes cluster is unreachable: {self.unreachable}", self.urn)
            if self.settings.delete_unreachable:
                return empty_pb2.Empty()
            raise ProviderError(f"configured Kubernetes cluster is unreachable. {_DELETE_HELP}")
        _, name = parse_qualified_name(request.id)
        try:
            self.cluster.delete(old.inputs, old.live, name, timeout=request.timeout, note=self._note)
        except NotReady as failure:
            state = checkpoint(
                old.live,
                failure.live,
                given,
                initial_api_version=old.initial_api_version,
                field_manager=old.field_manager,
            )
            identity = qualified_name(failure.live)
            raise InitializationFailed(str(failure), id=identity, state=state, reasons=failure.reasons) from None
        except (ApiError, Unreachable) as error:
            raise ProviderError(str(error)) from None
        self._note("")
        return empty_pb2.Empty()

    def _reachable(self) -> Cluster:
        if self.cluster is None:
            raise ProviderError(f"configured Kubernetes cluster is unreachable: {self.unreachable}")
        return self.cluster

    def _note(self, message: str) -> None:
        self.engine.status("info", message, self.urn)


def _is_no_answer(error: Exception) -> bool:
    """Whether a dry run failed in a way that says nothing of the real run."""
    if isinstance(error, ApiError):
        return error.code == 403 or error.reason == "AlreadyExists" or "does not support dry run" in str(error)
    return isinstance(error, NoSuchKind)


def _imported(live: Mapping[str, Any], pruned: Object) -> Object:
    """The inputs that an existing object would have had: all but its status and what the server fills in."""
    inputs = pruned
    if is_built_in(str(live.get("apiVersion")), str(live.get("kind"))):
        inputs = deepcopy({key: value for key, value in live.items() if key != "status"})
    else:
        inputs["metadata"] = deepcopy(live["metadata"])
    for field in ("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"):
        remove_in(inputs, "metadata", field)
    for field in ("deployment.kubernetes.io/revision", "kubectl.kubernetes.io/last-applied-configuration"):
        remove_in(inputs, "metadata", "annotations", field)
    return inputs
