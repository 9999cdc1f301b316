"""Words of the library: labels, annotations, type tokens, roles, ports, names.

The policies have a copy of some, in `hosted_mesh_policies/vocabulary.py`: the pack runs where the library is not
installed. A test compares the two.
"""

from __future__ import annotations

from typing import Final

# Roles. A cluster, a stack and an object have one of these two, and no other words for them.
CONTROL_PLANE: Final = "control-plane"
DATA_PLANE: Final = "data-plane"

# Labels on everything that the library creates. Selecting by MESH lists what a mesh owns in a cluster.
PREFIX: Final = "hosted-mesh.io"
MESH_LABEL: Final = f"{PREFIX}/mesh"
ROLE_LABEL: Final = f"{PREFIX}/role"
MANAGED_BY_LABEL: Final = f"{PREFIX}/managed-by"
MANAGED_BY: Final = "hosted-mesh"
FEDERATION_LABEL: Final = f"{PREFIX}/federation"
"""On what a federation makes in a mesh; its value is the federation's name."""
PEERS_ANNOTATION: Final = f"{PREFIX}/peers"
"""On what is imported: the meshes that export it, separated by commas."""
DNS_EDGE_LABEL: Final = f"{PREFIX}/dns-edge"
DNS_PROVIDER_LABEL: Final = f"{PREFIX}/dns-provider"
PROJECT_LABEL: Final = f"{PREFIX}/project"
LOCATION_LABEL: Final = f"{PREFIX}/location"

# Annotations.
KUBECONFIG_DIGEST_ANNOTATION: Final = f"{PREFIX}/kubeconfig-digest"
"""On istiod's Pods: SHA-256 of the kubeconfig that they were started with. A hash of a secret, not a secret."""
ROOT_DIGEST_ANNOTATION: Final = f"{PREFIX}/root-certificate-digest"
"""On istiod's Pods: SHA-256 of the mesh's root certificate that they were started with."""
EXTERNAL_DNS_HOSTNAME_ANNOTATION: Final = "external-dns.alpha.kubernetes.io/hostname"
OPEN_TO_ALL_ANNOTATION: Final = f"{PREFIX}/open-to-all"
"""On the exposed Service when the document says that everybody may connect; the policies ask for it."""
READ_AT_START_ANNOTATION: Final = f"{PREFIX}/read-at-start"
"""On the DNS bridge's Pods: versions of the Secrets and ConfigMaps that they were started with."""
SKIP_AWAIT_ANNOTATION: Final = "pulumi.com/skipAwait"
WAIT_FOR_ANNOTATION: Final = "pulumi.com/waitFor"
PATCH_FORCE_ANNOTATION: Final = "pulumi.com/patchForce"
TOKEN_EXPIRY_ANNOTATION: Final = f"{PREFIX}/token-expires"
"""On a Secret with istiod's token: `never`, so that a plan says it."""

# Istio's own words.
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
NAMESPACE_NAME_LABEL: Final = "kubernetes.io/metadata.name"
TAG_LABEL: Final = "istio.io/tag"
NETWORK_LABEL: Final = "topology.istio.io/network"
GATEWAY_PORT_LABEL: Final = "networking.istio.io/gatewayPort"
EAST_WEST_PORT: Final = 15443
"""Where east-west gateways listen."""
CONTROL_PLANE_CLUSTERS_ANNOTATION: Final = "topology.istio.io/controlPlaneClusters"

# Secrets on the control plane, by the names that the istiod chart mounts.
CACERTS_SECRET: Final = "cacerts"  # noqa: S105 (a name)
KUBECONFIG_SECRET: Final = "istio-kubeconfig"  # noqa: S105 (a name)
REMOTE_CLUSTERS_SECRET: Final = "istio-remote-kubeconfigs"  # noqa: S105 (a name)
KUBECONFIG_KEY: Final = "config"
CACERTS_PRIVATE_KEY: Final = "ca-key.pem"

