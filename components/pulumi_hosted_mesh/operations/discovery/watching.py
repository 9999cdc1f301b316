"""Follows clusters by watches: one list of each kind, and then its changes.

A kind that the credential may list, but not watch, is listed again after some seconds. So is a forbidden kind, a kind
that the API server lacks, and a cluster that does not answer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import Final

from pulumi_hosted_mesh.clusters.api_server import (
    ApiServer,
    OutdatedError,
    RefusedError,
    UnauthorizedError,
    UnreachableError,
)
from pulumi_hosted_mesh.operations.discovery.cluster_observation import (
    NO_NAMESPACE,
    READ,
    ClusterObservation,
    Manifest,
)
from pulumi_hosted_mesh.problems import InvalidInputError

WATCH_SECONDS: Final = 120.0
"""Duration of one watch. A connection that was lost without a message is noticed after it."""
SHORTEST_SECONDS: Final = 1.0
"""Duration below which a watch counts as one that does not last."""
SETTLE_SECONDS: Final = 0.3
"""Time between a change and the new facts: one `kubectl apply` has several changes."""
Key = tuple[str, str]
Connect = Callable[[], ApiServer]


class WatchedCluster:
    """The current objects of a cluster. changed: set after each change. connect: makes a client, with a fresh
    credential. every: seconds until a list is tried again."""

    def __init__(self, name: str, connect: Connect, changed: threading.Event, every: float) -> None:
        self.name = name
        self._connect, self._changed, self._every = connect, changed, every
        self._lock, self._connecting = threading.Lock(), threading.Lock()
        self._objects: dict[str, dict[Key, Manifest]] = {}
        self._failed: dict[str, UnreachableError | InvalidInputError] = {}
        self._api: ApiServer | None = None

    def start(self) -> None:
        """Starts one thread for each kind. They end with the process."""
        for kind in READ:
            threading.Thread(target=self._follow, args=(kind,), name=f"{self.name} {kind}", daemon=True).start()

    @property
    def is_read(self) -> bool:
        """Whether each kind was listed once, or has failed."""
        with self._lock:
            return len({*self._objects, *self._failed}) == len(READ)

    def observation(self) -> ClusterObservation:
        """The facts of the cluster as `observe` returns them."""
        with self._lock:
            failed = dict(self._failed)
            objects = {kind: list(found.values()) for kind, found in self._objects.items() if kind not in failed}
        broken = [one for one in failed.values() if not isinstance(one, RefusedError) or _is_login(one)]
        if broken or not objects:
            return ClusterObservation(self.name, {}, (), str([*broken, *failed.values()][0]))
        if "Namespace" in objects and not objects["Namespace"]:
            return ClusterObservation(self.name, {}, (), NO_NAMESPACE)
        return ClusterObservation(self.name, objects, tuple(kind for kind in READ if kind in failed))

    def _follow(self, kind: str) -> None:
        pause = threading.Event()
        while True:
            try:
                version = self._list(kind)
                if version is not None and self._watch(kind, version):
                    continue
            except (UnreachableError, InvalidInputError) as error:
                self._fail(kind, error)
            pause.wait(self._every)

    def _list(self, kind: str) -> str | None:
        path, metadata_only = READ[kind]
        found, version = self._client().snapshot(path, metadata_only=metadata_only)
        with self._lock:
            before = self._objects.get(kind)
            self._objects[kind] = {_key(one): one for one in found}
            recovered = self._failed.pop(kind, None)
            is_new = recovered is not None or before != self._objects[kind]
        if is_new:
            self._changed.set()
        return version

    def _watch(self, kind: str, version: str) -> bool:
        """Applies changes. True if a list is due at once: the API server no longer has the changes, or the connection
        broke. False if it is due later: the credential may not watch, or no watch lasts."""
        path, metadata_only = READ[kind]
        while True:
            began = monotonic()
            try:
                for event, found in self._client().watch(path, version, WATCH_SECONDS, metadata_only=metadata_only):
                    version = str(found["metadata"].get("resourceVersion") or version)
                    if event != "BOOKMARK":
                        self._apply(kind, event, found)
            except OutdatedError:
                return True
            except UnauthorizedError:
                raise
            except RefusedError:
                return False
            except UnreachableError:
                return monotonic() - began > SHORTEST_SECONDS
            if monotonic() - began < SHORTEST_SECONDS:  # a proxy on the way that passes no stream on
                threading.Event().wait(SHORTEST_SECONDS)

    def _apply(self, kind: str, event: str, found: Manifest) -> None:
        with self._lock:
            if event == "DELETED":
                self._objects[kind].pop(_key(found), None)
            else:
                self._objects[kind][_key(found)] = found
        self._changed.set()

    def _fail(self, kind: str, error: UnreachableError | InvalidInputError) -> None:
        with self._lock:
            before = self._failed.get(kind)
            self._failed[kind] = error
        if not isinstance(error, RefusedError) or _is_login(error):
            with self._connecting:
                self._api = None  # the next request has a fresh credential
        if str(before) != str(error):
            self._changed.set()

    def _client(self) -> ApiServer:
        """One for all kinds, because a credential may come from a program. A slow program does not delay the facts."""
        with self._connecting:
            if self._api is None:
                self._api = self._connect()
            return self._api


def follow(
    clusters: Sequence[tuple[str, Connect]], every: float, settle: float = SETTLE_SECONDS
) -> Iterator[list[ClusterObservation]]:
    """The objects of the clusters, complete at first, and again after each change."""
    changed = threading.Event()
    watched = [WatchedCluster(name, connect, changed, every) for name, connect in clusters]
    for one in watched:
        one.start()
    while True:
        changed.wait()
        changed.clear()
        if all(one.is_read for one in watched):
            threading.Event().wait(settle)
            changed.clear()
            yield [one.observation() for one in watched]


def _key(manifest: Manifest) -> Key:
    return str(manifest["metadata"].get("namespace", "")), str(manifest["metadata"]["name"])


def _is_login(error: Exception) -> bool:
    return isinstance(error, UnauthorizedError)
