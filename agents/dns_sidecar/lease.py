"""Leader election by a Lease, with the rules of client-go.

Replicas need no synchronized clocks. The holder counts from before its renewal request, the others from the moment when
they see the renewal. The holder stops a third of the duration before another replica may take over.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from .api import LeaseApi, Object
from .handover import Peers

REFUSAL_ANNOTATION = "hosted-mesh.io/dns-refused"
"""On a publisher's Lease: the request that its provider rejects at present."""
PUBLISHED_FINALIZER = "hosted-mesh.io/dns-published"
"""On the Lease of a publisher that has acted: its records are deleted before the Lease."""


class Lease:
    """name: of an existing or future Lease. identity: of this replica. seconds: duration.

    publishes: whether the holder writes records that must go before the Lease does.
    """

    def __init__(
        self,
        api: LeaseApi,
        name: str,
        identity: str,
        seconds: float,
        now: Callable[[], float] = time.monotonic,
        *,
        publishes: bool = False,
    ) -> None:
        self._api, self._name, self._identity, self._seconds, self._now = api, name, identity, seconds, now
        self._seen: tuple[Any, ...] = ()
        self._seen_at = self._until = 0.0
        self._refusal, self._publishes, self._is_withdrawn = "", publishes, False
        self._peers = Peers(api, seconds)
        self.writing = threading.Lock()
        """Held during writes, which end before the records are handed over."""
        self.is_terminating = False
        """Whether the Lease is being deleted, and waits until its records are deleted."""
        self.term = 0
        """Counts acquisitions. Another holder may have changed anything read in an earlier term."""
        self._changed, self._wake = threading.Condition(), threading.Event()

    def held(self) -> bool:
        """Whether this replica may act now."""
        return self._now() < self._until

    def wait(self, seconds: float) -> bool:
        """Waits at most so long for the Lease. Returns whether it is held."""
        with self._changed:
            return self._changed.wait_for(self.held, seconds)

    def report_refusal(self, text: str) -> None:
        """Publishes the provider's refusal in the Lease; an empty text removes it."""
        if text != self._refusal:
            self._refusal = text
            self._wake.set()

    def records_withdrawn(self) -> None:
        """Removes the finalizer: all records of the Lease's holders are deleted."""
        self._is_withdrawn = True
        self._wake.set()

    def run(self) -> None:
        """Acquires and renews the Lease; never returns."""
        while True:
            try:
                self.step()
            except OSError as error:  # without a renewal the Lease expires
                print(f"lease {self._name}: {error}", flush=True)
            self._wake.wait(self._seconds / 7.5)
            self._wake.clear()

    def step(self) -> None:
        """Acquires or renews the Lease once, if allowed. Raises OSError."""
        asked = self._now()
        lease = self._api.lease(self._name)
        metadata = lease["metadata"]
        ends = "deletionTimestamp" in metadata and PUBLISHED_FINALIZER in metadata.get("finalizers", ())
        was_held, may_take = self.held(), self._may_take(lease.get("spec") or {})
        if may_take and ends and self._peers.takes_over(lease):
            self._hand_over(lease)
            return
        # Only now: a pass that reads it plans the removal of all records.
        self.is_terminating, self._is_withdrawn = ends, self._is_withdrawn and ends
        takes = may_take and self._publishes and not was_held and not ends
        if not may_take or (takes and self._peers.acts(lease, self._now())):
            self._until = 0.0
            return
        self._api.replace_lease(self._taken(lease))
        with self._changed:
            self.term += not was_held
            self._until = asked + self._seconds * 2 / 3
            self._changed.notify_all()
        if not was_held:
            print(f"lease {self._name}: held by {self._identity}", flush=True)

    def _hand_over(self, lease: Object) -> None:
        """Leaves all records to the publisher of another Lease. Raises OSError."""
        self._until = 0.0
        with self.writing:
            self._is_withdrawn = True
            self._api.replace_lease(self._taken(lease))
        print(f"lease {self._name}: handed its records over", flush=True)

    def release(self) -> None:
        """Releases the Lease, so that another replica takes it at once. Raises OSError."""
        was_held, self._until = self.held(), 0.0
        if was_held:
            lease = self._api.lease(self._name)
            if lease["spec"].get("holderIdentity") == self._identity:
                lease["spec"]["holderIdentity"] = ""
                self._api.replace_lease(lease)

    def _may_take(self, spec: Object) -> bool:
        holder, now = spec.get("holderIdentity"), self._now()
        record = (holder, spec.get("renewTime"))
        if record != self._seen:
            self._seen, self._seen_at = record, now
        duration = max(self._seconds, spec.get("leaseDurationSeconds") or 0)
        return not holder or holder == self._identity or now - self._seen_at >= duration

    def _taken(self, lease: Object) -> Object:
        spec, now = lease.get("spec") or {}, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        own = {"holderIdentity": self._identity, "leaseDurationSeconds": int(self._seconds), "renewTime": now}
        if spec.get("holderIdentity") != self._identity:
            own |= {"acquireTime": now, "leaseTransitions": int(spec.get("leaseTransitions") or 0) + 1}
        metadata = lease["metadata"]
        found = metadata.get("annotations") or {}
        annotations = {key: value for key, value in found.items() if key != REFUSAL_ANNOTATION}
        annotations |= {REFUSAL_ANNOTATION: self._refusal} if self._refusal else {}
        finalizers = {*metadata.get("finalizers", ())} - {PUBLISHED_FINALIZER}
        # Kubernetes rejects a new finalizer on an object that is being deleted.
        if self._publishes and not self._is_withdrawn and (self.is_terminating or "deletionTimestamp" not in metadata):
            finalizers.add(PUBLISHED_FINALIZER)
        kept = {**metadata, "annotations": annotations, "finalizers": sorted(finalizers)}
        return {**lease, "metadata": kept, "spec": {**spec, **own}}
