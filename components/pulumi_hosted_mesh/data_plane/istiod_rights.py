"""What istiod may do in the user's cluster: the least with which it serves a mesh. Pure data, tested against istiod.

Each rule names who in istiod needs it. What is missing on purpose:
- secrets: istiod's credential controller would read every Secret of the cluster for gateways that get their
  certificates over xDS. It is off (see `istiod_values`), so gateways mount theirs as files.
- write access to webhook configurations: their CA bundle is static, so istiod has nothing to patch.
- the Gateway API and Ingress controllers, auto-registration of workloads, automatic addresses of ServiceEntries: each
  writes status or objects, and each is off.
"""

from __future__ import annotations

from dataclasses import dataclass

from pulumi_hosted_mesh.vocabulary import ROOT_CERTIFICATE_CONFIG_MAP

READ = ("list", "watch")  # istiod reads through informers only, never object by object
LOCKS = ("istio-namespace-controller-election",)


@dataclass(frozen=True)
class Rule:
    """One rule of a Role or ClusterRole: in an API group, these verbs on these resources, by name if names are set."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()


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


def cluster_rules() -> list[Rule]:
    """Rules of the ClusterRole."""
    webhooks = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
    return [
        # pilot/pkg/serviceregistry/kube: endpoints of services, and where Pods run (locality).
        Rule("", ("namespaces", "nodes", "pods", "services"), READ),
        Rule("discovery.k8s.io", ("endpointslices",), READ),
        *(Rule(group, kinds, READ) for group, kinds in ISTIO_KINDS.items()),
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
        Rule("", ("configmaps",), (*READ, "update"), (ROOT_CERTIFICATE_CONFIG_MAP,)),
    ]


def namespace_rules() -> list[Rule]:
    """Rules of the Role in the mesh's own namespace: pilot/pkg/leaderelection keeps its lock there."""
    return [Rule("", ("configmaps",), ("get", "update"), LOCKS)]
