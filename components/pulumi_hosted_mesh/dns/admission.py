"""Admission in the edge's own cluster: rejects a DNSEndpoint with a name outside the edge's zones when it is written.

This gives users an early error. It is no security boundary, because a compromised edge can disable it. The boundary is
the control plane's filter of names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pulumi_hosted_mesh.dns.rights import DNS_GROUP

NAME = "hosted-mesh-dns-zones"


def policy_spec(zones: Sequence[str]) -> dict[str, Any]:
    """`spec` of the ValidatingAdmissionPolicy. zones: the edge's permitted domains."""
    name = "e.dnsName.lowerAscii()"
    inside = " || ".join(f'{name} == "{zone}" || {name}.endsWith(".{zone}")' for zone in sorted(zones))
    within = f"has(e.dnsName) && ({inside})"
    return {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [DNS_GROUP],
                    "apiVersions": ["v1alpha1"],
                    "operations": ["CREATE", "UPDATE"],
                    "resources": ["dnsendpoints"],
                }
            ]
        },
        "validations": [
            {
                "expression": f"!has(object.spec.endpoints) || object.spec.endpoints.all(e, {within})",
                "message": f"every dnsName must lie within {', '.join(sorted(zones))}",
            }
        ],
    }


def binding_spec(writer_namespace: str) -> dict[str, Any]:
    """`spec` of its binding. It admits the bridge's own objects: their status has the reason of a rejected name."""
    selector = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [writer_namespace]}
    return {
        "policyName": NAME,
        "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": {"matchExpressions": [selector]}},
    }
