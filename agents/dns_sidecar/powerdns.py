"""Changes of PowerDNS, and its weighted and health-checked answers: records of type LUA. Pure functions.

external-dns cannot own a LUA record: its TXT registry has no such type (registry/mapper/mapper.go, supportedRecords).
So the planning container sees records of type A and AAAA with two properties, and the writing container LUA records.

The text of a LUA record is a program that the DNS server runs. It consists of parsed addresses and numbers only.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Endpoint = dict[str, Any]
Changes = dict[str, list[Endpoint]]
WEIGHTS, HEALTH_PORT = PROPERTIES = ("powerdns/weights", "powerdns/health-port")
"""`192.0.2.1=3,192.0.2.2=1`, and a TCP port."""
WEIGHTED = "weighted"
"""`answers` of a provider that uses the two properties."""
LUA, ALIAS, VERSIONS = "LUA", "CNAME", {"A": 4, "AAAA": 6}
MAX_WEIGHT, MAX_TARGETS = 1000, 100
# PowerDNS checks each address every few seconds from the first query on. If none responds, all count as available.
_AVAILABLE = "ifportup({port},{{{addresses}}},{{selector='all',backupSelector='all'}})"
_WEIGHTED_AVAILABLE = (
    ";local up={{}} for _,a in ipairs({available}) do up[a]=true end local found={{}} "
    "for _,e in ipairs({{{weights}}}) do if up[e[2]] then found[#found+1]=e end end return pickwrandom(found)"
)
# A string of a record has at most 255 characters. PowerDNS joins them with a space, so none ends within an address.
_STRINGS = re.compile(r".{1,200}(?:[ ,]|$)")
_PORT = re.compile(r"ifportup\((\d+),\{([^}]*)\}")
_WEIGHT = re.compile(r"\{(\d+),'([^']+)'\}")


@dataclass(frozen=True)
class Routing:
    """Answers of one name. targets: canonical addresses. weights: of each target; empty without. port: 0 without."""

    kind: str
    targets: tuple[str, ...]
    weights: tuple[int, ...] = ()
    port: int = 0

    def content(self) -> str:
        """The content of a LUA record."""
        addresses = ",".join(f"'{one}'" for one in self.targets)
        weights = ",".join(f"{{{n},'{one}'}}" for n, one in zip(self.weights, self.targets, strict=False))
        code = f"pickwrandom({{{weights}}})"
        if self.port:
            code = _AVAILABLE.format(port=self.port, addresses=addresses)
            code = _WEIGHTED_AVAILABLE.format(available=code, weights=weights) if weights else code
        return " ".join([self.kind, *(f'"{part}"' for part in _STRINGS.findall(code))])

    def properties(self) -> list[dict[str, str]]:
        weights = ",".join(f"{one}={n}" for n, one in zip(self.weights, self.targets, strict=False))
        found = ((HEALTH_PORT, str(self.port or "")), (WEIGHTS, weights))
        return [{"name": name, "value": value} for name, value in found if value]


def properties_of(endpoint: Endpoint) -> dict[str, str]:
    """The two properties, as far as a record has them."""
    given = {str(one.get("name", "")): str(one.get("value", "")) for one in endpoint.get("providerSpecific") or []}
    return {name: given[name] for name in PROPERTIES if name in given}


def routing(endpoint: Endpoint) -> Routing | None:
    """The routing of a record; None for a plain one. Raises ValueError with the broken rule."""
    given = properties_of(endpoint)
    if not given:
        return None
    kind, targets = str(endpoint.get("recordType")), endpoint.get("targets") or []
    if kind not in VERSIONS:
        raise ValueError(f"{', '.join(given)} requires a record of type A or AAAA")
    if len(targets) > MAX_TARGETS:
        raise ValueError(f"{', '.join(given)} allows at most {MAX_TARGETS} targets")
    addresses = sorted({_address(str(one), kind) for one in targets})
    port = given.get(HEALTH_PORT, "")
    if port and not (port.isascii() and port.isdigit() and 0 < int(port) < 2**16):
        raise ValueError(f"{HEALTH_PORT} must be a port, 1 to 65535")
    weights = _weights(given[WEIGHTS], addresses, kind) if WEIGHTS in given else ()
    return Routing(kind, tuple(addresses), weights, int(port or 0)) if weights or port else None


def problem(endpoint: Endpoint) -> str:
    """The rule that a record's properties break; empty if they are valid or absent."""
    try:
        routing(endpoint)
    except ValueError as error:
        return str(error)
    return ""


def adjusted(endpoint: Endpoint, *, supported: bool) -> Endpoint:
    """A wanted record as `read_back` returns it: with canonical properties, or without invalid and unsupported ones."""
    others = [one for one in endpoint.get("providerSpecific") or [] if one.get("name") not in PROPERTIES]
    found = routing(endpoint) if supported and not problem(endpoint) else None
    if found is None:
        return {**endpoint, "providerSpecific": others} if properties_of(endpoint) else endpoint
    return {**endpoint, "targets": list(found.targets), "providerSpecific": found.properties()}


