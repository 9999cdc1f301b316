"""The conditions of a DNSEndpoint: accepted or not, published or not, and the reason. Pure functions.

Types and reasons follow external-dns' proposal. Conditions inform only. The filters of the external-dns container with
the provider's credential decide which records are published, and no edge can change them.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from . import powerdns
from .permitted_fields import CLOUDFLARE_PROXIED, for_provider, permitted, removed_fields
from .records import OWNER, OWNER_LABEL

Object = dict[str, Any]
LABEL = re.compile(r"[a-z0-9_]([-a-z0-9_]{0,61}[a-z0-9_])?", re.IGNORECASE)
MX_TARGET = re.compile(r"\s*\d{1,5}\s+\S+\s*")
MAX_TTL = 604800
MAX_LISTED = 10
ANNOTATION = "external-dns.alpha.kubernetes.io/webhook-"
ADDRESSES = {"A": 4, "AAAA": 6}
PENDING = "Pending"


@dataclass(frozen=True)
class Zones:
    """The zones of one provider in which an edge may publish. provider: its id. lease: name of the publisher's Lease.

    types: record types that the provider publishes. labels: required on an object that it publishes. proxied: whether
    names resolve to addresses of the provider's proxies. weighted: whether it is a PowerDNS with weighted answers.
    """

    provider: str
    include: list[str]
    exclude: list[str] = field(default_factory=list)
    lease: str = ""
    types: list[str] = field(kw_only=True)
    labels: dict[str, str] = field(default_factory=dict)
    proxied: bool = False
    weighted: bool = False

    def admits(self, name: str) -> bool:
        return _in(name, self.include) and not _in(name, self.exclude)

    def selects(self, item: Object) -> bool:
        return self.labels.items() <= (item["metadata"].get("labels") or {}).items()

    def publishes(self, endpoint: Object) -> bool:
        return self.admits(_name(endpoint)) and endpoint.get("recordType") in self.types


@dataclass(frozen=True)
class Conditions:
    """accepted, ready: status, reason and message of the two conditions."""

    accepted: tuple[str, str, str]
    ready: tuple[str, str, str]

    @property
    def is_final(self) -> bool:
        """Whether the conditions need no further check."""
        return self.ready[0] == "True" or self.accepted[0] == "False"


def evaluate(
    item: Object,
    zones: Iterable[Zones],
    resolve: Callable[[str], set[str]],
    refused: Mapping[str, str] = MappingProxyType({}),
) -> Conditions:
    """The conditions of an object. resolve: current addresses of a name. refused: each provider's present refusal."""
    endpoints = [one for one in item.get("spec", {}).get("endpoints") or [] if one]
    if invalid := [f"{_name(one)}: {why}" for one in endpoints if (why := invalid_reason(one))]:
        return _rejected("Invalid", _listed(invalid, "; "))
    if filtered := _filtered(item, endpoints, list(zones)):
        return _rejected("Filtered", filtered)
    providers = [zone for zone in zones if zone.selects(item)]
    published = [one for one in endpoints if any(zone.publishes(one) for zone in providers)]
    by = sorted({zone.provider for one in published for zone in providers if zone.publishes(one)})
    message = f"In zones of {', '.join(by)}" if by else "It has no records"
    if left_out := {f"{_name(one)} ({one.get('recordType')})" for one in endpoints if one not in published}:
        message += f"; not published there: {_listed(sorted(left_out))}"
    if removed := {f"{_name(one)} ({', '.join(out)})" for one in published if (out := _omitted(one, providers))}:
        message += f"; not passed on: {_listed(sorted(removed))}"
    accepted = ("True", "Accepted", message)
    by_proxies = any(zone.proxied for zone in providers)
    missing = [
        _name(one) for one in published if not _is_resolved(one, resolve, by_proxies, _is_routed(one, providers))
    ]
    failing = {
        zone.provider: f"provider {zone.provider} refuses: {refused[zone.provider]}"
        for zone in providers
        if zone.provider in refused and any(map(zone.publishes, endpoints))
    }
    if missing and failing:
        failure = f"{_listed(sorted(set(missing)))}: {'; '.join(failing.values())}. See the publisher's log for more"
        return Conditions(accepted, ("False", "Failed", failure))
    if missing:
        return Conditions(accepted, ("False", PENDING, f"Not answered yet: {_listed(sorted(set(missing)))}"))
    return Conditions(accepted, ("True", "Programmed", f"Answered with these targets, by {', '.join(by)}"))


def _filtered(item: Object, endpoints: list[Object], zones: list[Zones]) -> str:
    """The reason why no provider publishes an object; empty if one does."""
    if outside := sorted({_name(one) for one in endpoints if not any(zone.admits(_name(one)) for zone in zones)}):
        domains = sorted({domain for zone in zones for domain in zone.include})
        return f"{_listed(outside)}: not within this cluster's zones ({', '.join(domains) or 'none'})"
    if not endpoints or any(zone.selects(item) and zone.publishes(one) for one in endpoints for zone in zones):
        return ""
    near = [zone for zone in zones if zone.admits(_name(endpoints[0]))]
    if selecting := [zone for zone in near if zone.selects(item)]:
        types = sorted({kind for zone in selecting for kind in zone.types})
        rule = f"a record of type {endpoints[0].get('recordType')}; its zone publishes {', '.join(types)}"
    else:
        wanted = sorted({",".join(f"{key}={value}" for key, value in sorted(zone.labels.items())) for zone in near})
        rule = f"its zone requires the label {' or '.join(wanted)} on the object"
        if (item["metadata"].get("labels") or {}).get(OWNER_LABEL) == OWNER:
            rule += f"; annotate its source, as {ANNOTATION}KEY: VALUE"
    return f"{_name(endpoints[0])}: {rule}"


