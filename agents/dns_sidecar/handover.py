"""Hand-over of records between two publishers with the same records: a renamed provider, or a moved bridge.

Each has a Lease of its own, maybe in another namespace. A label of both identifies the records. One of them acts at a
time: the one that holds its Lease, else the older. The Lease that is deleted leaves the records to the other.
"""

from __future__ import annotations

from typing import Any

from .api import ApiError, LeaseApi, Object

RECORDS_LABEL = "hosted-mesh.io/dns-handover"
FORBIDDEN = 403
Record = tuple[Any, Any]
"""Holder and time of renewal."""


class Peers:
    """Other Leases with the same records. seconds: without a renewal for so long, a Lease counts as abandoned."""

    def __init__(self, api: LeaseApi, seconds: float) -> None:
        self._api, self._seconds = api, seconds
        self._seen: dict[tuple[str, str], tuple[Record, float]] = {}

    def acts(self, lease: Object, now: float) -> bool:
        """Whether another Lease's holder acts, or is to act before this one's. Raises OSError."""
        return any(self._acts(lease, other, now) for other in self._others(lease))

    def takes_over(self, lease: Object) -> bool:
        """Whether another Lease exists that is not being deleted. Raises OSError."""
        return any("deletionTimestamp" not in other["metadata"] for other in self._others(lease))

    def _acts(self, lease: Object, other: Object, now: float) -> bool:
        spec = other.get("spec") or {}
        record = spec.get("holderIdentity"), spec.get("renewTime")
        before, since = self._seen.get(_key(other), (None, now))
        if before != record:
            since = now
        self._seen[_key(other)] = record, since
        if now - since >= max(self._seconds, spec.get("leaseDurationSeconds") or 0):
            return False
        return bool(spec.get("holderIdentity")) or _age(other) < _age(lease)

    def _others(self, lease: Object) -> list[Object]:
        value = (lease["metadata"].get("labels") or {}).get(RECORDS_LABEL)
        if not value:
            return []
        try:
            found = self._api.labelled(RECORDS_LABEL, value)
        except ApiError as error:
            if error.status != FORBIDDEN:
                raise
            print(f"handover: {error}", flush=True)
            return []
        return [other for other in found if _key(other) != _key(lease)]


def _key(lease: Object) -> tuple[str, str]:
    return lease["metadata"]["namespace"], lease["metadata"]["name"]


def _age(lease: Object) -> tuple[str, tuple[str, str]]:
    return lease["metadata"].get("creationTimestamp", ""), _key(lease)
