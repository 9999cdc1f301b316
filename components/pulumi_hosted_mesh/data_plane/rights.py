"""istiod's rights on the data plane: the least for serving a mesh, and the granted features' additions.

Pure data, tested against istiod. Each rule names the part of istiod that requires it. Left out on purpose:
- Secrets: istiod's credential controller would read every Secret of the cluster, for gateways that get their
  certificates over xDS. So gateways mount certificates as files, unless `gatewayCertificates` is granted.
- write access to webhook configurations: their CA bundle is static, so istiod has nothing to patch.
- rights of features (`spec.features`) that are not granted.
"""

from __future__ import annotations

from pulumi_hosted_mesh.spec.features import READ, Features, Rule
from pulumi_hosted_mesh.vocabulary import namespace_of, revocation_list_config_map, root_certificate_config_map

SERVICE_ACCOUNT = "istiod"
"""Name of istiod's ServiceAccount, and of its Role and RoleBinding, in the mesh's namespace."""
LOCKS = ("istio-namespace-controller-election",)

# pilot/pkg/config/kube/crdclient: one informer per installed kind; status writers are off.
ISTIO_KINDS: dict[str, tuple[str, ...]] = {
    "networking.istio.io": (
        "destinationrules",
        "envoyfilters",
        "gateways",
        "proxyconfigs",
        "serviceentries",
        "sidecars",
        "virtualservices",
        "workloadentries",
        "workloadgroups",
    ),
    "security.istio.io": ("authorizationpolicies", "peerauthentications", "requestauthentications"),
    "telemetry.istio.io": ("telemetries",),
    "extensions.istio.io": ("trafficextensions", "wasmplugins"),
}


def reading_role(mesh: str) -> str:
    """Name of istiod's ClusterRole and its binding. mesh: its name."""
    return f"hosted-mesh-istiod-{mesh}"


def cluster_rules(mesh: str, features: Features) -> list[Rule]:
    """Rules of the ClusterRole. mesh: its name."""
    webhooks = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
    config_maps = [root_certificate_config_map(mesh)]
    if features.certificate_revocation:
        config_maps.append(revocation_list_config_map(mesh))
    return [
        # pilot/pkg/serviceregistry/kube: endpoints of services, and the nodes of Pods (locality).
        Rule("", ("namespaces", "nodes", "pods", "services"), READ),
        # multicluster.go: an annotation of a further cluster's namespace names the istiods that write their root there.
        Rule("", ("namespaces",), ("get",), (namespace_of(mesh),)),
        Rule("discovery.k8s.io", ("endpointslices",), READ),
        *(Rule(group, kinds, READ) for group, kinds in ISTIO_KINDS.items()),
        # pkg/kube/multicluster/cluster.go reads these in each cluster with the kind, also if the feature is off. istiod
        # is not ready before that. Some clouds' clusters have the Gateway API by default.
        Rule("gateway.networking.k8s.io", ("gateways",), READ),
        # pilot/pkg/bootstrap/configcontroller.go waits for this one even with the Ingress controller off.
        Rule("networking.k8s.io", ("ingresses",), READ),
        # pkg/kube/kclient/crdwatcher.go: detects the installed kinds.
        Rule("apiextensions.k8s.io", ("customresourcedefinitions",), READ),
        # pkg/revisions: finds the default revision by labels on webhook configurations. Read only.
        Rule("admissionregistration.k8s.io", webhooks, READ),
        # security/pkg/k8s/tokenreview: authenticates workloads.
        Rule("authentication.k8s.io", ("tokenreviews",), ("create",)),
        # namespacecontroller.go: writes the root certificate to every namespace. RBAC cannot limit creation by name.
        Rule("", ("configmaps",), ("create",)),
        Rule("", ("configmaps",), (*READ, "update"), tuple(config_maps)),
        *(rule for row in features.chosen() for rule in row.cluster_rules),
    ]


def namespace_rules(features: Features) -> list[Rule]:
    """Rules of the Role in the mesh's namespace: pilot/pkg/leaderelection keeps its locks there."""
    chosen = features.chosen()
    locks = (*LOCKS, *(lock for row in chosen for lock in row.locks))
    return [
        Rule("", ("configmaps",), ("get", "update"), locks),
        # multicluster.go: reads a further cluster's trust domain from the ConfigMap `istio` or `istio-<revision>`.
        # Without this right istiod never adds the cluster to the mesh.
        Rule("", ("configmaps",), READ),
        *(rule for row in chosen for rule in row.namespace_rules),
    ]