def read_back(records: Iterable[Endpoint]) -> list[Endpoint]:
    """The provider's records for the planning container: LUA records by the type of their answers.

    A plain record of the same name and type is shown instead: a change from one to the other was interrupted.
    """
    records = list(records)
    plain = {_key(one) for one in records if one["recordType"] != LUA}
    found = [one for one in records if one["recordType"] != LUA]
    for record in records:
        if record["recordType"] == LUA:
            for kind, contents in _by_kind(record).items():
                shown = {**record, "recordType": kind, "targets": contents}
                if len(contents) == 1 and (own := _parsed(contents[0])):
                    shown |= {"targets": list(own.targets), "providerSpecific": own.properties()}
                if _key(shown) not in plain:
                    found.append(shown)
    return found


def for_writer(changes: Changes, records: Iterable[Endpoint]) -> list[Changes]:
    """The changes of the planning container, with LUA records, in parts. records: the provider's, as it returned them.

    The record set of type LUA has the answers of all types of a name. PowerDNS replaces the whole set.
    """
    records = list(records)
    sets = {_name(one): one for one in records if one["recordType"] == LUA}
    plain = {_key(one) for one in records if one["recordType"] != LUA}
    contents = {name: _by_kind(one) for name, one in sets.items()}
    old = {_key(one): one for one in changes["updateOld"]}
    found: Changes = {kind: [] for kind in changes}
    changed: dict[str, Endpoint] = {}
    for one in changes["delete"]:
        was_lua = _forget(contents, one)
        changed |= {_name(one): one} if was_lua else {}
        if _key(one) in plain or not was_lua:
            found["delete"].append(one)
    for one in (*changes["create"], *changes["updateNew"]):
        was_lua, was_plain = _forget(contents, one), _key(one) in plain
        # The registry's TXT record of a name has the name's properties too.
        route = routing(one) if one["recordType"] in VERSIONS else None
        changed |= {_name(one): one} if was_lua or route else {}
        if route:
            contents.setdefault(_name(one), {})[route.kind] = [route.content()]
            found["delete"] += [old.get(_key(one), one)] if was_plain else []
        elif _key(one) in old and (was_plain or not was_lua):
            found["updateOld"].append(old[_key(one)])
            found["updateNew"].append(one)
        else:
            found["create"].append(one)
    for name, one in changed.items():
        targets = [each for kind in sorted(contents[name]) for each in contents[name][kind]]
        record = {"dnsName": one["dnsName"], "recordType": LUA, "recordTTL": one.get("recordTTL", 0)}
        if targets:
            found["create"].append({**record, "targets": targets})
        elif name in sets:
            found["delete"].append({**record, "targets": sets[name]["targets"]})
    return _aliases_apart(found)


def _aliases_apart(changes: Changes) -> list[Changes]:
    """First the deletions that make room. PowerDNS rejects an alias beside other records of its name, and external-dns
    creates before it deletes (provider/pdns/pdns.go, ApplyChanges): one such name would hold up all changes."""
    created = {(_name(one), one["recordType"] == ALIAS) for one in changes["create"]}
    first = [one for one in changes["delete"] if (_name(one), one["recordType"] != ALIAS) in created]
    rest = [one for one in changes["delete"] if one not in first]
    parts = [{**changes, "delete": rest}]
    return [{kind: first if kind == "delete" else [] for kind in changes}, *parts] if first else parts


def _forget(contents: dict[str, dict[str, list[str]]], endpoint: Endpoint) -> bool:
    """Removes the answers of one name and type. Whether there were any."""
    return contents.get(_name(endpoint), {}).pop(endpoint["recordType"], None) is not None


def _parsed(content: str) -> Routing | None:
    """The routing that made a content; None for any other content."""
    kind, _, rest = content.partition(" ")
    code = "".join(re.findall(r'"([^"]*)"', rest))
    port = _PORT.search(code)
    weighted = [(address, int(weight)) for weight, address in _WEIGHT.findall(code)]
    targets = [address for address, _ in weighted]
    if port and not weighted:
        targets = [one.strip("'") for one in port[2].split(",")]
    found = Routing(kind, tuple(targets), tuple(n for _, n in weighted), int(port[1]) if port else 0)
    return found if targets and found.content() == content else None


def _weights(text: str, addresses: list[str], kind: str) -> tuple[int, ...]:
    found: dict[str, int] = {}
    for part in text.split(","):
        address, _, weight = part.strip().partition("=")
        if not (weight.isascii() and weight.isdigit() and 0 < int(weight) <= MAX_WEIGHT):
            raise ValueError(f"{WEIGHTS} must be ADDRESS=WEIGHT,..., with weights of 1 to {MAX_WEIGHT}")
        found[_address(address, kind)] = int(weight)
    if wrong := sorted(found.keys() ^ set(addresses)):
        raise ValueError(f"{WEIGHTS} must have each target once, {wrong[0]} is in one of both only")
    return tuple(found[one] for one in addresses)


def _address(text: str, kind: str) -> str:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        address = None
    # A scope, as in fe80::1%eth0, is free text.
    if address is None or address.version != VERSIONS[kind] or "%" in text:
        raise ValueError(f"a record of type {kind} requires IPv{VERSIONS[kind]} addresses")
    return str(address)


def _by_kind(record: Endpoint) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for content in record["targets"]:
        found.setdefault(content.partition(" ")[0], []).append(content)
    return found


def _name(endpoint: Endpoint) -> str:
    return str(endpoint["dnsName"]).lower()


def _key(endpoint: Endpoint) -> tuple[str, str]:
    return _name(endpoint), str(endpoint["recordType"])
