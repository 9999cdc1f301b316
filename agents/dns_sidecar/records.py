"""Conversion between external-dns' records and DNSEndpoints, one object per DNS name. Pure functions."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]
Endpoint = dict[str, Any]
OWNER_LABEL = "hosted-mesh.io/dns-writer"
OWNER = "edge-writer"
"""Stays as it is: a new value would orphan the DNSEndpoints that exist on edges."""
SOURCE_ANNOTATION = "hosted-mesh.io/dns-source"
"""The object that has the name, for example `gateway/shop/web`."""
LABEL_PROPERTY = "webhook/"
"""external-dns converts the annotation `external-dns.alpha.kubernetes.io/webhook-view: inside` of a Gateway or another
source to the property `webhook/view`. It becomes the label `view: inside` of the DNSEndpoint."""
LABEL_KEY = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
LABEL_VALUE = re.compile(rf"({LABEL_KEY.pattern})?")
CHANGE_LISTS = ("create", "updateOld", "updateNew", "delete")
"""Lists of records in external-dns' changes."""


@dataclass(frozen=True)
class Write:
    """One request. verb: `create`, `replace` or `delete`."""

    verb: str
    item: Object


def endpoints_of(objects: Iterable[Object]) -> list[Endpoint]:
    """The records in all objects."""
    return [endpoint for item in objects for endpoint in item.get("spec", {}).get("endpoints") or []]


def affected_objects(changes: Mapping[str, Any]) -> set[str]:
    """Names of the objects that changes refer to."""
    return {object_name(one["dnsName"]) for part in CHANGE_LISTS for one in _records(changes, part)}


def required_writes(objects: Iterable[Object], changes: Mapping[str, Any], namespace: str) -> list[Write]:
    """The requests that apply changes. objects: at least the `affected_objects`.

    Idempotent: a second call, or a call after a partial success, leads to the same objects.
    """
    present = {item["metadata"]["name"]: item for item in objects}
    wanted = {name: {_key(one): one for one in endpoints_of([item])} for name, item in present.items()}
    for old in (*_records(changes, "delete"), *_records(changes, "updateOld")):
        wanted.get(object_name(old["dnsName"]), {}).pop(_key(old), None)
    for new in (*_records(changes, "create"), *_records(changes, "updateNew")):
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
            metadata = {**item["metadata"], "labels": labels_of(endpoints)}
            found.append(Write("replace", {**item, "metadata": metadata, "spec": {"endpoints": endpoints}}))
    return found


def labels_of(endpoints: Iterable[Endpoint]) -> dict[str, str]:
    """Labels of a DNSEndpoint, for `recordSelector`. Text that is no label is left out: it would block other records.

    A key has no prefix, so no annotation can set this program's own label.
    """
    found = {}
    for one in endpoints:
        for each in one.get("providerSpecific") or []:
            name, value = str(each.get("name", "")), str(each.get("value", ""))
            key = name.removeprefix(LABEL_PROPERTY)
            if name.startswith(LABEL_PROPERTY) and LABEL_KEY.fullmatch(key) and LABEL_VALUE.fullmatch(value):
                found[key] = value
    return {**found, OWNER_LABEL: OWNER}


def object_name(dns_name: str) -> str:
    """A readable Kubernetes name, unique per DNS name."""
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
            "labels": labels_of(endpoints),
            "annotations": {SOURCE_ANNOTATION: source},
        },
        "spec": {"endpoints": endpoints},
    }


def _key(endpoint: Endpoint) -> tuple[str, str, str]:
    return str(endpoint["dnsName"]), str(endpoint.get("recordType", "")), str(endpoint.get("setIdentifier", ""))


def _records(changes: Mapping[str, Any], part: str) -> list[Endpoint]:
    return [one for one in changes.get(part) or [] if one]