# Type tokens of the components. Resources below a MeshTrust or a MeshRoot are control-plane secrets' sources.
PACKAGE: Final = "hosted-mesh"
TYPE_MESH_ROOT: Final = f"{PACKAGE}:index:MeshRoot"
TYPE_MESH_TRUST: Final = f"{PACKAGE}:index:MeshTrust"
TYPE_DATA_PLANE_ACCESS: Final = f"{PACKAGE}:index:DataPlaneAccess"
TYPE_DATA_PLANE_CRDS: Final = f"{PACKAGE}:index:DataPlaneCrds"
TYPE_EXTERNAL_CONTROL_PLANE: Final = f"{PACKAGE}:index:ExternalControlPlane"
TYPE_REMOTE_DATA_PLANE: Final = f"{PACKAGE}:index:RemoteDataPlane"
TYPE_ISTIOD: Final = f"{PACKAGE}:index:IstiodRevision"
TYPE_MESH_FEDERATION: Final = f"{PACKAGE}:index:MeshFederation"
TYPE_HOSTED_MESH: Final = f"{PACKAGE}:index:HostedMesh"
TYPE_MESH_DEPLOYMENT: Final = f"{PACKAGE}:index:MeshDeployment"
TYPE_DNS_EDGE: Final = f"{PACKAGE}:index:DnsEdge"
TYPE_EXTERNAL_DNS_BRIDGE: Final = f"{PACKAGE}:index:ExternalDNSBridge"

DNS_NAMESPACE: Final = "hosted-mesh-dns"
"""On an edge: where the DNS bridge's accounts are, and the DNSEndpoints that it makes."""
CONTROL_PLANE_RECORDS: Final = "control-plane"
"""In names of what publishes the program's own records, where an edge's have the edge's name."""

# Provider resources are named by role, so that a plan shows where a resource goes.
PROVIDER_NAME: Final = {CONTROL_PLANE: "control-plane-cluster", DATA_PLANE: "data-plane-cluster"}


def managed_labels(role: str) -> dict[str, str]:
    """The ownership labels of an object that belongs to no mesh."""
    return {MANAGED_BY_LABEL: MANAGED_BY, ROLE_LABEL: role}


def labels(mesh: str, role: str) -> dict[str, str]:
    """The ownership labels of one object."""
    return {MANAGED_BY_LABEL: MANAGED_BY, MESH_LABEL: mesh, ROLE_LABEL: role}


def root_certificate_config_map(mesh: str) -> str:
    """What istiod writes into every namespace of the data plane: the mesh's public root certificate.

    Istio's own name for it, `istio-ca-root-cert`, could not serve two meshes in one cluster.
    """
    return f"istio-ca-root-cert-{mesh}"


def revocation_list_config_map(mesh: str) -> str:
    """The same for certificate revocation lists."""
    return f"istio-ca-crl-{mesh}"


def remote_kubeconfig_key(membership: str) -> str:
    """Key of the kubeconfig of a further member of the mesh, in the Secret of all of them."""
    return f"{membership}.yaml"


def chart_revision(revision: str) -> str:
    """A revision as Istio's charts want it: their word for the default one is the empty one."""
    return "" if revision == DEFAULT_REVISION else revision


def suffixed(name: str, suffix: str, without: str = "default") -> str:
    """`name-suffix`, or the name alone where the suffix is the one that need not be said."""
    return name if suffix == without else f"{name}-{suffix}"


def cluster_id_of(mesh: str, membership: str) -> str:
    """Istio's name of a data plane's cluster where a document gives it none: `<mesh>`, or `<mesh>-<membership>`."""
    return suffixed(mesh, membership, DEFAULT_MEMBERSHIP)


def namespace_of(mesh: str) -> str:
    """The mesh's namespace, which has the same name in both clusters.

    istiod runs in it on the control plane and keeps its leader election in the namespace of the same name on the data
    plane (pilot/pkg/leaderelection takes POD_NAMESPACE for both).
    """
    return f"mesh-{mesh}"
