"""The rights and objects of each cluster's own services: a program that runs in the wan's namespace.

RBAC for CoreDNS, for the load-balancer controller and for the API server as a client of nodes; the Service `kube-dns`
at its fixed address. lightkube applies them: typed objects, one small HTTP client, no kubectl process per object.
"""

from __future__ import annotations

import sys
from pathlib import Path

from lightkube import Client, KubeConfig
from lightkube.core.resource import GlobalResource, NamespacedResource
from lightkube.models.core_v1 import ServicePort, ServiceSpec
from lightkube.models.discovery_v1 import Endpoint, EndpointConditions, EndpointPort
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.models.rbac_v1 import PolicyRule, RoleRef, Subject
from lightkube.resources.core_v1 import Service
from lightkube.resources.discovery_v1 import EndpointSlice
from lightkube.resources.rbac_authorization_v1 import ClusterRole, ClusterRoleBinding

from sandbox.clusters.credentials.files import Credentials
from sandbox.clusters.network.addresses import ClusterAddresses, addresses_of
from sandbox.clusters.network.namespaces import inside
from sandbox.clusters.state import Layout, settings

_RBAC = "rbac.authorization.k8s.io"
_READ = ["get", "list", "watch"]
# The rights of each user: API groups, resources, verbs.
_RIGHTS = {
    "system:coredns": (([""], ["services", "namespaces"], _READ), (["discovery.k8s.io"], ["endpointslices"], _READ)),
    "system:load-balancers": (([""], ["services"], _READ), ([""], ["services/status"], ["patch"])),
    # A node may read its own Pods only.
    "system:network-policies": (
        ([""], ["pods", "namespaces"], _READ),
        (["networking.k8s.io"], ["networkpolicies"], _READ),
    ),
}
_NAMESPACE = "kube-system"
_LABELS = {"k8s-app": "kube-dns", "kubernetes.io/name": "CoreDNS"}


def objects(cluster: ClusterAddresses) -> list[GlobalResource | NamespacedResource]:
    """All objects to apply, in order. Pure."""
    found: list[GlobalResource | NamespacedResource] = []
    for user, rights in _RIGHTS.items():
        rules = [PolicyRule(apiGroups=groups, resources=resources, verbs=verbs) for groups, resources, verbs in rights]
        found += [ClusterRole(metadata=ObjectMeta(name=user), rules=rules), _bind(user, user)]
    found.append(_bind("kube-apiserver-kubelet-client", "system:kubelet-api-admin"))  # for logs and exec; built in
    return [*found, *_dns_service(cluster)]


def _bind(user: str, role: str) -> ClusterRoleBinding:
    return ClusterRoleBinding(
        metadata=ObjectMeta(name=user),
        roleRef=RoleRef(apiGroup=_RBAC, kind="ClusterRole", name=role),
        subjects=[Subject(apiGroup=_RBAC, kind="User", name=user)],
    )


def _dns_service(cluster: ClusterAddresses) -> list[GlobalResource | NamespacedResource]:
    """CoreDNS is no Pod, so the Service has no selector and its endpoint is the node."""
    protocols = {"dns": "UDP", "dns-tcp": "TCP"}
    return [
        Service(
            metadata=ObjectMeta(name="kube-dns", namespace=_NAMESPACE, labels=_LABELS),
            spec=ServiceSpec(
                clusterIP=cluster.dns_address,
                ports=[ServicePort(name=name, port=53, protocol=protocol) for name, protocol in protocols.items()],
            ),
        ),
        EndpointSlice(
            metadata=ObjectMeta(
                name="kube-dns", namespace=_NAMESPACE, labels={"kubernetes.io/service-name": "kube-dns"}
            ),
            addressType="IPv4",
            endpoints=[Endpoint(addresses=[cluster.wan_address], conditions=EndpointConditions(ready=True))],
            ports=[EndpointPort(name=name, port=53, protocol=protocol) for name, protocol in protocols.items()],
        ),
    ]


def client(kubeconfig: Path, field_manager: str) -> Client:
    """An API client by the file's current context; never through a proxy."""
    return Client(config=KubeConfig.from_file(kubeconfig), field_manager=field_manager, trust_env=False)


if __name__ == "__main__":
    layout = Layout(Path(sys.argv[1]))
    for name, addresses in addresses_of(settings(layout).topology).items():
        credentials = Credentials(layout, addresses)
        with inside(name):
            api = client(credentials.kubeconfig("controller-manager"), "hosted-mesh-sandbox")
            for one in objects(addresses):
                api.apply(one, force=True)
