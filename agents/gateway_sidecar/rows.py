"""A row: one host of one mesh, from the ConfigMap with the host's name. Pure.

The API server permits one object of a name, so a host has one owner. All other fields are judged here again, since a
row comes from another program.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from .settings import Settings

KEY: Final = "row"
"""The key in the ConfigMap."""
VERSION: Final = 1
TARGETS: Final = {"xds": 15012, "webhooks": 443}
"""Ports of istiod's Service by name."""
MOST: Final = 100_000
LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
FIELDS: Final = frozenset(
    {
        "version",
        "tenant",
        "mesh",
        "revision",
        "routes",
        "sourceRanges",
        "openToAll",
        "connections",
        "newConnectionsPerSecond",
    }
)


class RowError(ValueError):
    """A row is rejected; the text is the reason."""


@dataclass(frozen=True, order=True)
class Row:
    """A host, and the istiod behind it. routes: target by public port. ranges: admitted clients; empty admits all."""

    host: str
    mesh: str
    revision: str
    routes: tuple[tuple[int, str], ...]
    ranges: tuple[str, ...]
    connections: int
    connections_per_second: int
    tenant: str = ""

    @property
    def service(self) -> str:
        """Name of istiod's Service and its namespace. A row cannot name another one."""
        name = "istiod" if self.revision == "default" else f"istiod-{self.revision}"
        return f"{name}.{f'tenant-{self.tenant}--' if self.tenant else 'mesh-'}{self.mesh}.svc"

    @property
    def owner(self) -> str:
        """The mesh with its tenant: unique in the cluster."""
        return f"{self.tenant}--{self.mesh}" if self.tenant else self.mesh


def rows_of(config_maps: Iterable[Mapping[str, Any]], settings: Settings) -> tuple[tuple[Row, ...], dict[str, str]]:
    """The rows of ConfigMaps, by host, and the reasons of rejected ones, by name."""
    rows, rejected = [], dict[str, str]()
    for one in config_maps:
        name = str(one["metadata"]["name"])
        try:
            rows.append(row_of(name, one.get("data") or {}, settings))
        except RowError as error:
            rejected[name] = str(error)
    return tuple(sorted(rows)), rejected


def row_of(name: str, data: Mapping[str, str], settings: Settings) -> Row:
    """The row of a ConfigMap. Raises RowError."""
    _require_host(name, settings)
    try:
        given = json.loads(data[KEY])
    except (KeyError, ValueError):
        raise RowError(f"has no JSON under {KEY}") from None
    if not isinstance(given, dict) or set(given) - FIELDS or given.get("version") != VERSION:
        raise RowError("is a row of another version")
    return Row(
        host=name,
        mesh=_label(given, "mesh"),
        revision=_label(given, "revision"),
        routes=_routes(given.get("routes"), settings),
        ranges=_ranges(given),
        connections=_number(given, "connections"),
        connections_per_second=_number(given, "newConnectionsPerSecond"),
        tenant=_tenant(given),
    )


def _require_host(host: str, settings: Settings) -> None:
    labels = host.split(".")
    if len(host) > 253 or not all(LABEL.fullmatch(one) for one in labels):
        raise RowError("is no host name")
    if not any(host.endswith(f".{zone}") for zone in settings.zones):
        raise RowError("is outside of the gateway's zones")


def _label(given: Mapping[str, Any], field: str) -> str:
    value = given.get(field)
    if not isinstance(value, str) or not LABEL.fullmatch(value):
        raise RowError(f"has no valid {field}")
    return value


def _tenant(given: Mapping[str, Any]) -> str:
    """The tenant; empty without one. It has no `--`, so two pairs of tenant and mesh never make one namespace."""
    if "tenant" not in given:
        return ""
    found = _label(given, "tenant")
    if "--" in found:
        raise RowError("has no valid tenant")
    return found


def _routes(given: Any, settings: Settings) -> tuple[tuple[int, str], ...]:
    if not isinstance(given, dict) or not given:
        raise RowError("has no routes")
    for port, target in given.items():
        if not port.isdecimal() or int(port) not in settings.listeners:
            raise RowError("has a port without a listener")
        if target not in TARGETS:
            raise RowError("has an unknown target")
    return tuple(sorted((int(port), target) for port, target in given.items()))


def _ranges(given: Mapping[str, Any]) -> tuple[str, ...]:
    ranges, open_to_all = given.get("sourceRanges", []), given.get("openToAll", False)
    if not isinstance(ranges, list) or not isinstance(open_to_all, bool) or bool(ranges) == open_to_all:
        raise RowError("must have either sourceRanges or openToAll")
    try:
        return tuple(sorted(str(ipaddress.ip_network(one)) for one in ranges))
    except ValueError:
        raise RowError("has an invalid range") from None


def _number(given: Mapping[str, Any], field: str) -> int:
    value = given.get(field)
    if type(value) is not int or not 0 < value <= MOST:
        raise RowError(f"has no valid {field}")
    return value
