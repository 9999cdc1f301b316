"""What istiod may do on the data plane: the least with which it serves a mesh, and what chosen features add.

Pure data, tested against istiod. Each rule names who in istiod needs it. What is missing on purpose:
- Secrets: istiod's credential controller would read every Secret of the cluster, for gateways that get their
  certificates over xDS. So gateways mount theirs as files, unless `gatewayCertificates` is granted.
- write access to webhook configurations: their CA bundle is static, so istiod has nothing to patch.
- all that is in the table of features (`spec.features`) and not granted.
"""

from __future__ import annotations

from pulumi_hosted_mesh.spec.features import READ, Features, Rule
from pulumi_hosted_mesh.vocabulary import namespace_of, revocation_list_config_map, root_certificate_config_map

LOCKS = ("istio-namespace-controller-election",)

# pilot/pkg/config/kube/crdclient: one informer per kind that is installed; status writers are off.
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


def cluster_rules(mesh: str, features: Features) -> list[Rule]:
    """Rules of the ClusterRole. mesh: its name."""
    webhooks = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
    config_maps = [root_certificate_config_map(mesh)]
    if features.certificate_revocation:
        config_maps.append(revocation_list_config_map(mesh))
    return [
        # pilot/pkg/serviceregistry/kube: endpoints of services, and where Pods run (locality).
        Rule("", ("namespaces", "nodes", "pods", "services"), READ),
        # multicluster.go: by an annotation of this namespace a further cluster says whose root certificate it wants.
        Rule("", ("namespaces",), ("get",), (namespace_of(mesh),)),
        Rule("discovery.k8s.io", ("endpointslices",), READ),
        *(Rule(group, kinds, READ) for group, kinds in ISTIO_KINDS.items()),
        # pkg/kube/multicluster/cluster.go reads these in each cluster that has the kind, whatever is switched off, and
        # istiod is not ready before it has: some clouds' clusters come with the Gateway API.
        Rule("gateway.networking.k8s.io", ("gateways",), READ),
        # pilot/pkg/bootstrap/configcontroller.go waits for this one even with the Ingress controller off.
        Rule("networking.k8s.io", ("ingresses",), READ),
        # pkg/kube/kclient/crdwatcher.go: which of these kinds exist.
        Rule("apiextensions.k8s.io", ("customresourcedefinitions",), READ),
        # pkg/revisions: which revision is the default, by labels on webhook configurations. Read only.
        Rule("admissionregistration.k8s.io", webhooks, READ),
        # security/pkg/k8s/tokenreview: whether a workload is who it says it is.
        Rule("authentication.k8s.io", ("tokenreviews",), ("create",)),
        # namespacecontroller.go: the root certificate in every namespace. RBAC cannot limit creation by name.
        Rule("", ("configmaps",), ("create",)),
        Rule("", ("configmaps",), (*READ, "update"), tuple(config_maps)),
        *(rule for row in features.chosen() for rule in row.cluster_rules),
    ]


def namespace_rules(features: Features) -> list[Rule]:
    """Rules of the Role in the mesh's own namespace: pilot/pkg/leaderelection keeps its locks there."""
    chosen = features.chosen()
    locks = (*LOCKS, *(lock for row in chosen for lock in row.locks))
    return [
        Rule("", ("configmaps",), ("get", "update"), locks),
        # multicluster.go: the trust domain of a further cluster, of the ConfigMap `istio` or `istio-<revision>` there.
        # Without this right the cluster never becomes one of the mesh's.
        Rule("", ("configmaps",), READ),
        *(rule for row in chosen for rule in row.namespace_rules),
    ]
