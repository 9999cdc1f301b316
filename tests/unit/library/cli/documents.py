"""A document of each kind, for several test modules."""

from __future__ import annotations

from typing import Any

from tests.unit.library.documents import CERTIFICATE

MEMBER = {"name": "east", "access": {"apiServer": "https://api.example.com:6443", "rootCertificateOwner": False}}
FEDERATION: dict[str, Any] = {
    "name": "shops",
    "domain": "shops.example.com",
    "peers": [
        {
            "mesh": "east",
            "gateway": {"address": "eastwest.east.example.com"},
            "exports": [
                {"namespace": "books", "service": "web", "port": 80, "to": [{"mesh": "west", "identities": ["a/b"]}]}
            ],
        },
        {
            "mesh": "west",
            "gateway": {"address": "192.0.2.1"},
            "imports": [{"meshes": ["east"], "namespace": "books", "service": "web"}],
        },
    ],
}
ENDPOINT = {
    "mesh": "demo",
    "host": "istiod.demo.example.com",
    "trustDomain": "demo.mesh.local",
    "clusterId": "demo",
    "istioVersion": "1.31.1",
    "rootCertificate": CERTIFICATE,
    "tags": ["prod"],
}
OFFER = {
    "federation": "shops",
    "mesh": "east",
    "services": [
        {
            "namespace": "books",
            "service": "web",
            "port": 80,
            "protocol": "HTTP",
            "host": "web.books.shops.example.com",
            "to": [{"mesh": "west", "identities": ["a/b"]}],
        }
    ],
}
STACK = {"config": {"hosted-mesh:stack": "access", "hosted-mesh:dataPlane": {"mesh": "demo", **MEMBER}}}
DEPLOYMENT: dict[str, Any] = {
    "name": "fleet",
    "template": {"revisions": [{"host": "istiod.{cluster}.example.com", "charts": {"version": "1.31.1"}}]},
    "clusters": [
        {
            "name": "berlin",
            "sourceRanges": ["203.0.113.0/24"],
            "labels": {"tier": "production"},
            "apiServer": "https://api.berlin.example.com:6443",
            "cluster": {"kubeconfig": "kubeconfig", "context": "x"},
        },
        {"name": "tokyo", "sourceRanges": ["2001:db8::/32"]},
    ],
    "overrides": [{"clusters": ["tokyo"], "crossNetwork": "gateways"}],
}
