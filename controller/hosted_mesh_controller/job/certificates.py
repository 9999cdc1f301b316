"""Ends of the certificates in a stack's state: public facts for the schedule of renewals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

_HOUR: Final = 3600.0
_TYPES: Final = ("tls:index/selfSignedCert:SelfSignedCert", "tls:index/locallySignedCert:LocallySignedCert")


def certificates(resources: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Name, end, and begin of the renewal by `pulumi up`; seconds since 1970. Unreadable ones are left out."""
    found = []
    for resource in resources:
        outputs = resource.get("outputs") or {}
        if resource.get("type") in _TYPES:
            try:
                ends = datetime.fromisoformat(outputs["validityEndTime"]).timestamp()
                early = float(outputs.get("earlyRenewalHours") or 0) * _HOUR
            except (KeyError, TypeError, ValueError):
                continue
            name = str(resource["urn"]).rpartition("::")[2]
            found.append({"resource": name, "ends": ends, "renew_from": ends - early})
    return sorted(found, key=lambda one: (one["ends"], one["resource"]))