def invalid_reason(endpoint: Object) -> str:
    """The rule that a record breaks; empty if it is valid."""
    labels = _name(endpoint).removeprefix("*.").split(".")
    if len(_name(endpoint)) > 253 or len(labels) < 2 or not all(LABEL.fullmatch(label) for label in labels):
        return "is not a host name; `*` is allowed as its first label only"
    if not 0 <= int(endpoint.get("recordTTL") or 0) <= MAX_TTL:
        return f"recordTTL must be 0 to {MAX_TTL} seconds"
    targets = endpoint.get("targets") or []
    if not targets:
        return "has no targets"
    version = ADDRESSES.get(str(endpoint.get("recordType")))
    if version and not all(_is_address(str(target), version) for target in targets):
        return f"a record of type {endpoint['recordType']} requires IPv{version} addresses as targets"
    if endpoint.get("recordType") == "MX" and not all(MX_TARGET.fullmatch(str(target)) for target in targets):
        return "a record of type MX requires targets of a number and a host, such as `10 mail.example.com`"
    return ""


def status_with(item: Object, found: Conditions, now: str) -> Object:
    """The object's status with its conditions; unchanged conditions keep their time. now: RFC 3339."""
    before = {one["type"]: one for one in item.get("status", {}).get("conditions") or []}
    generation = item["metadata"]["generation"]
    conditions = []
    for kind, (is_true, reason, message) in (("Accepted", found.accepted), ("Ready", found.ready)):
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
    # External-dns v0.21 overwrites the status, without conditions, of an object with an unobserved generation.
    return {"observedGeneration": generation, "conditions": conditions}


def _listed(words: list[str], between: str = ", ") -> str:
    """The first words, for people: an object can hold thousands of names."""
    more = [f"and {len(words) - MAX_LISTED} more"] if len(words) > MAX_LISTED else []
    return between.join([*words[:MAX_LISTED], *more])


def _rejected(reason: str, message: str) -> Conditions:
    return Conditions(("False", reason, message), ("False", reason, "Not published"))


def _omitted(endpoint: Object, zones: list[Zones]) -> list[str]:
    """The parts of a published record that no provider receives."""
    given = for_provider(permitted(endpoint))
    problem = ""
    if routed := powerdns.properties_of(given):
        problem = f"{', '.join(routed)}: its provider has no weighted answers of PowerDNS"
        if _is_weighted(endpoint, zones):
            problem = powerdns.problem(given)
    return [*removed_fields(endpoint), *([problem] if problem else [])]


def _is_routed(endpoint: Object, zones: list[Zones]) -> bool:
    """Whether a provider answers with some of the record's targets."""
    if not _is_weighted(endpoint, zones):
        return False
    given = for_provider(permitted(endpoint))
    return bool(powerdns.properties_of(given)) and not powerdns.problem(given)


def _is_weighted(endpoint: Object, zones: list[Zones]) -> bool:
    """Whether a PowerDNS with weighted answers publishes a record."""
    return any(zone.weighted and zone.publishes(endpoint) for zone in zones)


def _is_resolved(endpoint: Object, resolve: Callable[[str], set[str]], by_proxies: bool, routed: bool) -> bool:
    """Whether a name resolves to the record's targets, and not to another record of this name.

    An alias resolves to its target's name, or to an address of it, because a provider may resolve the target itself.
    """
    kind, name = str(endpoint.get("recordType")), _name(endpoint).replace("*", "hosted-mesh-probe", 1)
    if kind != "CNAME" and kind not in ADDRESSES:
        return True  # other types are not resolved here
    found = resolve(name)
    if by_proxies or _is_proxied(endpoint):
        return bool(found)
    if kind == "CNAME":
        targets = [str(target).removesuffix(".").lower() for target in endpoint["targets"]]
        return any(target in found or found & resolve(target) for target in targets)
    wanted = {str(ipaddress.ip_address(target)) for target in endpoint["targets"]}
    return bool(found) and found <= wanted if routed else wanted <= found


def _is_proxied(endpoint: Object) -> bool:
    properties = endpoint.get("providerSpecific") or []
    return any(one.get("name") == CLOUDFLARE_PROXIED and one.get("value") == "true" for one in properties)


def _name(endpoint: Object) -> str:
    return str(endpoint.get("dnsName", "")).removesuffix(".").lower()


def _in(name: str, domains: Iterable[str]) -> bool:
    return any(name == domain or name.endswith(f".{domain}") for domain in domains)


def _is_address(value: str, version: int) -> bool:
    try:
        return ipaddress.ip_address(value).version == version
    except ValueError:
        return False
