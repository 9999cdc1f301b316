"""Admission in the edge's own cluster: a DNSEndpoint of a name outside its zones is refused when it is written.

A convenience for honest users, who are told at once: a compromised edge switches it off. The boundary is the control
plane's filter of names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pulumi_hosted_mesh.dns.rights import DNS_GROUP

NAME = "hosted-mesh-dns-zones"


def policy_spec(zones: Sequence[str]) -> dict[str, Any]:
    """`spec` of the ValidatingAdmissionPolicy. zones: domains in which the edge may publish."""
    inside = " || ".join(f'e.dnsName == "{zone}" || e.dnsName.endsWith(".{zone}")' for zone in sorted(zones))
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
    """`spec` of its binding. What the bridge itself makes is let in: its status tells why it is not published."""
    selector = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [writer_namespace]}
    return {
        "policyName": NAME,
        "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": {"matchExpressions": [selector]}},
    }
