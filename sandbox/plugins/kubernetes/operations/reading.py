"""Read of one resource: refresh, import, and resources that somebody else manages."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from sandbox.plugins.kubernetes.api_server.client import ApiError
from sandbox.plugins.kubernetes.api_server.discovery import ClusterError, NoSuchKind
from sandbox.plugins.kubernetes.fields.diff import prune
from sandbox.plugins.kubernetes.fields.inputs import normalize, to_object
from sandbox.plugins.kubernetes.fields.managers import new_manager
from sandbox.plugins.kubernetes.fields.state import checkpoint, marked, saved
from sandbox.plugins.kubernetes.objects import (
    Object,
    gvk_of,
    gvk_of_urn,
    name_of,
    parse_qualified_name,
    qualified_name,
    remove_in,
    set_in,
)
from sandbox.plugins.kubernetes.operations.connection import Operation
from sandbox.plugins.kubernetes.readiness.kinds import read_condition_for
from sandbox.plugins.kubernetes.scheme import is_built_in
from sandbox.plugins.protocol.errors import InitializationFailed, ProviderError
from sandbox.plugins.protocol.stubs import provider_pb2
from sandbox.plugins.protocol.values import read_struct, write_struct


class Reading(Operation):
    """Asks the cluster what has become of one resource."""

    def read(self, request: Any) -> Any:
        gone = provider_pb2.ReadResponse()
        if self.cluster is None:
            self.warn_unreachable()
            raise ProviderError("failed to read resource state due to unreachable cluster")
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
        try:
            live = self.cluster.get({**inputs, "metadata": {**inputs.get("metadata", {}), "name": name}})
        except NoSuchKind:
            return gone
        except ClusterError as error:
            if isinstance(error, ApiError) and error.is_not_found:
                return gone
            raise ProviderError(str(error)) from None
        condition = None if is_import else read_condition_for(inputs, live)
        verdict = self.cluster.waiting.judge_now(condition, live) if condition else None
        live_inputs = prune(live, inputs)
        if is_import:
            live_inputs = _imported(live, live_inputs)
        state = checkpoint(
            live_inputs,
            live,
            given,
            initial_api_version=old.initial_api_version or str(inputs.get("apiVersion", "")),
            field_manager=old.field_manager or new_manager(),
        )
        read_inputs, identity = marked(live_inputs, given), request.id or qualified_name(live)
        if verdict is not None and not verdict.done:
            message = f"Resource '{name_of(live)}' was created but failed to initialize"
            raise InitializationFailed(message, id=identity, state=state, reasons=verdict.reasons, inputs=read_inputs)
        response = provider_pb2.ReadResponse(id=identity)
        write_struct(state, response.properties)
        write_struct(read_inputs, response.inputs)
        return response


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
