"""When the mesh's certificates end, and whether the next `pulumi up` renews them: read from an engine's state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pulumi_hosted_mesh.boundary.ownership import CERTIFICATE_TYPES


@dataclass(frozen=True)
class Renewal:
    """One certificate of an authority.

    name: of the resource. ends: when it is no longer valid, UTC. due: whether the next `pulumi up` renews it. of_root:
    whether it is a root's own, which more than the control plane knows.
    """

    name: str
    ends: datetime
    due: bool
    of_root: bool = False

    def __str__(self) -> str:
        said = f"{self.name}: ends {self.ends:%Y-%m-%d}; "
        if not self.due:
            return f"{said}no renewal due"
        said += "RENEWAL IS DUE, run `pulumi up` of its stack, then of each control-plane that it signs for"
        return f"{said}, then of each data-plane, with its endpoint file written anew" if self.of_root else said


def renewals(resources: Iterable[Mapping[str, Any]], now: datetime | None = None) -> list[Renewal]:
    """The certificates of a state export (`deployment.resources`), the first to end first. now: UTC, by default now."""
    moment = now or datetime.now(UTC)
    found = []
    for resource in resources:
        outputs = resource.get("outputs") or {}
        if resource.get("type") not in CERTIFICATE_TYPES or "validityEndTime" not in outputs:
            continue
        ends = datetime.fromisoformat(str(outputs["validityEndTime"])).astimezone(UTC)
        early = float(outputs.get("earlyRenewalHours") or 0) * 3600
        due = (ends - moment).total_seconds() <= early
        of_root = str(resource["type"]).endswith(":SelfSignedCert")
        found.append(Renewal(str(resource["urn"]).rpartition("::")[2], ends, due, of_root))
    return sorted(found, key=lambda one: one.ends)
