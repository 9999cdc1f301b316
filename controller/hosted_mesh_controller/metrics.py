"""Prometheus metrics. Labels have no tenants and no names: the page of metrics needs no token."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Gauge, Histogram

STARTED: Final = Counter("hosted_mesh_operations_started", "Started attempts of operations.", ["kind", "action"])
ENDED: Final = Counter("hosted_mesh_operations_ended", "Ended operations.", ["kind", "action", "state"])
SECONDS: Final = Histogram(
    "hosted_mesh_operation_seconds",
    "Seconds from an operation's first start to its end.",
    ["kind", "action"],
    buckets=(1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800),
)
RUNNING: Final = Gauge("hosted_mesh_operations_running", "Operations that run.")
OPEN: Final = Gauge("hosted_mesh_operations", "Operations by state that have not ended.", ["state"])
OBJECTS: Final = Gauge("hosted_mesh_objects", "Ordered objects by kind and state.", ["kind", "state"])
DRIFTED: Final = Counter("hosted_mesh_drift_found", "Checks that found drift.", ["kind"])
REPAIRED: Final = Counter("hosted_mesh_drift_repaired", "Repairs of drift.", ["kind"])
DRIFT: Final = Gauge("hosted_mesh_drift", "Objects with drift at their last check.", ["kind"])
HELD: Final = Gauge("hosted_mesh_repairs_held", "Objects with drift whose budget of repairs is used up.", ["kind"])
CERTIFICATE_END: Final = Gauge(
    "hosted_mesh_certificate_end_seconds", "The earliest end of a certificate, in seconds since 1970.", ["kind"]
)
FOUND: Final = Gauge("hosted_mesh_found", "Revisions of meshes in the clusters.", ["role", "managed_by", "version"])
UNREADABLE: Final = Gauge("hosted_mesh_unreadable_clusters", "Clusters that the last look could not read.")
UNREAD_OFFERS: Final = Gauge(
    "hosted_mesh_unread_offers", "Federated meshes whose Services the last look could not read."
)
WATCHES: Final = Gauge("hosted_mesh_watches", "Watches on users' clusters by state: up or away.", ["state"])
ISSUERS: Final = Gauge("hosted_mesh_issuers", "Issuers of tokens by state: up or away.", ["state"])
EXECUTORS: Final = Gauge("hosted_mesh_executors", "Executors on this database that live; 0 with SQLite.")
REQUESTS: Final = Counter("hosted_mesh_requests", "Requests by route.", ["method", "route", "status"])
REQUEST_SECONDS: Final = Histogram("hosted_mesh_request_seconds", "Seconds of a request.", ["method", "route"])
