"""Create, Update and Delete of one resource."""

from __future__ import annotations

from typing import Any, Final

from sandbox.plugins.kubernetes.api_server.client import ApiError
from sandbox.plugins.kubernetes.api_server.discovery import ClusterError, NoSuchKind
from sandbox.plugins.kubernetes.fields.inputs import normalize, to_object
from sandbox.plugins.kubernetes.fields.managers import new_manager
from sandbox.plugins.kubernetes.fields.state import checkpoint, saved
from sandbox.plugins.kubernetes.objects import (
    Object,
    gvk_of,
    gvk_of_urn,
    is_crd,
    parse_qualified_name,
    qualified_name,
)
from sandbox.plugins.kubernetes.operations.connection import Operation
from sandbox.plugins.kubernetes.readiness.waiting import NotReady
from sandbox.plugins.protocol.errors import InitializationFailed, ProviderError
from sandbox.plugins.protocol.stubs import empty_pb2, provider_pb2
from sandbox.plugins.protocol.values import contains_unknown, read_struct, write_struct

_EXISTS_HELP: Final = (
    "The resource already exists in the cluster. Adopt it with `pulumi import`, give the resource that had it an "
    "alias, or set upsertExistingObjects on the provider."
)


class Changing(Operation):
    """Does to the cluster what the engine decided for one resource."""

    def create(self, request: Any) -> Any:
        given = read_struct(request.properties)
        inputs = to_object(given)
        if request.preview and not self._can_ask(inputs):
            return provider_pb2.CreateResponse(properties=request.properties)
        cluster = self.connection.reachable()
        manager = new_manager()
        try:
            live = cluster.create(inputs, manager, preview=request.preview, note=self.note)
        except ClusterError as error:
            if request.preview and _is_no_answer(error):
                return provider_pb2.CreateResponse(properties=request.properties)
            raise self._not_created(error) from None
        failure: NotReady | None = None
        if request.preview:
            live.pop("status", None)
        else:
            try:
                live = cluster.await_ready(inputs, live, timeout=request.timeout, note=self.note)
            except NotReady as error:
                live, failure = error.live, error
        self.note("")
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

    def _can_ask(self, inputs: Object) -> bool:
        """Whether a server can be asked what would come out: it is there, it has the kind, and all is known."""
        return self.discovery is not None and self.discovery.has(gvk_of(inputs)) and not contains_unknown(inputs)

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
        if request.preview and not self._can_ask(inputs):
            return provider_pb2.UpdateResponse(properties=request.news)
        cluster = self.connection.reachable()
        old = saved(read_struct(request.olds))
        manager = old.field_manager or new_manager()
        failure: Exception | None = None
        reasons: tuple[str, ...] = ()
        try:
            live = cluster.update(inputs, old.live, manager, preview=request.preview)
            if not request.preview:
                live = cluster.await_ready(inputs, live, timeout=request.timeout, note=self.note)
        except NoSuchKind as error:
            raise ProviderError(
                f'update of resource "{self.urn}" failed because the Kubernetes API server reported that the '
                f"apiVersion for this resource does not exist. Verify that any required CRDs have been created: {error}"
            ) from None
        except NotReady as error:
            failure, reasons, live = error, error.reasons, error.live
        except ClusterError as error:
            if request.preview and isinstance(error, ApiError) and error.code == 403:
                return provider_pb2.UpdateResponse(properties=request.news)
            failure, live = error, self._live_after(old.live, error)
        self.note("")
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
        response = provider_pb2.UpdateResponse()
        write_struct(state, response.properties)
        return response

    def _live_after(self, old_live: Object, failure: Exception) -> Object:
        try:
            return self.connection.reachable().get(old_live)
        except ClusterError as error:
            raise ProviderError(
                f'update of resource "{self.urn}" failed: {failure}\nunable to get cluster state: {error}'
            ) from None

    def delete(self, request: Any) -> Any:
        given = read_struct(request.properties)
        old = saved(given)
        if self.cluster is None:
            self.warn_unreachable()
            raise ProviderError("configured Kubernetes cluster is unreachable")
        _, name = parse_qualified_name(request.id)
        try:
            self.cluster.delete(old.inputs, old.live, name, timeout=request.timeout, note=self.note)
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
        except ClusterError as error:
            raise ProviderError(str(error)) from None
        self.note("")
        return empty_pb2.Empty()


def _is_no_answer(error: Exception) -> bool:
    """Whether a dry run failed in a way that says nothing of the real run."""
    if isinstance(error, ApiError):
        is_refused = error.code == 403 or error.reason == "AlreadyExists" or "does not support dry run" in str(error)
        return is_refused or error.is_missing_namespace
    return isinstance(error, NoSuchKind)
