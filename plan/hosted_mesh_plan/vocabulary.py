"""Words that the policies share with the library: type tokens, labels, annotations.

A copy, not an import: the pack also judges programs without the library, and runs without it. A test compares both.
"""

from __future__ import annotations

from typing import Final

CONTROL_PLANE: Final = "control-plane"
DATA_PLANE: Final = "data-plane"
PROVIDER_NAME: Final = {CONTROL_PLANE: "control-plane-cluster", DATA_PLANE: "data-plane-cluster"}
"""Names of the cluster wrappers' providers, and first part of their `clusterIdentifier`."""

PREFIX: Final = "hosted-mesh.io"
MESH_LABEL: Final = f"{PREFIX}/mesh"
REVISION_LABEL: Final = "istio.io/rev"
EXTERNAL_DNS_HOSTNAME_ANNOTATION: Final = "external-dns.alpha.kubernetes.io/hostname"
CACERTS_SECRET: Final = "cacerts"  # noqa: S105 a name
AUTHORITY_SECRETS: Final = frozenset({CACERTS_SECRET, "istio-ca-secret"})
"""Secrets with the key of Istio's certificate authority: a supplied one, and one that istiod made."""
KUBECONFIG_SECRET: Final = "istio-kubeconfig"  # noqa: S105 a name

DECLASSIFY_ANNOTATION: Final = f"{PREFIX}/declassify"
"""On an object: `<property>: <reason>; ...`, public values made from a secret."""
DATA_PLANE_OWNED_ANNOTATION: Final = f"{PREFIX}/data-plane-owned"
"""On an object: the reason that its credentials are the data plane's own; also on a Secret of the control plane."""
ISSUED_LOGIN_ANNOTATION: Final = f"{PREFIX}/issued-login"
"""On a Secret of a data plane: `<Type>:<name>: <reason>; ...`, resources that are logins of its tenant."""
ACCEPT_ANNOTATION: Final = f"{PREFIX}/accept"
"""On an object: `<policy>: <reason>; ...`, accepted verdicts of those policies."""
OPEN_TO_ALL_ANNOTATION: Final = f"{PREFIX}/open-to-all"
"""On a Service: the reason that all addresses may connect."""

PACKAGE: Final = "hosted-mesh"
ANALYSIS_VARIABLE: Final = "HOSTED_MESH_ANALYSIS"
"""Set in the environment of programs that `hosted-mesh prove` and `hosted-mesh diff` run: they write nothing."""
TYPE_EXTERNAL_CONTROL_PLANE: Final = f"{PACKAGE}:index:ExternalControlPlane"
TYPE_ISTIOD: Final = f"{PACKAGE}:index:IstiodRevision"
TYPE_REMOTE_DATA_PLANE: Final = f"{PACKAGE}:index:RemoteDataPlane"
TYPE_APPLICATION_DEPLOYMENT: Final = f"{PACKAGE}:index:ApplicationDeployment"
TYPE_MESH_FEDERATION: Final = f"{PACKAGE}:index:MeshFederation"
TYPE_OPERATORS_CONTROL_PLANE: Final = f"{PACKAGE}:index:OperatorsControlPlane"
TYPE_OPERATORS_DATA_PLANE: Final = f"{PACKAGE}:index:OperatorsDataPlane"
CONTROL_PLANE_TYPES: Final = frozenset(
    {
        f"{PACKAGE}:index:MeshRoot",
        f"{PACKAGE}:index:MeshTrust",
        f"{PACKAGE}:index:ExternalDNSBridge",
        f"{PACKAGE}:index:MeshObservability",
        f"{PACKAGE}:index:SharedGateway",
        f"{PACKAGE}:index:RevisionGuard",
        TYPE_OPERATORS_CONTROL_PLANE,
        TYPE_EXTERNAL_CONTROL_PLANE,
        TYPE_ISTIOD,
        TYPE_MESH_FEDERATION,
    }
)
"""Components whose resources, keys included, are the control plane's."""
DATA_PLANE_TYPES: Final = frozenset(
    {
        TYPE_APPLICATION_DEPLOYMENT,
        f"{PACKAGE}:index:DataPlaneAccess",
        f"{PACKAGE}:index:DataPlaneCrds",
        f"{PACKAGE}:index:DnsEdge",
        TYPE_OPERATORS_DATA_PLANE,
        f"{PACKAGE}:index:TrafficIntents",
        TYPE_REMOTE_DATA_PLANE,
    }
)
"""Components whose resources are the data plane's."""
