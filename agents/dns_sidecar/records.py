"""From external-dns' records to DNSEndpoints and back: an object for each name. Pure functions."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]
Endpoint = dict[str, Any]
MADE_LABEL = "hosted-mesh.io/dns-writer"
MADE = "edge-writer"
RESOURCE_ANNOTATION = "hosted-mesh.io/dns-source"
"""What the name was found in, `gateway/shop/web`."""


@dataclass(frozen=True)
class Write:
    """One request: `create`, `replace` or `delete`."""

    verb: str
    item: Object


def endpoints_of(objects: Iterable[Object]) -> list[Endpoint]:
    """The records that objects hold."""
    return [endpoint for item in objects for endpoint in item.get("spec", {}).get("endpoints") or []]


def touched(changes: Mapping[str, Any]) -> set[str]:
    """Names of the objects that changes are about."""
    parts = ("create", "updateOld", "updateNew", "delete")
    return {object_name(one["dnsName"]) for part in parts for one in _part(changes, part)}


def writes(objects: Iterable[Object], changes: Mapping[str, Any], namespace: str) -> list[Write]:
    """What makes the changes true. objects: those that are `touched`, or more.

    Run twice, or after half of it was done, it comes to the same."""
    present = {item["metadata"]["name"]: item for item in objects}
    wanted = {name: {_key(one): one for one in endpoints_of([item])} for name, item in present.items()}
    for gone in (*_part(changes, "delete"), *_part(changes, "updateOld")):
        wanted.get(object_name(gone["dnsName"]), {}).pop(_key(gone), None)
    for new in (*_part(changes, "create"), *_part(changes, "updateNew")):
        wanted.setdefault(object_name(new["dnsName"]), {})[_key(new)] = new
    found = []
    for name, by_key in sorted(wanted.items()):
        endpoints = [by_key[key] for key in sorted(by_key)]
        item = present.get(name)
        if item is None:
            if endpoints:
                found.append(Write("create", _object(name, namespace, endpoints)))
        elif not endpoints:
            found.append(Write("delete", item))
        elif endpoints != endpoints_of([item]):
            found.append(Write("replace", {**item, "spec": {"endpoints": endpoints}}))
    return found


def object_name(dns_name: str) -> str:
    """A name for Kubernetes that people recognise; no two DNS names have the same."""
    readable = re.sub(r"[^a-z0-9-]+", "-", dns_name.lower().replace("*", "any"))[:50].strip("-")
    return f"{readable}-{hashlib.sha256(dns_name.encode()).hexdigest()[:10]}".lstrip("-")


def _object(name: str, namespace: str, endpoints: list[Endpoint]) -> Object:
    source = str((endpoints[0].get("labels") or {}).get("resource", ""))
    return {
        "apiVersion": "externaldns.k8s.io/v1alpha1",
        "kind": "DNSEndpoint",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {MADE_LABEL: MADE},
            "annotations": {RESOURCE_ANNOTATION: source},
        },
        "spec": {"endpoints": endpoints},
    }


def _key(endpoint: Endpoint) -> tuple[str, str, str]:
    return str(endpoint["dnsName"]), str(endpoint.get("recordType", "")), str(endpoint.get("setIdentifier", ""))


def _part(changes: Mapping[str, Any], name: str) -> list[Endpoint]:
    return [one for one in changes.get(name) or [] if one]
