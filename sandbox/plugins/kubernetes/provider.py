"""The protocol methods of the kubernetes provider, except components (charts/components.py)."""

from __future__ import annotations

import importlib
import json
import threading
from typing import Any, Final

from sandbox.plugins import VERSIONS
from sandbox.plugins.kubernetes import settings as configuration
from sandbox.plugins.kubernetes.api_server.kubeconfig import KubeconfigError
from sandbox.plugins.kubernetes.objects import gvk_of_urn
from sandbox.plugins.kubernetes.operations.connection import Connection
from sandbox.plugins.kubernetes.scheme import is_built_in
from sandbox.plugins.protocol.engine import Engine
from sandbox.plugins.protocol.errors import NotImplementedHere, ProviderError
from sandbox.plugins.protocol.naming import urn_type
from sandbox.plugins.protocol.stubs import empty_pb2, plugin_pb2, provider_pb2
from sandbox.plugins.protocol.values import read_struct

VERSION: Final = VERSIONS["kubernetes"]
_UNSUPPORTED: Final = (
    "kubernetes:helm.sh/v3:Release",
    "kubernetes:helm.sh/v3:Chart",
    "kubernetes:kustomize/v2:Directory",
    # Waited for by the official plug-in, each in its own way; nothing has needed them here.
    "kubernetes:apps/v1:DaemonSet",
    "kubernetes:apps/v1:StatefulSet",
    "kubernetes:batch/v1:Job",
    "kubernetes:core/v1:PersistentVolume",
    "kubernetes:core/v1:PersistentVolumeClaim",
    "kubernetes:core/v1:ReplicationController",
    "kubernetes:networking.k8s.io/v1:Ingress",
)


class KubernetesProvider:
    """One provider: one process, one cluster.

    Each kind of operation is loaded when it is first asked for, or in the background once the provider is configured:
    the engine starts plug-ins one after the other and does nothing else meanwhile.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._cancelled = threading.Event()
        self._connection: Connection | None = None

    def get_plugin_info(self, _: Any) -> Any:
        return plugin_pb2.PluginInfo(version=VERSION)

    def get_schema(self, request: Any) -> Any:
        if request.version or request.subpackage_name:
            raise NotImplementedHere("schemas of another form, or of a parameterized package")
        from sandbox.plugins.kubernetes.schema import package

        return provider_pb2.GetSchemaResponse(schema=json.dumps(package(VERSION)))

    def cancel(self, _: Any) -> Any:
        self._cancelled.set()
        return empty_pb2.Empty()

    def check_config(self, request: Any) -> Any:
        return provider_pb2.CheckResponse(inputs=request.news)

    def diff_config(self, request: Any) -> Any:
        try:
            changed, replaces = configuration.changes(read_struct(request.olds), read_struct(request.news))
        except KubeconfigError as error:
            raise ProviderError(f"failed to parse kubeconfig: {error}") from None
        response = provider_pb2.DiffResponse(diffs=changed, replaces=replaces)
        response.changes = response.DIFF_SOME if changed else response.DIFF_NONE
        return response

    def configure(self, request: Any) -> Any:
        settings = configuration.read(dict(request.variables))
        self._connection = Connection(settings, self._cancelled)
        threading.Thread(target=_load_ahead, daemon=True).start()
        return provider_pb2.ConfigureResponse(
            acceptSecrets=True, supportsPreview=True, supports_autonaming_configuration=True
        )

    def check(self, request: Any) -> Any:
        return self._operation("planning", request.urn).check(request)

    def diff(self, request: Any) -> Any:
        return self._operation("planning", request.urn).diff(request)

    def create(self, request: Any) -> Any:
        return self._operation("changing", request.urn).create(request)

    def update(self, request: Any) -> Any:
        return self._operation("changing", request.urn).update(request)

    def delete(self, request: Any) -> Any:
        return self._operation("changing", request.urn).delete(request)

    def read(self, request: Any) -> Any:
        return self._operation("reading", request.urn).read(request)

    def construct(self, request: Any) -> Any:
        from sandbox.plugins.kubernetes.charts.components import Components

        cluster = self._configured().reachable()
        return Components(cluster.discovery, cluster.settings, self._engine, VERSION).construct(request)

    def invoke(self, request: Any) -> Any:
        raise NotImplementedHere(f"the function {request.tok}")

    def _operation(self, module: str, urn: str) -> Any:
        """What one of the modules of operations/ does with a resource: its class has the module's name."""
        token, gvk = urn_type(urn), gvk_of_urn(urn)
        is_patch = gvk.kind.endswith("Patch") and is_built_in(gvk.api_version, gvk.kind.removesuffix("Patch"))
        if token in _UNSUPPORTED or is_patch:
            raise NotImplementedHere(f"the resource type {token}")
        kind = getattr(importlib.import_module(f"sandbox.plugins.kubernetes.operations.{module}"), module.capitalize())
        return kind(urn, self._configured(), self._engine)

    def _configured(self) -> Connection:
        if self._connection is None:
            raise ProviderError("the provider was not configured")
        return self._connection


def _load_ahead() -> None:
    """Loads what any preview asks for: the program seldom has an object ready as soon as its provider is configured."""
    for module in ("operations.planning", "charts.components"):
        importlib.import_module(f"sandbox.plugins.kubernetes.{module}")
