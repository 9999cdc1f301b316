"""The fields of a DNSEndpoint's record that reach external-dns. Pure functions.

Zone filters compare a record's name only. Some providers derive further names from other fields: external-dns' CoreDNS
provider writes `labels` below the name (provider/coredns/coredns.go, createServicesForEndpoint), which can be a zone
excluded from the edge's zones. Its Cloudflare provider creates custom host names from `providerSpecific`.
"""

from __future__ import annotations

from typing import Any

from .powerdns import PROPERTIES
from .records import LABEL_PROPERTY

Endpoint = dict[str, Any]
FIELDS = ("dnsName", "recordType", "recordTTL", "setIdentifier", "targets")
CLOUDFLARE_PROXIED = "external-dns.alpha.kubernetes.io/cloudflare-proxied"
FROM_ANNOTATION = {f"{LABEL_PROPERTY}aws-": "aws/", f"{LABEL_PROPERTY}powerdns-": "powerdns/"}
"""Routing of a Gateway or Service: the annotation `external-dns.alpha.kubernetes.io/webhook-aws-weight`, and others."""
INTERNAL_LABELS = ("owner", "resource")
"""Labels that external-dns sets in the bridge's own records. They are removed without a report."""


def permitted(endpoint: Endpoint) -> Endpoint:
    """The record with permitted fields only, and its name in lower case.

    The list of fields excludes fields of later external-dns versions. external-dns compares names in lower case and
    writes them as they are; CoreDNS finds no key in upper case.
    """
    properties = [_for_webhook(one) for one in endpoint.get("providerSpecific") or [] if _is_permitted(one)]
    kept = {name: endpoint[name] for name in FIELDS if name in endpoint}
    if isinstance(kept.get("dnsName"), str):
        kept["dnsName"] = kept["dnsName"].lower()
    return {**kept, "providerSpecific": properties} if properties else kept


def removed_fields(endpoint: Endpoint) -> list[str]:
    """The user's fields that `permitted` removes."""
    labels = ["labels"] if set(endpoint.get("labels") or {}) - {*INTERNAL_LABELS} else []
    properties = endpoint.get("providerSpecific") or []
    omitted = {str(one.get("name", "")) for one in properties if not _is_permitted(one)}
    return labels + sorted(name for name in omitted if not name.startswith(LABEL_PROPERTY))


def for_provider(endpoint: Endpoint) -> Endpoint:
    """The record with the provider's own names of properties, without the prefix of `permitted`."""
    properties = [
        {**one, "name": _without_prefix(str(one.get("name", "")))} for one in endpoint.get("providerSpecific") or []
    ]
    return {**endpoint, "providerSpecific": properties} if properties else endpoint


def _is_permitted(one: dict[str, str]) -> bool:
    """Routing of Route 53 and PowerDNS and Cloudflare's proxy change the answer for the record's own name only."""
    name = _own_name(one.get("name", ""))
    return name in ("alias", CLOUDFLARE_PROXIED, *PROPERTIES) or name.startswith("aws/")


def _for_webhook(one: dict[str, str]) -> dict[str, str]:
    """A property with the prefix that external-dns requires.

    With `--provider=webhook` it drops all properties with a slash and another prefix (endpoint.go,
    RetainProviderProperties), so those of Route 53 and Cloudflare too.
    """
    name = _own_name(one["name"])
    return {**one, "name": f"{LABEL_PROPERTY}{name}" if "/" in name else name}


def _own_name(name: str) -> str:
    """The provider's name of a property from an annotation; any other name unchanged."""
    for prefix, own in FROM_ANNOTATION.items():
        if name.startswith(prefix):
            return f"{own}{name.removeprefix(prefix)}"
    return name


def _without_prefix(name: str) -> str:
    rest = name.removeprefix(LABEL_PROPERTY)
    return rest if _is_permitted({"name": rest}) else name
