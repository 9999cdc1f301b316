"""Rights of OLM's accounts in the hosted cluster, as seen in a trial of OLM v0.38.0 and granted one by one.

OLM grants operators their own rights, so both operators have `escalate` and `bind`: the holder of a token of theirs can
become administrator of that hosted cluster. So each token is in one Secret, mounted into one Pod.
Left out on purpose: nodes, persistent volumes, `impersonate`, tokens of ServiceAccounts, and objects of operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pulumi_hosted_mesh.spec.features import Rule

OLM: Final = "operators.coreos.com"
RBAC: Final = "rbac.authorization.k8s.io"
READ: Final = ("get", "list", "watch")
MANAGE: Final = (*READ, "create", "update", "patch", "delete")
ALL: Final = (*MANAGE, "deletecollection")
GRANT: Final = (*ALL, "escalate", "bind")
STATUS: Final = ("get", "update", "patch")
ROLES: Final = ("roles", "rolebindings", "clusterroles", "clusterrolebindings")
CRDS: Final = "customresourcedefinitions"
KINDS: Final = (
    "catalogsources",
    "clusterserviceversions",
    "installplans",
    "olmconfigs",
    "operatorconditions",
    "operatorgroups",
    "operators",
    "subscriptions",
)
_OWN_OBJECTS: Final = (
    Rule(OLM, KINDS, ALL),
    Rule(OLM, tuple(f"{kind}/status" for kind in KINDS), STATUS),
    Rule(OLM, tuple(f"{kind}/finalizers" for kind in KINDS), ("update",)),
    Rule("", ("events",), ("create", "patch", "list")),
)

OLM_OPERATOR: Final = (
    *_OWN_OBJECTS,
    # Installs a CSV's Deployments, and the Services and certificates of its webhooks and aggregated APIs.
    Rule("apps", ("deployments",), ALL),
    Rule("", ("services", "secrets", "serviceaccounts", "configmaps"), ALL),
    Rule(RBAC, ROLES, GRANT),
    Rule("apiregistration.k8s.io", ("apiservices",), ALL),
    Rule("admissionregistration.k8s.io", ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"), ALL),
    # Conversion webhooks, and labels that tie a definition to its operator.
    Rule("apiextensions.k8s.io", (CRDS,), (*READ, "update", "patch")),
    # Labels on the namespaces of an OperatorGroup.
    Rule("", ("namespaces",), (*READ, "update", "patch")),
)

CATALOG_OPERATOR: Final = (
    *_OWN_OBJECTS,
    # A user's catalog runs as a Pod beside its CatalogSource, and a bundle's image is unpacked by a Job.
    Rule("", ("pods", "services", "serviceaccounts", "configmaps", "secrets"), ALL),
    Rule("batch", ("jobs",), ALL),
    Rule("networking.k8s.io", ("networkpolicies",), ALL),
    # Steps of an InstallPlan.
    Rule("apiextensions.k8s.io", (CRDS,), MANAGE),
    Rule(RBAC, ROLES, GRANT),
    Rule("", ("namespaces",), READ),
    Rule("policy", ("poddisruptionbudgets",), MANAGE),
    Rule("scheduling.k8s.io", ("priorityclasses",), MANAGE),
)

PACKAGE_SERVER: Final = (
    Rule(OLM, ("catalogsources", "olmconfigs"), READ),
    # Delegated authentication and authorization: the hosted cluster's API server answers.
    Rule("authentication.k8s.io", ("tokenreviews",), ("create",)),
    Rule("authorization.k8s.io", ("subjectaccessreviews",), ("create",)),
)

TUNNEL: Final = (
    # The server verifies the agent's token: the hosted cluster's API server answers.
    Rule("authentication.k8s.io", ("tokenreviews",), ("create",)),
)


def catalog_operator(operand_groups: Sequence[str]) -> list[Rule]:
    """catalog-operator's rules. operand_groups: API groups of operands, which it lists before an upgrade of their
    definitions."""
    return [*CATALOG_OPERATOR, *(Rule(group, ("*",), ("list",)) for group in operand_groups)]


# Rights of the hosted cluster's users, from OLM's own chart (09-aggregated.clusterrole.yaml).
_TO: Final = "rbac.authorization.k8s.io/aggregate-to-"
EDIT_LABELS: Final = {f"{_TO}admin": "true", f"{_TO}edit": "true"}
VIEW_LABELS: Final = {**EDIT_LABELS, f"{_TO}view": "true"}
EDIT: Final = (
    Rule(OLM, ("subscriptions",), ("create", "update", "patch", "delete")),
    Rule(OLM, ("clusterserviceversions", "catalogsources", "installplans", "subscriptions"), ("delete",)),
)
VIEW: Final = (
    Rule(OLM, ("clusterserviceversions", "catalogsources", "installplans", "subscriptions", "operatorgroups"), READ),
    Rule("packages.operators.coreos.com", ("packagemanifests", "packagemanifests/icon"), READ),
)
