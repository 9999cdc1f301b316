"""The protocol methods for a set of bridged resource types."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sandbox.plugins import VERSIONS
from sandbox.plugins.bridged.resources import (
    META,
    ResourceType,
    changes,
    check_inputs,
    marked,
    outputs,
    planned_inputs,
    with_meta,
)
from sandbox.plugins.bridged.schema import package
from sandbox.plugins.protocol.errors import NotImplementedHere, ProviderError
from sandbox.plugins.protocol.stubs import empty_pb2, plugin_pb2, provider_pb2
from sandbox.plugins.protocol.values import UNKNOWN, contains_unknown, plain, read_struct, write_struct


class BridgedProvider:
    """A provider with resources in state only. package: "tls" or "random"."""

    def __init__(self, package: str, types: tuple[ResourceType, ...]) -> None:
        self._package = package
        self._version = VERSIONS[package]
        self._types: Mapping[str, ResourceType] = {kind.token: kind for kind in types}

    def get_plugin_info(self, _: Any) -> Any:
        return plugin_pb2.PluginInfo(version=self._version)

    def get_schema(self, request: Any) -> Any:
        if request.version or request.subpackage_name:
            raise NotImplementedHere("schemas of another format, or of a parameterized package")
        schema = package(self._package, self._version, self._types.values())
        return provider_pb2.GetSchemaResponse(schema=json.dumps(schema))

    def cancel(self, _: Any) -> Any:
        return empty_pb2.Empty()

    def check_config(self, request: Any) -> Any:
        return provider_pb2.CheckResponse(inputs=request.news)

    def diff_config(self, request: Any) -> Any:
        same = read_struct(request.olds) == read_struct(request.news)
        response = provider_pb2.DiffResponse
        return response(changes=response.DIFF_NONE if same else response.DIFF_SOME)

    def configure(self, _: Any) -> Any:
        return provider_pb2.ConfigureResponse(
            acceptResources=True, supportsPreview=True, supports_autonaming_configuration=True
        )

    def invoke(self, request: Any) -> Any:
        raise NotImplementedHere(f"the function {request.tok}")

    def check(self, request: Any) -> Any:
        kind = self._type(request.urn)
        inputs = {name: value for name, value in read_struct(request.news).items() if value is not None}
        problems = check_inputs(kind, inputs)
        if not problems and kind.check is not None and not contains_unknown(inputs):
            problem = kind.check(planned_inputs(kind, inputs))
            problems = [("", problem)] if problem else []
        response = provider_pb2.CheckResponse()
        write_struct(marked(kind, inputs), response.inputs)
        for name, problem in problems:
            response.failures.add(property=name, reason=f"{name} {problem}".strip())
        return response

    def diff(self, request: Any) -> Any:
        kind = self._type(request.urn)
        # The engine has already replaced the ignored inputs with their old values.
        if deeper := sorted(set(request.ignoreChanges) - kind.attributes.keys()):
            raise NotImplementedHere(f"the option ignoreChanges for {deeper[0]}, which is no whole property")
        found = changes(kind, read_struct(request.olds), read_struct(request.news))
        found = {name: replaces for name, replaces in found.items() if name not in request.ignoreChanges}
        response = provider_pb2.DiffResponse(
            diffs=found, replaces=[name for name, replaces in found.items() if replaces]
        )
        response.changes = response.DIFF_SOME if found else response.DIFF_NONE
        if response.replaces and kind.all_anew:
            response.diffs.extend((*kind.computed, "id"))
        return response

    def create(self, request: Any) -> Any:
        kind = self._type(request.urn)
        inputs = read_struct(request.properties)
        planned = planned_inputs(kind, inputs)
        response = provider_pb2.CreateResponse()
        if request.preview:
            kept = (name for name, attribute in kind.attributes.items() if attribute.kept and name not in planned)
            made = (*kind.computed, *kept, *(("id",) if kind.has_id else ()))
            state = outputs(kind, inputs, planned, {**dict.fromkeys(made, UNKNOWN), **kind.certain(planned)})
            write_struct(state, response.properties)
            return response
        response.id, computed = kind.create(planned)
        if kind.has_id:
            computed = {"id": response.id, **computed}
        write_struct(with_meta(kind, outputs(kind, inputs, planned, computed)), response.properties)
        return response

    def read(self, request: Any) -> Any:
        kind = self._type(request.urn)
        state, inputs = read_struct(request.properties), read_struct(request.inputs)
        response = provider_pb2.ReadResponse(id=request.id)
        if not state:
            raise ProviderError(f"{kind.token} cannot be imported: its content exists only in Pulumi's state")
        state = {**state, **kind.overdue(plain(state))}
        write_struct(marked(kind, with_meta(kind, state)), response.properties)
        write_struct(marked(kind, inputs), response.inputs)
        return response

    def update(self, request: Any) -> Any:
        kind = self._type(request.urn)
        olds, news = read_struct(request.olds), read_struct(request.news)
        prior = plain(olds)
        computed = {name: prior[name] for name in (*kind.computed, "id") if name in prior and name != META}
        planned = planned_inputs(kind, news, prior)
        computed |= kind.certain(planned)
        response = provider_pb2.UpdateResponse()
        state = outputs(kind, news, planned, computed)
        write_struct(state if request.preview else with_meta(kind, state), response.properties)
        return response

    def delete(self, _: Any) -> Any:
        return empty_pb2.Empty()

    def _type(self, urn: str) -> ResourceType:
        token = urn.split("::", 3)[2].rpartition("$")[2]  # urn:pulumi:stack::project::parent$type::name
        try:
            return self._types[token]
        except KeyError:
            raise NotImplementedHere(f"the resource type {token}") from None
