"""Ends of the mesh's certificates, and whether the next `pulumi up` renews them: read from an engine's state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from pulumi_hosted_mesh.boundary.ownership import CERTIFICATE_TYPES
from pulumi_hosted_mesh.problems import InvalidInputError, Problem, visible
from pulumi_hosted_mesh.spec.trust import CERT_MANAGER_GROUP
from pulumi_hosted_mesh.vocabulary import CACERTS_SECRET

CERTIFICATE: Final = f"kubernetes:{CERT_MANAGER_GROUP}/v1:Certificate"


@dataclass(frozen=True)
class Renewal:
    """One certificate of an authority.

    name: of the resource. ends: end of its validity, UTC. due: whether the next `pulumi up` renews it. of_root: whether
    it is a root's own, which data planes have too.
    """

    name: str
    ends: datetime
    due: bool
    of_root: bool = False

    def __str__(self) -> str:
        text = f"{self.name}: ends {self.ends:%Y-%m-%d}; "
        if not self.due:
            return f"{text}no renewal due"
        text += "RENEWAL IS DUE, run `pulumi up` of its stack, then of each control-plane that it signs for"
        return f"{text}, then of each data-plane, with a new endpoint file" if self.of_root else text


def renewals(
    resources: Iterable[Mapping[str, Any]], now: datetime | None = None, source: str = "the state"
) -> list[Renewal]:
    """The certificates of a state export (`deployment.resources`), ordered by their ends.

    now: UTC. Default: the current time. source: origin of the resources, for errors.
    Raises: InvalidInputError with each certificate that has unreadable times.
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
            problems.append(Problem(f"{field} of certificate {name}", rule, "Export the state again"))
            continue
        of_root = str(resource["type"]).endswith(":SelfSignedCert")
        found.append(Renewal(name, ends, ends - moment <= early, of_root))
    if problems:
        raise InvalidInputError(problems, source)
    return sorted(found, key=lambda one: one.ends)


@dataclass(frozen=True)
class OutsideRenewal:
    """An authority's certificate that cert-manager renews. A state has no end of it: renewals do not run Pulumi.

    name: of the resource. issuer: kind and name. due: no `pulumi up` renews it.
    """

    name: str
    issuer: str
    due: bool = False

    def __str__(self) -> str:
        return f"{self.name}: cert-manager renews it, by {self.issuer}; `hosted-mesh doctor` checks its end"


def outside_renewals(resources: Iterable[Mapping[str, Any]]) -> list[OutsideRenewal]:
    """The Certificates of a state export for the Secret `cacerts`, by name."""
    found = list[OutsideRenewal]()
    for resource in resources:
        spec = (resource.get("inputs") or {}).get("spec")
        if resource.get("type") != CERTIFICATE or not isinstance(spec, Mapping):
            continue
        if spec.get("secretName") == CACERTS_SECRET and spec.get("isCA") is True:
            issuer = spec.get("issuerRef") or {}
            called = f"{issuer.get('kind')} {issuer.get('name')}"
            found.append(OutsideRenewal(str(resource["urn"]).rpartition("::")[2], visible(called)))
    return sorted(found, key=lambda one: one.name)


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
