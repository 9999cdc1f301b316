"""What istiod may do beside the least, in one table: what switches it on, what it needs, what it costs.

The document's `features`, istiod's environment, its rights on the data plane and docs/components/features.md all come
from `FEATURES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from pulumi_hosted_mesh.spec.fields import Model

Switch = Annotated[bool, Field(strict=True)]
READ: Final = ("list", "watch")
"""istiod reads through informers only, never object by object."""
WRITE: Final = (*READ, "create", "update", "patch", "delete")
STATUS: Final = ("update", "patch")


@dataclass(frozen=True)
class Rule:
    """One rule of a Role or ClusterRole: in an API group, these verbs on these resources, by name if names are set."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()


class Features(Model):
    """What istiod may do beside the least. Each true one needs rights on the data plane, which its user grants."""

    gateway_api: Switch = False
    """The Kubernetes Gateway API: gateways and waypoints that istiod deploys, and their status."""
    gateway_certificates: Switch = False
    """Gateways get certificates from Secrets that they name (`credentialName`); the identity check of xDS is on, and
    with it `istioctl proxy-status` gets an answer."""
    certificate_revocation: Switch = False
    """Proxies get certificate revocation lists out of `cacerts` (`ca-crl.pem`), which somebody else makes: not with
    `trust.management: own`."""
    workload_registration: Switch = False
    """Workloads outside Kubernetes register themselves by their WorkloadGroup."""
    address_allocation: Switch = False
    """ServiceEntries without addresses get some of 240.240.0.0/16."""

    def chosen(self) -> list[Feature]:
        """The rows of the table that are on."""
        return [row for row in FEATURES if getattr(self, row.name)]


@dataclass(frozen=True)
class Feature:
    """One row of the table.

    name: the field of `Features`.
    on, off: istiod's environment with it and without it.
    cluster_rules, locks: rights on the data plane: in its ClusterRole, and ConfigMaps of leader elections in the mesh's
    namespace.
    cost: what granting it means.
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
        "ServiceAccounts, autoscalers and disruption budgets in every namespace: whoever has its credential can run "
        "Pods there",
        cluster_rules=(
            # pilot/pkg/config/kube/gateway/controller.go reads both everywhere, for what a Gateway or a policy names;
            # istiod is not ready before it has.
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
        # Both controllers elect by a Lease; a ConfigMap of an older Istio's election is looked for first.
        namespace_rules=(Rule("coordination.k8s.io", ("leases",), ("get", "create", "update", "patch")),),
        locks=("istio-gateway-status-leader",),
    ),
    Feature(
        "gateway_certificates",
        # With this check on istiod serves gateways' certificates out of the config cluster's Secrets, and lists all of
        # them for it (initSDSServer in pilot/pkg/bootstrap/server.go); without the right to list them it never becomes
        # ready. Off, a workload of this mesh may ask for the configuration, never for the keys, of another workload of
        # the same mesh, and whatever asks who is there gets no answer. Other meshes have another authority.
        off={"PILOT_ENABLE_XDS_IDENTITY_CHECK": "false"},
        on={"PILOT_ENABLE_XDS_IDENTITY_CHECK": "true"},
        cost="istiod reads every Secret and ConfigMap of the cluster: its informers are cluster-wide, so Roles per "
        "namespace would not do",
        cluster_rules=(
            # ConfigMaps too, for authorities' certificates: pilot/pkg/credentials/kube/multicluster.go waits for both.
            Rule("", ("secrets", "configmaps"), READ),
            # Whether a gateway's ServiceAccount may read the Secret that it names.
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
    """istiod's environment: each row on or off."""
    result: dict[str, str] = {}
    for row in FEATURES:
        result |= row.on if getattr(features, row.name) else row.off
    return result
