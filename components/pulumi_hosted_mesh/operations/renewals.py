"""When the mesh's certificates end, and whether the next `pulumi up` renews them: read from an engine's state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pulumi_hosted_mesh.boundary.ownership import CERTIFICATE_TYPES
from pulumi_hosted_mesh.problems import InvalidInputError, Problem


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


def renewals(
    resources: Iterable[Mapping[str, Any]], now: datetime | None = None, source: str = "the state"
) -> list[Renewal]:
    """The certificates of a state export (`deployment.resources`), the first to end first.

    now: UTC, by default now. source: where the resources are from, for errors.
    Raises: InvalidInputError with each certificate whose times cannot be read.
    """
    moment = now or datetime.now(UTC)
    found, problems = list[Renewal](), list[Problem]()
    for resource in resources:
        outputs = resource.get("outputs") or {}
        if resource.get("type") not in CERTIFICATE_TYPES or "validityEndTime" not in outputs:
            continue
        name = str(resource["urn"]).rpartition("::")[2]
        ends, early = _moment(outputs["validityEndTime"]), _hours(outputs.get("earlyRenewalHours"))
        if ends is None or early is None:
            field = "validityEndTime" if ends is None else "earlyRenewalHours"
            rule = f"cannot be read as {'a time' if ends is None else 'a number of hours'}"
            problems.append(Problem(f"{field} of certificate {name}", rule, "Export the state anew"))
            continue
        of_root = str(resource["type"]).endswith(":SelfSignedCert")
        found.append(Renewal(name, ends, ends - moment <= early, of_root))
    if problems:
        raise InvalidInputError(problems, source)
    return sorted(found, key=lambda one: one.ends)


def _moment(written: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(written)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _hours(written: Any) -> timedelta | None:
    try:
        return timedelta(hours=float(written or 0))
    except (TypeError, ValueError, OverflowError):
        return None
