"""What the status of a DNSEndpoint says: accepted or not, published or not, and why. Pure functions.

The words are those that external-dns itself is moving to. They inform; what is published is decided by the filters of
the external-dns beside each provider, which no edge can change.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from .passed import not_passed

Object = dict[str, Any]
LABEL = re.compile(r"[a-z0-9_]([-a-z0-9_]{0,61}[a-z0-9_])?", re.IGNORECASE)
LONGEST_TTL = 604800
SHOWN = 10
ADDRESSES = {"A": 4, "AAAA": 6}


@dataclass(frozen=True)
class Zones:
    """Where the edge may publish by one provider. provider: its id. lease: of the publisher.

    types: of records that it publishes. labels: what an object needs for it to be published by this provider.
    """

    provider: str
    include: list[str]
    exclude: list[str] = field(default_factory=list)
    lease: str = ""
    types: list[str] = field(kw_only=True)
    labels: dict[str, str] = field(default_factory=dict)

    def admits(self, name: str) -> bool:
        return _in(name, self.include) and not _in(name, self.exclude)

    def selects(self, item: Object) -> bool:
        return self.labels.items() <= (item["metadata"].get("labels") or {}).items()

    def publishes(self, endpoint: Object) -> bool:
        return self.admits(_name(endpoint)) and endpoint.get("recordType") in self.types


@dataclass(frozen=True)
class Verdict:
    """accepted, ready: a condition's status, reason and message each."""

    accepted: tuple[str, str, str]
    ready: tuple[str, str, str]

    @property
    def settled(self) -> bool:
        """Whether nothing is waited for."""
        return self.ready[0] == "True" or self.accepted[0] == "False"


def judge(
    item: Object,
    zones: Iterable[Zones],
    resolve: Callable[[str], set[str]],
    refused: Mapping[str, str] = MappingProxyType({}),
) -> Verdict:
    """resolve: the addresses that a name has now; empty if it has none. refused: by provider, what it refuses now."""
    endpoints = [one for one in item.get("spec", {}).get("endpoints") or [] if one]
    if invalid := [f"{_name(one)}: {why}" for one in endpoints if (why := problem(one))]:
        return _refused("Invalid", _some(invalid, "; "))
    if filtered := _filtered(item, endpoints, list(zones)):
        return _refused("Filtered", filtered)
    providers = [zone for zone in zones if zone.selects(item)]
    published = [one for one in endpoints if any(zone.publishes(one) for zone in providers)]
    by = sorted({zone.provider for one in published for zone in providers if zone.publishes(one)})
    said = f"In zones of {', '.join(by)}" if by else "It has no records"
    if left_out := {f"{_name(one)} ({one.get('recordType')})" for one in endpoints if one not in published}:
        said += f"; not published there: {_some(sorted(left_out))}"
    if unsaid := {f"{_name(one)} ({', '.join(out)})" for one in published if (out := not_passed(one))}:
        said += f"; not passed on: {_some(sorted(unsaid))}"
    accepted = ("True", "Accepted", said)
    missing = [_name(one) for one in published if not _answered(one, resolve)]
    failing = {
        zone.provider: f"provider {zone.provider} refuses: {refused[zone.provider]}"
        for zone in providers
        if zone.provider in refused and any(map(zone.publishes, endpoints))
    }
    if missing and failing:
        # External-dns says only in its log why, and that is the control plane's.
        message = f"{_some(sorted(set(missing)))}: {'; '.join(failing.values())}. Its publisher's log says why"
        return Verdict(accepted, ("False", "Failed", message))
    if missing:
        return Verdict(accepted, ("False", "Pending", f"Not answered yet: {_some(sorted(set(missing)))}"))
    return Verdict(accepted, ("True", "Programmed", f"Answered with these targets, by {', '.join(by)}"))


