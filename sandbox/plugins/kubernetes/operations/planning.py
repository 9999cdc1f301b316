"""Check and Diff of one resource."""

from __future__ import annotations

from typing import Any

from sandbox.plugins.kubernetes.api_server.discovery import built_in_scope
from sandbox.plugins.kubernetes.fields.diff import Change, Path, changes, prune
from sandbox.plugins.kubernetes.fields.inputs import normalize, to_object
from sandbox.plugins.kubernetes.fields.replacement import rules_for
from sandbox.plugins.kubernetes.fields.state import marked, saved
from sandbox.plugins.kubernetes.objects import (
    AUTONAMED,
    REFUSED_ANNOTATIONS,
    WAIT_FOR,
    Object,
    annotation,
    get,
    gvk_of,
    gvk_of_urn,
    has_name,
    is_crd,
    is_true,
    name_of,
    namespace_of,
    remove_in,
    set_in,
)
from sandbox.plugins.kubernetes.operations.connection import Operation
from sandbox.plugins.kubernetes.readiness.simple import asked_for
from sandbox.plugins.kubernetes.scheme import is_built_in
from sandbox.plugins.protocol.errors import NotImplementedHere, ProviderError
from sandbox.plugins.protocol.naming import format_path, unique_name, urn_name
from sandbox.plugins.protocol.stubs import provider_pb2
from sandbox.plugins.protocol.values import UNKNOWN, read_struct, write_struct


class Planning(Operation):
    """What a resource's inputs become, and what a change of them means."""

    def check(self, request: Any) -> Any:
        gvk = gvk_of_urn(self.urn)
        if gvk.kind.endswith("List") and is_built_in(gvk.api_version, gvk.kind.removesuffix("List")):
            raise ProviderError(
                "list resources exist for compatibility with YAML manifests and Helm charts, and cannot be created "
                "directly. Use the underlying resource type instead"
            )
        news, olds = read_struct(request.news), to_object(read_struct(request.olds))
        inputs = normalize(to_object(news))
        for refused in REFUSED_ANNOTATIONS:
            if annotation(inputs, refused):
                raise NotImplementedHere(f"the annotation {refused}")
        if wanted := annotation(inputs, WAIT_FOR):
            asked_for(wanted)  # Refused here and not when the object is there already.
        self._name(inputs, olds, request)
        self._place(inputs)
        if is_crd(inputs) and self.discovery is not None:
            self.discovery.remember(inputs)
        response = provider_pb2.CheckResponse()
        write_struct(marked(inputs, news), response.inputs)
        return response

    def _name(self, inputs: Object, olds: Object, request: Any) -> None:
        """Keeps a generated name, or generates one: the resource's name, a dash, 8 hex digits."""
        if has_name(inputs):
            return
        if get(inputs, "metadata", "generateName"):
            raise ProviderError("the `.metadata.generateName` field is not supported in Server-Side Apply mode")
        name = name_of(olds) if is_true(olds, AUTONAMED) else ""
        if not name and not olds:
            name = self._new_name(request)
        if name and get(inputs, "metadata") is not UNKNOWN:
            set_in(inputs, name, "metadata", "name")
            set_in(inputs, "true", "metadata", "annotations", AUTONAMED)

    def _new_name(self, request: Any) -> str:
        if request.HasField("autonaming"):
            modes = provider_pb2.CheckRequest.AutonamingOptions
            if request.autonaming.mode == modes.DISABLE:
                raise ProviderError("autonaming is disabled, resource requires the .metadata.name field to be set")
            return str(request.autonaming.proposed_name)
        return unique_name(f"{urn_name(self.urn)}-", bytes(request.randomSeed))

    def _place(self, inputs: Object) -> None:
        if get(inputs, "metadata", "namespace"):
            return
        # A kind that nobody knows yet is taken to live in namespaces, like most do.
        if self._is_namespaced():
            set_in(inputs, self.settings.default_namespace, "metadata", "namespace")

    def _is_namespaced(self) -> bool:
        gvk = gvk_of_urn(self.urn)
        scope = built_in_scope(gvk)
        if scope is None and self.discovery is not None:
            scope = self.discovery.is_namespaced(gvk)
        return scope is not False

    def diff(self, request: Any) -> Any:
        if request.ignoreChanges:
            raise NotImplementedHere("the option ignoreChanges")
        old, inputs = saved(read_struct(request.olds)), normalize(to_object(read_struct(request.news)))
        base = prune(old.live, normalize(old.inputs))
        self._align(base, inputs, old.live)
        found = changes(
            base,
            inputs,
            rules_for(
                inputs,
                mutable_config_maps=self.settings.mutable_config_maps,
                mutable_secrets=self.settings.mutable_secrets,
            ),
        )
        replaces = [format_path(path) for path, one in found.items() if _needs_replacement(path, one)]
        response = provider_pb2.DiffResponse(hasDetailedDiff=True, replaces=replaces)
        response.changes = response.DIFF_SOME if found else response.DIFF_NONE
        response.deleteBeforeReplace = bool(replaces) and self._keeps_its_name(inputs, old.live)
        for path, one in found.items():
            detail = response.detailedDiff[format_path(path)]
            kind = f"{one.kind}_REPLACE" if one.replaces else one.kind
            detail.kind, detail.inputDiff = provider_pb2.PropertyDiff.Kind.Value(kind), one.kind == "DELETE"
        return response

    def _align(self, base: Object, inputs: Object, live: Object) -> None:
        """Evens out differences that mean nothing."""
        if self._is_namespaced():
            for obj in (base, inputs):
                if not get(obj, "metadata", "namespace"):
                    set_in(obj, "default", "metadata", "namespace")
        else:
            remove_in(base, "metadata", "namespace")
            remove_in(inputs, "metadata", "namespace")
        if not gvk_of(base).kind:
            base["apiVersion"], base["kind"] = inputs.get("apiVersion"), inputs.get("kind")
        remove_in(base, "metadata", "resourceVersion")
        if name_of(inputs):
            set_in(base, name_of(live), "metadata", "name")

    def _keeps_its_name(self, inputs: Object, live: Object) -> bool:
        """Whether the new object would have the old one's name, so that the old one has to go first."""
        return (
            has_name(inputs)
            and annotation(inputs, AUTONAMED) != "true"
            and name_of(inputs) == name_of(live)
            and namespace_of(inputs) == namespace_of(live)
        )


def _needs_replacement(path: Path, change: Change) -> bool:
    return change.replaces or (change.kind == "DELETE" and path == ("metadata",))
