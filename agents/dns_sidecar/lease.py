"""Which of several replicas acts: the one that holds a Lease. The rules are those of client-go's leader election.

Nobody's clock has to be right: a holder counts from before it asked for the renewal, others from when they saw it, and
the holder stops a third of the time before they may begin.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from .api import Object, OwnApi

NOTE_ANNOTATION = "hosted-mesh.io/dns-refused"
"""On a publisher's Lease while its provider refuses: what it refuses."""
PUBLISHED_FINALIZER = "hosted-mesh.io/dns-published"
"""On the Lease of a publisher that has acted: its records are taken away before the Lease goes."""


class Lease:
    """name: of a Lease that exists, or will. identity: of this replica. seconds: after which others may take it.

    leaves_records: whether who holds it writes records, which would be left when it is deleted.
    """

    def __init__(
        self,
        api: OwnApi,
        name: str,
        identity: str,
        seconds: float,
        now: Callable[[], float] = time.monotonic,
        *,
        leaves_records: bool = False,
    ) -> None:
        self._api, self._name, self._identity, self._seconds, self._now = api, name, identity, seconds, now
        self._seen: tuple[Any, ...] = ()
        self._seen_at = self._until = 0.0
        self._note, self._leaves_records, self._is_withdrawn = "", leaves_records, False
        self.is_ending = False
        """Whether it is being deleted, and waits for its records to be taken away."""
        self.term = 0
        """How often it was taken: what was read in an earlier term may have been changed by another holder."""
        self._changed, self._wake = threading.Condition(), threading.Event()

    def held(self) -> bool:
        """Whether this replica may act now."""
        return self._now() < self._until

    def wait(self, seconds: float) -> bool:
        """Waits until it is held, at most so long; whether it is."""
        with self._changed:
            return self._changed.wait_for(self.held, seconds)

    def note(self, text: str) -> None:
        """Tells what the provider refuses, or with nothing that it does not: in the Lease, for whoever reads that."""
        if text != self._note:
            self._note = text
            self._wake.set()

    def withdrawn(self) -> None:
        """Lets it go: the records of whoever held it are taken away."""
        self._is_withdrawn = True
        self._wake.set()

    def run(self) -> None:
        """Takes it when nobody has it, and renews it; never returns."""
        while True:
            try:
                self.step()
            except OSError as error:  # what is not renewed runs out by itself
                print(f"lease {self._name}: {error}", flush=True)
            self._wake.wait(self._seconds / 7.5)
            self._wake.clear()

    def step(self) -> None:
        """Takes or renews it once, if it may. Raises OSError."""
        asked = self._now()
        lease = self._api.lease(self._name)
        metadata = lease["metadata"]
        self.is_ending = "deletionTimestamp" in metadata and PUBLISHED_FINALIZER in metadata.get("finalizers", ())
        self._is_withdrawn = self._is_withdrawn and self.is_ending
        if self._may_take(lease.get("spec") or {}):
            was = self.held()
            self._api.replace_lease(self._taken(lease))
            with self._changed:
                self.term += not was
                self._until = asked + self._seconds * 2 / 3
                self._changed.notify_all()
            if not was:
                print(f"lease {self._name}: held by {self._identity}", flush=True)
        else:
            self._until = 0.0

    def release(self) -> None:
        """Gives it back, so that another takes it at once. Raises OSError."""
        was, self._until = self.held(), 0.0
        if was:
            lease = self._api.lease(self._name)
            if lease["spec"].get("holderIdentity") == self._identity:
                lease["spec"]["holderIdentity"] = ""
                self._api.replace_lease(lease)

    def _may_take(self, spec: Object) -> bool:
        holder, now = spec.get("holderIdentity"), self._now()
        record = (holder, spec.get("renewTime"))
        if record != self._seen:
            self._seen, self._seen_at = record, now
        lasts = max(self._seconds, spec.get("leaseDurationSeconds") or 0)
        return not holder or holder == self._identity or now - self._seen_at >= lasts

    def _taken(self, lease: Object) -> Object:
        spec, now = lease.get("spec") or {}, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        mine = {"holderIdentity": self._identity, "leaseDurationSeconds": int(self._seconds), "renewTime": now}
        if spec.get("holderIdentity") != self._identity:
            mine |= {"acquireTime": now, "leaseTransitions": int(spec.get("leaseTransitions") or 0) + 1}
        metadata = lease["metadata"]
        notes = {key: value for key, value in (metadata.get("annotations") or {}).items() if key != NOTE_ANNOTATION}
        notes |= {NOTE_ANNOTATION: self._note} if self._note else {}
        holds = {*metadata.get("finalizers", ())} - {PUBLISHED_FINALIZER}
        # None can be added to an object that is being deleted.
        if self._leaves_records and not self._is_withdrawn and (self.is_ending or "deletionTimestamp" not in metadata):
            holds.add(PUBLISHED_FINALIZER)
        kept = {**metadata, "annotations": notes, "finalizers": sorted(holds)}
        return {**lease, "metadata": kept, "spec": {**spec, **mine}}
