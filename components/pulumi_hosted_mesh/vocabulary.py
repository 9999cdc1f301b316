"""Labels, annotations, type tokens, roles, ports and names of the library.

`hosted_mesh_plan/vocabulary.py` has a copy of some, because the pack runs without the library. A test compares the two.
"""

from __future__ import annotations

from typing import Final

# Roles. A cluster, a stack and an object have one of these two.
CONTROL_PLANE: Final = "control-plane"
DATA_PLANE: Final = "data-plane"

# Labels on all objects of the library. MESH selects a mesh's objects in a cluster.
PREFIX: Final = "hosted-mesh.io"
MESH_LABEL: Final = f"{PREFIX}/mesh"
ROLE_LABEL: Final = f"{PREFIX}/role"
MANAGED_BY_LABEL: Final = f"{PREFIX}/managed-by"
MANAGED_BY: Final = "hosted-mesh"
APPLICATION_LABEL: Final = f"{PREFIX}/application"
FEDERATION_LABEL: Final = f"{PREFIX}/federation"
"""On a federation's objects in a mesh; its value is the federation's name."""
PEERS_ANNOTATION: Final = f"{PREFIX}/peers"
"""On objects of imports: the exporting meshes, separated by commas."""
DNS_EDGE_LABEL: Final = f"{PREFIX}/dns-edge"
DNS_PROVIDER_LABEL: Final = f"{PREFIX}/dns-provider"
DNS_RECORDS_LABEL: Final = f"{PREFIX}/dns-handover"
"""On a publisher's Lease: an identifier of its records. Two Leases with one value hand these records over."""
GATEWAY_HOST_LABEL: Final = f"{PREFIX}/gateway-host"
"""On the shared gateway's ConfigMaps with a host of a mesh: `true`."""
HOSTED_CLUSTER_LABEL: Final = f"{PREFIX}/hosted-cluster"
"""On objects of hosted operators; its value is the hosted cluster's name."""
TENANT_LABEL: Final = f"{PREFIX}/tenant"
"""On objects of a mesh on the control plane, if its document has a tenant."""
PROJECT_LABEL: Final = f"{PREFIX}/project"
LOCATION_LABEL: Final = f"{PREFIX}/location"

# Annotations.
KUBECONFIG_DIGEST_ANNOTATION: Final = f"{PREFIX}/kubeconfig-digest"
"""On istiod's Pods: SHA-256 of the first membership's kubeconfig at their start. A hash of a secret, not a secret."""
ROOT_DIGEST_ANNOTATION: Final = f"{PREFIX}/root-certificate-digest"
"""On istiod's Pods: SHA-256 of the mesh's root certificate at their start."""
EXTERNAL_DNS_HOSTNAME_ANNOTATION: Final = "external-dns.alpha.kubernetes.io/hostname"
ACCEPT_ANNOTATION: Final = f"{PREFIX}/accept"
"""On an object: `<policy>: <reason>`, an accepted verdict of the policies."""
OPEN_TO_ALL_ANNOTATION: Final = f"{PREFIX}/open-to-all"
"""On the exposed Service if the document lets every address connect; the policies require it."""
READ_AT_START_ANNOTATION: Final = f"{PREFIX}/read-at-start"
"""On Pods of the DNS bridge and of OLM: versions of the Secrets and ConfigMaps at their start."""
HOSTED_VERSION_ANNOTATION: Final = f"{PREFIX}/hosted-cluster-version"
"""On the namespace of hosted operators: the hosted cluster's version of Kubernetes, for the upgrade gate."""
HOSTED_REVISION_ANNOTATION: Final = f"{PREFIX}/hosted-cluster-mesh-revision"
"""On the same: the mesh's revision that operators depend on."""
GENERATION_ANNOTATION: Final = f"{PREFIX}/endpoint-generation"
"""On webhook configurations: the generation of the endpoint that they were made from."""
WEBHOOK_SETTINGS_ANNOTATION: Final = f"{PREFIX}/webhook-settings"
"""On webhook configurations: the failure policy and the timeout of the document, so that doctor detects others."""
SKIP_AWAIT_ANNOTATION: Final = "pulumi.com/skipAwait"
WAIT_FOR_ANNOTATION: Final = "pulumi.com/waitFor"
PATCH_FORCE_ANNOTATION: Final = "pulumi.com/patchForce"
MOVED_FROM_ANNOTATION: Final = f"{PREFIX}/moved-from"
"""On a Namespace: the label that chose its revision before `hosted-mesh move`, `istio-injection=enabled`."""
REMOVE_IN_USE_ANNOTATION: Final = f"{PREFIX}/remove-in-use"
"""On istiod's Deployment: the reason to remove it although proxies are connected."""
STACK_ANNOTATION: Final = f"{PREFIX}/stack"
"""On a Namespace: the project and stack that made it, `PROJECT/STACK`."""
TOKEN_EXPIRY_ANNOTATION: Final = f"{PREFIX}/token-expires"
"""On a Secret with istiod's token: `never`, so that a plan shows it."""

