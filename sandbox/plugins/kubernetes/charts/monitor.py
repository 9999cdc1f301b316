"""Registering resources with the engine from inside Construct, by the monitor's own protocol."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from sandbox.plugins.protocol.errors import ProviderError
from sandbox.plugins.protocol.stubs import UNLIMITED, grpc, resource_monitor
from sandbox.plugins.protocol.values import ResourceReference, write_struct

# Options that a component has from its program as they are in the request to construct it.
_SCALARS: Final = ("protect", "deletedWith", "deleteBeforeReplace", "retainOnDelete")
_LISTS: Final = (
    "dependencies",
    "additionalSecretOutputs",
    "ignoreChanges",
    "replaceOnChanges",
    "replace_with",
    "aliases",
)


class Monitor:
    """The resource monitor of one Construct call. request: the ConstructRequest. version: of this plug-in."""

    def __init__(self, request: Any, version: str) -> None:
        self._messages, stubs = resource_monitor()
        channel = grpc.insecure_channel(request.monitorEndpoint, options=UNLIMITED)
        self._stub = stubs.ResourceMonitorStub(channel)
        self._request = request
        self._version = version

    def register_component(self) -> str:
        """Registers the component itself, with the options that the program gave; returns its URN."""
        request = self._request
        registration = self._new(request.type, request.name, request.parent)
        registration.object.SetInParent()
        registration.parentStackTraceHandle = request.stack_trace_handle
        for name in _SCALARS:
            if request.DESCRIPTOR.fields_by_name[name].has_presence and not request.HasField(name):
                continue
            value = getattr(request, name)
            if value:
                setattr(registration, name, value)
                if name == "deleteBeforeReplace":
                    registration.deleteBeforeReplaceDefined = True
        for name in _LISTS:
            getattr(registration, name).extend(getattr(request, name))
        registration.providers.update(request.providers)
        if request.HasField("customTimeouts"):
            for name in ("create", "update", "delete"):
                setattr(registration.customTimeouts, name, getattr(request.customTimeouts, name))
        if request.HasField("resource_hooks"):
            registration.hooks.ParseFromString(request.resource_hooks.SerializeToString())
        return self._send(registration).urn

    def register_child(
        self,
        token: str,
        name: str,
        parent: str,
        properties: Mapping[str, Any],
        *,
        depends_on: Iterable[str],
        retain: bool,
    ) -> ResourceReference:
        """Registers a resource of this package below the component; returns when the engine has made it."""
        registration = self._new(token, name, parent)
        registration.custom = True
        registration.version = self._version
        registration.provider = self._request.providers.get(token.partition(":")[0], "")
        registration.dependencies.extend(depends_on)
        if retain:
            registration.retainOnDelete = True
        write_struct(properties, registration.object)
        for key in properties:
            # Said for each property, so that the engine does not take all to depend on all.
            registration.propertyDependencies[key].SetInParent()
        return self._send(registration)

    def _new(self, token: str, name: str, parent: str) -> Any:
        return self._messages.RegisterResourceRequest(
            type=token,
            name=name,
            parent=parent,
            acceptSecrets=True,
            acceptResources=True,
            supportsPartialValues=True,
            aliasSpecs=True,
            supportsResultReporting=True,
        )

    def _send(self, registration: Any) -> ResourceReference:
        try:
            response = self._stub.RegisterResource(registration)
        except grpc.RpcError as error:
            raise ProviderError(f"{registration.type} {registration.name}: {error.details()}") from None
        return ResourceReference(response.urn, response.id, self._version)
