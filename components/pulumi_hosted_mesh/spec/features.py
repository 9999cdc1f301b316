"""The table of istiod's optional features: environment, rights and cost of each.

The document's `features`, istiod's environment, its rights on the data plane and docs/components/features.md all come
from `FEATURES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pulumi_hosted_mesh.spec.fields import Model, Switch

READ: Final = ("list", "watch")
"""istiod reads through informers only: it lists and watches, and never gets single objects."""
WRITE: Final = (*READ, "create", "update", "patch", "delete")
STATUS: Final = ("update", "patch")


@dataclass(frozen=True)
class Rule:
    """One rule of a Role or ClusterRole: verbs on resources of an API group, limited to `names` if there are any."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()


class Features(Model):
    """Optional features of istiod. Each requires rights on the data plane, which its user grants."""

    gateway_api: Switch = False
    """The Kubernetes Gateway API: istiod deploys gateways and waypoints, and writes their status."""
    gateway_certificates: Switch = False
    """Gateways get certificates from Secrets (`credentialName`). It also turns on the identity check of xDS, which
    istiod requires for `istioctl proxy-status` at its own port."""
    certificate_revocation: Switch = False
    """Proxies get the certificate revocation list of `cacerts` (`ca-crl.pem`). Bring the list yourself: it does not
    work with `trust.management: own`."""
    workload_registration: Switch = False
    """Workloads outside of Kubernetes register themselves by their WorkloadGroup."""
    address_allocation: Switch = False
    """ServiceEntries without addresses get addresses of 240.240.0.0/16."""

    def chosen(self) -> list[Feature]:
        """The table's rows of the enabled features."""
        return [row for row in FEATURES if getattr(self, row.name)]


@dataclass(frozen=True)
class Feature:
    """One row of the table.

    name: the field of `Features`.
    on, off: istiod's environment with it and without it.
    cluster_rules, namespace_rules: rights on the data plane, in its ClusterRole and in the mesh's namespace.
    locks: ConfigMaps of leader elections in the mesh's namespace.
    cost: consequence of the grant.
    """

    name: str
    off: Mapping[str, str]
    on: Mapping[str, str]
    cost: str
    cluster_rules: tuple[Rule, ...] = ()
    namespace_rules: tuple[Rule, ...] = ()
    locks: tuple[str, ...] = ()


_GATEWAY_API = "gateway.networking.k8s.io"
_GATEWAY_KINDS = (
    "backendtlspolicies",
    "gatewayclasses",
    "gateways",
    "grpcroutes",
    "httproutes",
    "listenersets",
    "referencegrants",
    "tcproutes",
    "tlsroutes",
    "udproutes",
)
FEATURES: Final = (
    Feature(
        "gateway_api",
        off={"PILOT_ENABLE_GATEWAY_API": "false"},
        on={"PILOT_ENABLE_GATEWAY_API": "true"},
        cost="istiod reads every Secret and ConfigMap of the cluster, and writes Deployments, Services, "
        "ServiceAccounts, autoscalers and disruption budgets in every namespace. A holder of its credential can run "
        "Pods there",
        cluster_rules=(
            # pilot/pkg/config/kube/gateway/controller.go reads both in all namespaces, for references of Gateways and
            # policies. istiod is not ready before these informers have synced.
            Rule("", ("secrets", "configmaps"), READ),
            Rule(_GATEWAY_API, _GATEWAY_KINDS, READ),
            Rule(_GATEWAY_API, tuple(f"{kind}/status" for kind in _GATEWAY_KINDS), STATUS),
            Rule(_GATEWAY_API, ("gatewayclasses",), ("create", "update", "patch", "delete")),
            Rule("gateway.networking.x-k8s.io", ("xbackendtrafficpolicies",), READ),
            Rule("gateway.networking.x-k8s.io", ("xbackendtrafficpolicies/status",), STATUS),
            # pilot/pkg/config/kube/gatewaycommon/deploymentcontroller.go
            Rule("apps", ("deployments",), WRITE),
            Rule("autoscaling", ("horizontalpodautoscalers",), WRITE),
            Rule("policy", ("poddisruptionbudgets",), WRITE),
            Rule("", ("services", "serviceaccounts"), WRITE),
            Rule("", ("services/status",), STATUS),
        ),
        # Both controllers elect by a Lease. They first look for the ConfigMap of an older Istio's election.
        namespace_rules=(Rule("coordination.k8s.io", ("leases",), ("get", "create", "update", "patch")),),
        locks=("istio-gateway-status-leader",),
    ),
    Feature(
        "gateway_certificates",
        # With this check istiod serves gateways' certificates from the config cluster's Secrets, and lists all Secrets
        # (initSDSServer in pilot/pkg/bootstrap/server.go). Without the right to list them it never becomes ready.
        # Without the check a workload can request the configuration, but not the keys, of another workload of the same
        # mesh, and istioctl gets no answer there. Other meshes have another authority.
        off={"PILOT_ENABLE_XDS_IDENTITY_CHECK": "false"},
        on={"PILOT_ENABLE_XDS_IDENTITY_CHECK": "true"},
        cost="istiod reads every Secret and ConfigMap of the cluster. Its informers are cluster-wide, so Roles per "
        "namespace are not enough",
        cluster_rules=(
            # ConfigMaps hold authorities' certificates: pilot/pkg/credentials/kube/multicluster.go waits for both.
            Rule("", ("secrets", "configmaps"), READ),
            # Checks that a gateway's ServiceAccount may read the Secret in its `credentialName`.
            Rule("authorization.k8s.io", ("subjectaccessreviews",), ("create",)),
        ),
    ),
    Feature(
        "certificate_revocation",
        off={"PILOT_ENABLE_CA_CRL": "false"},
        on={"PILOT_ENABLE_CA_CRL": "true"},
        cost="a second ConfigMap in each namespace",
    ),
    Feature(
        "workload_registration",
        off={"PILOT_ENABLE_WORKLOAD_ENTRY_AUTOREGISTRATION": "false"},
        on={"PILOT_ENABLE_WORKLOAD_ENTRY_AUTOREGISTRATION": "true"},
        cost="istiod writes WorkloadEntries in every namespace",
        cluster_rules=(
            Rule("networking.istio.io", ("workloadentries",), ("get", "create", "update", "patch", "delete")),
            Rule("networking.istio.io", ("workloadentries/status",), STATUS),
        ),
    ),
    Feature(
        "address_allocation",
        off={"PILOT_ENABLE_IP_AUTOALLOCATE": "false"},
        on={"PILOT_ENABLE_IP_AUTOALLOCATE": "true"},
        cost="istiod writes the status of ServiceEntries",
        cluster_rules=(Rule("networking.istio.io", ("serviceentries/status",), STATUS),),
        locks=("istio-ip-autoallocate",),
    ),
)


def environment(features: Features) -> dict[str, str]:
    """istiod's environment, with each feature on or off."""
    result: dict[str, str] = {}
    for row in FEATURES:
        result |= row.on if getattr(features, row.name) else row.off
    return result
