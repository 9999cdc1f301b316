"""What of a DNSEndpoint's records external-dns is told. Pure functions.

Zones are filtered by a record's name. Some providers take other names from the rest of it: external-dns' CoreDNS
provider writes what `labels` say below the name (provider/coredns/coredns.go, createServicesForEndpoint), which may be
a zone that is cut out of the edge's, and its Cloudflare provider makes custom host names of `providerSpecific`.
"""

from __future__ import annotations

from typing import Any

Endpoint = dict[str, Any]
FIELDS = ("dnsName", "recordType", "recordTTL", "setIdentifier", "targets")
CLOUDFLARE_PROXIED = "external-dns.alpha.kubernetes.io/cloudflare-proxied"
NOTES = ("owner", "resource")
"""Labels that external-dns itself notes in what the bridge makes: not passed either, and nobody misses them."""


def passed(endpoint: Endpoint) -> Endpoint:
    """A record with what it may say. Fields are listed, so that one which external-dns learns later is not passed."""
    properties = [one for one in endpoint.get("providerSpecific") or [] if _may_pass(one)]
    told = {name: endpoint[name] for name in FIELDS if name in endpoint}
    return {**told, "providerSpecific": properties} if properties else told


def not_passed(endpoint: Endpoint) -> list[str]:
    """What a user wrote into a record and external-dns is not told."""
    labels = ["labels"] if set(endpoint.get("labels") or {}) - {*NOTES} else []
    properties = endpoint.get("providerSpecific") or []
    return labels + sorted({str(one.get("name", "")) for one in properties if not _may_pass(one)})


def _may_pass(one: dict[str, str]) -> bool:
    """Route 53's routing and Cloudflare's proxy change what is answered for a name, and for no other one."""
    name = one.get("name", "")
    return name in ("alias", CLOUDFLARE_PROXIED) or name.startswith("aws/")
