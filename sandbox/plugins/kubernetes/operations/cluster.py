"""One cluster as the provider uses it: create, update, read and delete objects, with the official plug-in's manners."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

from sandbox.plugins.kubernetes.api_server.client import APPLY, JSON_PATCH, ApiError, Client
from sandbox.plugins.kubernetes.api_server.discovery import Discovery, NoSuchKind, Resource
from sandbox.plugins.kubernetes.fields import managers
from sandbox.plugins.kubernetes.objects import (
    PATCH_FORCE,
    TIMEOUT_SECONDS,
    Object,
    annotation,
    get,
    gvk_of,
    is_crd,
    is_true,
    name_of,
    namespace_of,
)
from sandbox.plugins.kubernetes.readiness.kinds import condition_for, waits_for_deletion
from sandbox.plugins.kubernetes.readiness.waiting import Waiting
from sandbox.plugins.kubernetes.settings import Settings

_TIMEOUT_SECONDS: Final = 600.0
# Seconds before each further try to create something whose kind or namespace is not there yet.
_PATIENCE: Final = (1, 2, 4, 8, 16)
_DRY_RUN: Final = {"dryRun": "All"}
_CONFLICT_HELP: Final = (
    "https://www.pulumi.com/registry/packages/kubernetes/how-to-guides/"
    "managing-resources-with-server-side-apply/#handle-field-conflicts-on-existing-resources"
)

Note = Callable[[str], None]


@dataclass
class Cluster:
    """A reachable API server. cancelled: set when the engine wants everything to stop."""

    client: Client
    discovery: Discovery
    settings: Settings
    cancelled: threading.Event

    def __post_init__(self) -> None:
        self.waiting = Waiting(self.client, self.discovery, self.cancelled)

    def resource(self, obj: Mapping[str, Any]) -> Resource:
        return self.discovery.find(gvk_of(obj))

    def path(self, obj: Mapping[str, Any]) -> str:
        return self.resource(obj).path(namespace_of(obj), name_of(obj))

    def get(self, obj: Mapping[str, Any]) -> Object:
        """The live object. Raises ApiError, NoSuchKind."""
        return self.client.request("GET", self.path(obj))

    def create(self, inputs: Object, manager: str, *, preview: bool, note: Note) -> Object:
        """Makes the object, patient with kinds and namespaces that are not there yet. Raises ApiError, NoSuchKind.

        By POST, so that an object that somebody else made is an error; by server-side apply where the provider's
        setting upsertExistingObjects wants it so.
        """
        for attempt, pause in enumerate((*_PATIENCE, None)):
            try:
                return self._create(inputs, manager, preview=preview)
            except (ApiError, NoSuchKind) as error:
                is_early = isinstance(error, NoSuchKind) or error.is_not_found
                if not is_early or pause is None or preview or self.cancelled.wait(pause):
                    raise
                note(f"Retry #{attempt}; creation failed: {error}")
        raise AssertionError("the last try returns or raises")

    def _create(self, inputs: Object, manager: str, *, preview: bool) -> Object:
        dry_run = _DRY_RUN if preview else {}
        if self.settings.upsert:
            return self._apply(inputs, None, manager, preview=preview)
        path = self.resource(inputs).path(namespace_of(inputs))
        return self.client.request("POST", path, inputs, query={"fieldManager": managers.CREATOR, **dry_run})

    def update(self, inputs: Object, old_live: Object, manager: str, *, preview: bool) -> Object:
        """Brings the live object to the inputs. Raises ApiError, NoSuchKind."""
        live = self.get({**inputs, "metadata": {**inputs["metadata"], "name": name_of(old_live)}})
        inputs = deepcopy(inputs)
        if is_crd(inputs):
            # Definitions are replaced whole: merging schemas makes no sense.
            inputs["metadata"]["resourceVersion"] = get(live, "metadata", "resourceVersion")
            query = {"fieldManager": manager, **(_DRY_RUN if preview else {})}
            return self.client.request("PUT", self.path(inputs), inputs, query=query)
        if not preview:
            live = self._take_over(live, manager)
        return self._apply(inputs, live, manager, preview=preview)

    def _take_over(self, live: Object, manager: str) -> Object:
        fields = managers.taken_over(live, manager)
        if fields is None:
            return live
        version = get(live, "metadata", "resourceVersion")
        patch = [
            {"op": "replace", "path": "/metadata/managedFields", "value": fields},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
        ]
        return self.client.request("PATCH", self.path(live), patch, content_type=JSON_PATCH)

    def _apply(self, inputs: Object, live: Object | None, manager: str, *, preview: bool) -> Object:
        asked = self.settings.patch_force or is_true(inputs, PATCH_FORCE)
        force = managers.must_force(live, preview=preview, asked=asked)
        query = {"fieldManager": manager, "force": "true" if force else "false", **(_DRY_RUN if preview else {})}
        try:
            return self.client.request("PATCH", self.path(inputs), inputs, query=query, content_type=APPLY)
        except ApiError as error:
            if not error.is_conflict:
                raise
            message = (
                f"server-side apply field conflict detected, see {_CONFLICT_HELP} for troubleshooting help\n"
                f'The resource managed by field manager "{manager}" had an apply conflict: {error}'
            )
            raise ApiError(error.code, {**error.status, "message": message}) from None

    def await_ready(self, inputs: Object, live: Object, *, timeout: float, note: Note) -> Object:
        """The live object once it is ready. timeout: seconds, 0: as annotated, else ten minutes. Raises NotReady."""
        condition = condition_for(inputs, live)
        if condition is None:
            return live
        return self.waiting.until_ready(condition, live, seconds=_seconds(timeout, inputs), note=note)

    def delete(self, inputs: Object, live: Object, name: str, *, timeout: float, note: Note) -> None:
        """Deletes the object and waits until it is gone; gone already is fine. Raises ApiError, NotReady."""
        try:
            resource = self.resource(live)
        except NoSuchKind:
            return  # Its definition is gone, and with it all objects of the kind.
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Foreground"}
        try:
            self.client.request("DELETE", resource.path(namespace_of(live), name), options)
        except ApiError as error:
            if error.is_not_found:
                return
            raise
        if waits_for_deletion(inputs):
            self.waiting.until_gone(live, seconds=_seconds(timeout, inputs), note=note)


def _seconds(timeout: float, inputs: Mapping[str, Any]) -> float:
    annotated = annotation(inputs, TIMEOUT_SECONDS)
    return timeout or (float(annotated) if annotated.isdigit() else _TIMEOUT_SECONDS)
