"""Documents of hosted operators."""

from __future__ import annotations

import json
from typing import Any

from tests.support.authorities import Authority
from tests.unit.library.clusters.kubeconfigs import administrators

CONTENT = "\n---\n".join(
    json.dumps(one)
    for one in (
        {"schema": "olm.package", "name": "etcd", "defaultChannel": "stable"},
        {"schema": "olm.channel", "package": "etcd", "name": "stable", "entries": [{"name": "etcd.v1.0.0"}]},
        {"schema": "olm.channel", "package": "etcd", "name": "fast", "entries": [{"name": "etcd.v1.1.0"}]},
    )
)


def document(**fields: Any) -> dict[str, Any]:
    """A document with one catalog of one package, and a Subscription for it."""
    return {
        "name": "north",
        "apiServer": "https://api.north.example.com:6443",
        "version": "1.36",
        "packageServer": {"host": "packages.north.example.com", "sourceRanges": ["203.0.113.7/32"]},
        "networkPolicy": {"apiServerRanges": ["203.0.113.7/32"]},
        "placement": {"nodeSelector": {"pool": "operators"}, "tolerations": [{"key": "pool", "effect": "NoSchedule"}]},
        "catalogs": [{"name": "provider", "content": CONTENT}],
        "subscriptions": [{"name": "etcd", "catalog": "provider", "channel": "stable"}],
        **fields,
    }


def kubeconfig(name: str) -> str:
    """A kubeconfig of an administrator. name: of the cluster."""
    return administrators(name, Authority(name))