def _filtered(item: Object, endpoints: list[Object], zones: list[Zones]) -> str:
    """Why an object is published by no provider: one of its names, or each of its records; nothing if it is."""
    if outside := sorted({_name(one) for one in endpoints if not any(zone.admits(_name(one)) for zone in zones)}):
        domains = sorted({domain for zone in zones for domain in zone.include})
        return f"{_some(outside)}: not within this cluster's zones ({', '.join(domains) or 'it has none'})"
    if not endpoints or any(zone.selects(item) and zone.publishes(one) for one in endpoints for zone in zones):
        return ""
    near = [zone for zone in zones if zone.admits(_name(endpoints[0]))]
    if selecting := [zone for zone in near if zone.selects(item)]:
        types = sorted({kind for zone in selecting for kind in zone.types})
        rule = f"a record of type {endpoints[0].get('recordType')}; in its zone are published {', '.join(types)}"
    else:
        wanted = sorted({",".join(f"{key}={value}" for key, value in sorted(zone.labels.items())) for zone in near})
        rule = f"its zone is published of objects with the labels {' or '.join(wanted)} alone"
    return f"{_name(endpoints[0])}: {rule}"


def problem(endpoint: Object) -> str:
    """Why a record cannot be published; nothing if it can."""
    labels = _name(endpoint).removeprefix("*.").split(".")
    if len(_name(endpoint)) > 253 or len(labels) < 2 or not all(LABEL.fullmatch(label) for label in labels):
        return "is no host name; `*` may only stand for its first label"
    if not 0 <= int(endpoint.get("recordTTL") or 0) <= LONGEST_TTL:
        return f"recordTTL must be 0 to {LONGEST_TTL} seconds"
    targets = endpoint.get("targets") or []
    if not targets:
        return "has no targets"
    version = ADDRESSES.get(str(endpoint.get("recordType")))
    if version and not all(_is_address(str(target), version) for target in targets):
        return f"a record of type {endpoint['recordType']} has IPv{version} addresses for targets"
    return ""


def status(item: Object, verdict: Verdict, now: str) -> Object:
    """The object's status with the verdict; the same as before where nothing changed. now: RFC 3339."""
    before = {one["type"]: one for one in item.get("status", {}).get("conditions") or []}
    generation = item["metadata"]["generation"]
    conditions = []
    for kind, (is_true, reason, message) in (("Accepted", verdict.accepted), ("Ready", verdict.ready)):
        old = before.get(kind, {})
        since = old["lastTransitionTime"] if old.get("status") == is_true else now
        conditions.append(
            {
                "type": kind,
                "status": is_true,
                "reason": reason,
                "message": message,
                "observedGeneration": generation,
                "lastTransitionTime": since,
            }
        )
    # With the generation observed, external-dns does not write the status, in which it knows no conditions.
    return {"observedGeneration": generation, "conditions": conditions}


def _some(words: list[str], between: str = ", ") -> str:
    """The first ones, for people: an object may hold thousands of names."""
    more = [f"and {len(words) - SHOWN} more"] if len(words) > SHOWN else []
    return between.join([*words[:SHOWN], *more])


def _refused(reason: str, message: str) -> Verdict:
    return Verdict(("False", reason, message), ("False", reason, "Not published"))


def _answered(endpoint: Object, resolve: Callable[[str], set[str]]) -> bool:
    kind, name = str(endpoint.get("recordType")), _name(endpoint).replace("*", "hosted-mesh-probe", 1)
    if kind == "CNAME":
        return bool(resolve(name))
    if kind not in ADDRESSES:
        return True  # nothing here asks for other types
    wanted = {str(ipaddress.ip_address(target)) for target in endpoint["targets"]}
    return wanted <= resolve(name)


def _name(endpoint: Object) -> str:
    return str(endpoint.get("dnsName", "")).removesuffix(".")


def _in(name: str, domains: Iterable[str]) -> bool:
    return any(name == domain or name.endswith(f".{domain}") for domain in domains)


def _is_address(value: str, version: int) -> bool:
    try:
        return ipaddress.ip_address(value).version == version
    except ValueError:
        return False