# Istio's own labels and values.
REVISION_LABEL: Final = "istio.io/rev"
INJECTION_LABEL: Final = "istio-injection"
DEFAULT_REVISION: Final = "default"
DEFAULT_MEMBERSHIP: Final = "default"
"""A mesh's only cluster needs no name."""
DEFAULT_TAG: Final = "default"
"""The tag whose revision serves namespaces labelled `istio-injection: enabled`."""
XDS_PORT: Final = 15012
WEBHOOK_PORT: Final = 15017
MONITORING_PORT: Final = 15014
HTTPS_PORT: Final = 443
COLLECTOR_PORT: Final = 15018
"""Port of the metrics collector, mTLS."""
DEBUG_PROXY_PORT: Final = 15019
"""Port of the debug proxy for istioctl, TLS."""
COLLECTOR_PROVIDER: Final = "hosted-mesh-collector"
"""Name of the collector among Istio's extension providers, for access logs."""
TRACES_PROVIDER: Final = "hosted-mesh-traces"
"""Name of the collector among Istio's extension providers, for traces."""
NAMESPACE_NAME_LABEL: Final = "kubernetes.io/metadata.name"
TAG_LABEL: Final = "istio.io/tag"
NETWORK_LABEL: Final = "topology.istio.io/network"
GATEWAY_PORT_LABEL: Final = "networking.istio.io/gatewayPort"
EAST_WEST_PORT: Final = 15443
"""Port of east-west gateways."""
CONTROL_PLANE_CLUSTERS_ANNOTATION: Final = "topology.istio.io/controlPlaneClusters"

# Secrets on the control plane, with the names in the istiod chart.
CACERTS_SECRET: Final = "cacerts"  # noqa: S105 (a name)
KUBECONFIG_SECRET: Final = "istio-kubeconfig"  # noqa: S105 (a name)
REMOTE_CLUSTERS_SECRET: Final = "istio-remote-kubeconfigs"  # noqa: S105 (a name)
KUBECONFIG_KEY: Final = "config"
CACERTS_PRIVATE_KEY: Final = "ca-key.pem"

# Type tokens of the components. Resources below a MeshTrust or a MeshRoot are sources of control-plane secrets.
PACKAGE: Final = "hosted-mesh"
ANALYSIS_VARIABLE: Final = "HOSTED_MESH_ANALYSIS"
"""Set in the environment of programs that `hosted-mesh prove` and `hosted-mesh diff` run: they write nothing."""
ADOPT_VARIABLE: Final = "HOSTED_MESH_ADOPT"
"""Set for a run that adopts objects which an earlier run of the stack left, and its state lacks."""
PYTHON_IMAGE: Final = (
    "docker.io/library/python:3.13.15-slim-trixie"
    "@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b"
)
"""The image that runs an agent's source from a ConfigMap; also in FROM of the agents' Dockerfiles."""
TYPE_MESH_ROOT: Final = f"{PACKAGE}:index:MeshRoot"
TYPE_MESH_TRUST: Final = f"{PACKAGE}:index:MeshTrust"
TYPE_DATA_PLANE_ACCESS: Final = f"{PACKAGE}:index:DataPlaneAccess"
TYPE_DATA_PLANE_CRDS: Final = f"{PACKAGE}:index:DataPlaneCrds"
TYPE_EXTERNAL_CONTROL_PLANE: Final = f"{PACKAGE}:index:ExternalControlPlane"
TYPE_REMOTE_DATA_PLANE: Final = f"{PACKAGE}:index:RemoteDataPlane"
TYPE_ISTIOD: Final = f"{PACKAGE}:index:IstiodRevision"
TYPE_REVISION_GUARD: Final = f"{PACKAGE}:index:RevisionGuard"
TYPE_MESH_FEDERATION: Final = f"{PACKAGE}:index:MeshFederation"
TYPE_HOSTED_MESH: Final = f"{PACKAGE}:index:HostedMesh"
TYPE_MESH_DEPLOYMENT: Final = f"{PACKAGE}:index:MeshDeployment"
TYPE_APPLICATION_DEPLOYMENT: Final = f"{PACKAGE}:index:ApplicationDeployment"
TYPE_TRAFFIC_INTENTS: Final = f"{PACKAGE}:index:TrafficIntents"
TYPE_DNS_EDGE: Final = f"{PACKAGE}:index:DnsEdge"
TYPE_SHARED_GATEWAY: Final = f"{PACKAGE}:index:SharedGateway"
TYPE_EXTERNAL_DNS_BRIDGE: Final = f"{PACKAGE}:index:ExternalDNSBridge"
TYPE_MESH_OBSERVABILITY: Final = f"{PACKAGE}:index:MeshObservability"
TYPE_HOSTED_OPERATORS: Final = f"{PACKAGE}:index:HostedOperators"
TYPE_OPERATORS_CONTROL_PLANE: Final = f"{PACKAGE}:index:OperatorsControlPlane"
TYPE_OPERATORS_DATA_PLANE: Final = f"{PACKAGE}:index:OperatorsDataPlane"
"""Parents of the two sides' objects in HostedOperators."""

