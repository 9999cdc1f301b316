"""external-dns' own DNSEndpoint (externaldns.k8s.io/v1alpha1, of v0.21.0), with conditions in its status.

A later external-dns will have these conditions too. Bounds for a TTL let the API server reject a wrong one at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NAME = "dnsendpoints.externaldns.k8s.io"
APPROVED = "https://github.com/kubernetes-sigs/external-dns/pull/2007"
LONGEST_TTL = 604800
_TEXT = {"type": "string"}
_TIME = {"type": "string", "format": "date-time"}
_NUMBER = {"type": "integer", "format": "int64"}
_ENDPOINT = {
    "dnsName": {**_TEXT, "description": "The hostname of the DNS record"},
    "labels": {"type": "object", "additionalProperties": _TEXT},
    "providerSpecific": {"type": "array", "items": {"type": "object", "properties": {"name": _TEXT, "value": _TEXT}}},
    "recordTTL": {**_NUMBER, "minimum": 0, "maximum": LONGEST_TTL, "description": "Seconds"},
    "recordType": {**_TEXT, "description": "A, AAAA, CNAME, TXT, SRV, ..."},
    "setIdentifier": {**_TEXT, "description": "Distinguishes records of one name and type"},
    "targets": {"type": "array", "items": _TEXT, "description": "The targets of the DNS record"},
}
_CONDITION = {
    "type": _TEXT,
    "status": {**_TEXT, "enum": ["True", "False", "Unknown"]},
    "reason": _TEXT,
    "message": _TEXT,
    "observedGeneration": _NUMBER,
    "lastTransitionTime": _TIME,
}


def metadata(labels: Mapping[str, str] | None = None) -> dict[str, Any]:
    """`metadata` of the CustomResourceDefinition. Its group is protected, so an annotation links the API approval."""
    marks = {"labels": dict(labels)} if labels else {}
    return {"name": NAME, "annotations": {"api-approved.kubernetes.io": APPROVED}, **marks}


def spec() -> dict[str, Any]:
    """`spec` of the CustomResourceDefinition."""
    return {
        "group": "externaldns.k8s.io",
        "names": {
            "kind": "DNSEndpoint",
            "listKind": "DNSEndpointList",
            "plural": "dnsendpoints",
            "singular": "dnsendpoint",
        },
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema()},
                "additionalPrinterColumns": [
                    _column("Accepted", '.status.conditions[?(@.type=="Accepted")].status'),
                    _column("Ready", '.status.conditions[?(@.type=="Ready")].status'),
                    _column("Reason", '.status.conditions[?(@.type=="Ready")].reason'),
                ],
            }
        ],
    }


def schema() -> dict[str, Any]:
    """Schema of a DNSEndpoint: the users' records, and their conditions."""
    endpoints = {"type": "array", "items": {"type": "object", "properties": _ENDPOINT}}
    conditions = {
        "type": "array",
        "items": {"type": "object", "properties": _CONDITION, "required": ["type", "status", "reason"]},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
    }
    return {
        "type": "object",
        "description": "Records of the DNS, published from the control plane",
        "properties": {
            "apiVersion": _TEXT,
            "kind": _TEXT,
            "metadata": {"type": "object"},
            "spec": {"type": "object", "properties": {"endpoints": endpoints}},
            "status": {"type": "object", "properties": {"observedGeneration": _NUMBER, "conditions": conditions}},
        },
    }


def _column(name: str, path: str) -> dict[str, str]:
    return {"name": name, "type": "string", "jsonPath": path}