POD_SECURITY: Final = {"pod-security.kubernetes.io/enforce": "restricted"}
"""Labels of a Namespace with restricted Pods only."""
GATEWAY_POD_LABELS: Final = {"app.kubernetes.io/name": "shared-gateway"}
"""On the Pods of the shared gateway; NetworkPolicies of meshes select them."""
DNS_NAMESPACE: Final = "hosted-mesh-dns"
"""Namespace on an edge, for the DNS bridge's accounts and its DNSEndpoints."""
CONTROL_PLANE_RECORDS: Final = "control-plane"
"""In names of the publishers of the program's own records, in place of the edge's name."""

# Provider resources are named by role, so that a plan shows each resource's cluster.
PROVIDER_NAME: Final = {CONTROL_PLANE: "control-plane-cluster", DATA_PLANE: "data-plane-cluster"}


def managed_labels(role: str) -> dict[str, str]:
    """The ownership labels of an object that belongs to no mesh."""
    return {MANAGED_BY_LABEL: MANAGED_BY, ROLE_LABEL: role}


def labels(mesh: str, role: str) -> dict[str, str]:
    """The ownership labels of one object."""
    return {MANAGED_BY_LABEL: MANAGED_BY, MESH_LABEL: mesh, ROLE_LABEL: role}


def tenant_labels(tenant: str | None) -> dict[str, str]:
    """The label of a tenant's objects on the control plane; none without a tenant."""
    return {} if tenant is None else {TENANT_LABEL: tenant}


def root_certificate_config_map(mesh: str) -> str:
    """Name of the ConfigMap with the mesh's public root certificate, in every namespace of the data plane.

    Istio's own name, `istio-ca-root-cert`, would conflict between two meshes in one cluster.
    """
    return f"istio-ca-root-cert-{mesh}"


def revocation_list_config_map(mesh: str) -> str:
    """Name of the ConfigMap with the mesh's certificate revocation list."""
    return f"istio-ca-crl-{mesh}"


def remote_kubeconfig_key(membership: str) -> str:
    """Key of a further member's kubeconfig, in the Secret of all further members."""
    return f"{membership}.yaml"


def dns_publisher(edge: str, provider: str) -> str:
    """Name of the Deployment and Lease that publish an edge's names by a provider, and a label of its Pods."""
    return f"dns-publisher-{edge}-{provider}"


def chart_revision(revision: str) -> str:
    """A revision as Istio's charts require it: empty for the default one."""
    return "" if revision == DEFAULT_REVISION else revision


def suffixed(name: str, suffix: str, without: str = "default") -> str:
    """`name-suffix`; the name alone for the default suffix."""
    return name if suffix == without else f"{name}-{suffix}"


def cluster_id_of(mesh: str, membership: str) -> str:
    """Istio's default name of a data plane's cluster: `<mesh>`, or `<mesh>-<membership>`."""
    return suffixed(mesh, membership, DEFAULT_MEMBERSHIP)


def namespace_of(mesh: str) -> str:
    """The mesh's namespace on data planes, where istiod has its leader election.

    Without a tenant it is also the namespace on the control plane, see `control_plane_namespace_of`.
    """
    return f"mesh-{mesh}"


def control_plane_namespace_of(mesh: str, tenant: str | None = None) -> str:
    """The mesh's namespace on the control plane.

    A tenant's name has no `--`, so no other pair makes the same namespace.
    """
    return namespace_of(mesh) if tenant is None else f"tenant-{tenant}--{mesh}"


def default_trust_domain(mesh: str, tenant: str | None = None) -> str:
    """The trust domain of a mesh without one in its document. Two tenants' meshes of one name differ in it."""
    return ".".join(filter(None, (mesh, tenant, "mesh.local")))


def owner_of(mesh: str, tenant: str | None = None) -> str:
    """A mesh with its tenant, as messages, gateways' rows and roots' requests have it."""
    return mesh if tenant is None else f"{tenant}--{mesh}"
