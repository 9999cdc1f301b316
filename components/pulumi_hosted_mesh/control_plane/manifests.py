"""Objects around istiod on the control plane, as plain data: quota, network policy, the exposed Service."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from ipaddress import ip_network
from typing import Any, Final

from pulumi_hosted_mesh.charts.load_balancer import load_balancer_annotations, load_balancer_spec
from pulumi_hosted_mesh.charts.pods import Sizes, tcp
from pulumi_hosted_mesh.charts.service_wait import service_wait
from pulumi_hosted_mesh.control_plane.gateway_hosts import uses_gateway_alone
from pulumi_hosted_mesh.spec.exposure import Allowed, LoadBalancerExposure
from pulumi_hosted_mesh.spec.fields import amount
from pulumi_hosted_mesh.spec.gateway import GatewayFacts
from pulumi_hosted_mesh.spec.issuer_ranges import blocked_ranges
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.revision import Revision
from pulumi_hosted_mesh.vocabulary import (
    CACERTS_SECRET,
    GATEWAY_POD_LABELS,
    HTTPS_PORT,
    KUBECONFIG_SECRET,
    MONITORING_PORT,
    NAMESPACE_NAME_LABEL,
    REMOVE_IN_USE_ANNOTATION,
    REVISION_LABEL,
    WEBHOOK_PORT,
    XDS_PORT,
    revocation_list_config_map,
)

IMPERSONATORS = "CA_TRUSTED_NODE_ACCOUNTS"
POD_NAMESPACE = "POD_NAMESPACE"
DEFAULT_GRACE = 30
"""Seconds that Kubernetes gives a Pod to end; the time of a `preStop` counts."""
NEEDED_SECRETS = frozenset({CACERTS_SECRET, KUBECONFIG_SECRET})
INJECTION_VALUES = "values"
"""The key of the templates' values in the chart's ConfigMap of injection; its other ConfigMaps lack it."""
SMALL: Final = {"cpu": "100m", "memory": "128Mi"}
"""Sizes of a container without its own, in a LimitRange."""
SUFFIXES = ("", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti")
Spec = Any
"""A part of a manifest by Kubernetes' field names, which Pulumi's typed arguments accept."""


def istiod_selector(revision: Revision) -> dict[str, str]:
    """Labels of istiod's Pods of this revision."""
    return {"app": "istiod", REVISION_LABEL: revision.name}


def override_annotations(mesh: Mesh, revision: Revision) -> dict[str, str]:
    """Annotations of istiod's Deployment: the reason to remove it in use, also when the mesh has left the program."""
    reason = mesh.control_plane.remove_in_use.get(revision.name)
    return {REMOVE_IN_USE_ANNOTATION: reason} if reason else {}


def istiods_pod(spec: Spec, drain_seconds: int = 0, namespace: str | None = None) -> Spec:
    """`spec` of istiod's Pods without the chart's tokens and impersonation, and with required Secrets.

    See `without_tokens` and `with_secrets`. namespace: the data plane's, if it has another name than the Pod's.

    The chart lets the account `<namespace>/ztunnel` of the data plane request other workloads' certificates. With the
    right to create that account a user could have any SPIFFE name signed, also of another trust domain. istiod compares
    namespace and account only (authenticateImpersonation in security/pkg/server/ca/node_auth.go). Only ambient mode
    requires it.
    """
    result = without_impersonation(with_secrets(without_tokens(spec)))
    if namespace is not None:
        result = in_data_planes_namespace(result, namespace)
    return draining(result, drain_seconds) if drain_seconds else result


def ordinary_pod(spec: Spec, drain_seconds: int = 0) -> Spec:
    """`spec` of istiod's Pods in a mesh of one cluster: it keeps its token, and requires the Secret `cacerts`."""
    result = without_impersonation(with_secrets(spec, frozenset({CACERTS_SECRET})))
    return draining(result, drain_seconds) if drain_seconds else result


def without_impersonation(spec: Spec) -> Spec:
    """`spec` of istiod's Pods without the accounts that may request other workloads' certificates."""
    containers = [
        {**one, "env": [variable for variable in one.get("env", ()) if variable["name"] != IMPERSONATORS]}
        for one in spec["containers"]
    ]
    return {**spec, "containers": containers}


def in_data_planes_namespace(spec: Spec, namespace: str) -> Spec:
    """`spec` of istiod's Pods with the data plane's namespace as theirs.

    istiod uses it for its objects there: leader election, the root certificate's rights, its root namespace.
    """
    own = {"name": POD_NAMESPACE, "value": namespace}
    containers = [
        {**one, "env": [own if variable["name"] == POD_NAMESPACE else variable for variable in one.get("env", ())]}
        for one in spec["containers"]
    ]
    return {**spec, "containers": containers}


def draining(spec: Spec, seconds: int) -> Spec:
    """`spec` of istiod's Pods, which serve for some seconds after their end was decided.

    Kubernetes ends a Pod and takes its address out of Services at the same time. A load balancer follows later, and its
    connections to a Pod that is gone hang: a webhook call fails after its time-out.
    """
    sleep = {"preStop": {"sleep": {"seconds": seconds}}}
    containers = [{**one, "lifecycle": {**one.get("lifecycle", {}), **sleep}} for one in spec["containers"]]
    grace = spec.get("terminationGracePeriodSeconds", DEFAULT_GRACE)
    return {**spec, "containers": containers, "terminationGracePeriodSeconds": grace + seconds}


def with_secrets(spec: Spec, needed: frozenset[str] = NEEDED_SECRETS) -> Spec:
    """`spec` of istiod's Pods that requires the Secrets `cacerts` and `istio-kubeconfig`.

    The chart mounts both as optional. Without `cacerts` istiod uses or creates an authority in the data plane's
    cluster, if its kubeconfig has the right (createIstioCA in pilot/pkg/bootstrap/istio_ca.go). When an optional Secret
    is deleted, kubelet removes its files from the running Pod.
    """
    volumes = [
        {**volume, "secret": {**volume["secret"], "optional": False}}
        if volume.get("secret", {}).get("secretName") in needed
        else volume
        for volume in spec["volumes"]
    ]
    return {**spec, "volumes": volumes}


def without_tokens(spec: Spec) -> Spec:
    """`spec` of istiod's Pods without a token of their ServiceAccount. The chart has no value for this.

    istiod calls only the data plane's API server, so a token for its own cluster is a needless risk. The chart mounts a
    second token, `istio-token`, for the audience istio-ca, which some API servers accept. istiod reads it only outside
    of Kubernetes, for the tokens' issuer (RunCA in pilot/pkg/bootstrap/istio_ca.go).
    """
    tokens = {volume["name"] for volume in spec["volumes"] if _holds_token(volume)}
    result = {**spec, "automountServiceAccountToken": False}
    result["volumes"] = [volume for volume in spec["volumes"] if volume["name"] not in tokens]
    for kind in result.keys() & {"containers", "initContainers"}:
        result[kind] = [_without_mounts(container, tokens) for container in spec[kind]]
    return result


def with_revocation_list(mesh: Mesh, data: dict[str, str]) -> dict[str, str]:
    """`data` of a chart's ConfigMap; in the injection's, adds the name of the mesh's certificate revocation list.

    Injected Pods mount the list, as optional, by `.Values.pilot.crlConfigMapName`. The chart passes only `cni` and
    `env` of `pilot` to the templates (templates/istiod-injector-configmap.yaml).
    """
    if INJECTION_VALUES not in data:
        return data
    values = json.loads(data[INJECTION_VALUES])
    values["pilot"] = {**(values.get("pilot") or {}), "crlConfigMapName": revocation_list_config_map(mesh.name)}
    return {**data, INJECTION_VALUES: json.dumps(values, indent=2)}


def quota_limits(mesh: Mesh) -> dict[str, str]:
    """`spec.hard` of the namespace's quota: enough for all istiods during a rollout, with both sets of Pods.

    It also fits one more revision of the largest size: during an upgrade both revisions exist.
    """
    revisions = [*mesh.revisions, max(mesh.revisions, key=lambda one: one.istiod.most_replicas)]
    sizes = [(2 * one.istiod.most_replicas, one.istiod.resources) for one in revisions]
    services = [service for one in revisions for service in exposed_services(mesh, one)]
    node_ports = [port for one in services if one.spec["allocateLoadBalancerNodePorts"] for port in one.spec["ports"]]
    return {
        **quota_of(sizes),
        "services.loadbalancers": str(len(services)),
        # Services count only allocated NodePorts; istiod's other Services have none.
        "services.nodeports": str(len(node_ports)),
    }


def container_limits(mesh: Mesh) -> Spec:
    """`spec` of the namespace's LimitRange: no container is larger than the mesh's largest istiod.

    A container without sizes gets small ones, so it uses up little of the quota, which rejects Pods without sizes.
    """
    sizes = [one.istiod.resources for one in mesh.revisions]
    largest = {
        "cpu": times(max((one.cpu_limit for one in sizes), key=amount), 1),
        "memory": times(max((one.memory_limit for one in sizes), key=amount), 1),
    }
    small = {name: min((value, largest[name]), key=amount) for name, value in SMALL.items()}
    return {"limits": [{"type": "Container", "max": largest, "default": small, "defaultRequest": small}]}


def priority(value: int) -> dict[str, Any]:
    """A PriorityClass' fields. It never evicts: one tenant's istiods must not end another's."""
    return {"value": value, "preemption_policy": "Never", "description": "istiods of one mesh"}


def quota_of(sizes: Sequence[tuple[int, Sizes]]) -> dict[str, str]:
    """The part of `spec.hard` for Pods. sizes: numbers of Pods, each with the size of one."""
    return {
        "pods": str(sum(pods for pods, _ in sizes)),
        "requests.cpu": total((size.cpu_request, pods) for pods, size in sizes),
        "requests.memory": total((size.memory_request, pods) for pods, size in sizes),
        "limits.cpu": total((size.cpu_limit, pods) for pods, size in sizes),
        "limits.memory": total((size.memory_limit, pods) for pods, size in sizes),
    }


def total(parts: Iterable[tuple[str, int]]) -> str:
    """The sum of Kubernetes quantities, each with its count, in the API server's canonical form."""
    found = list(parts)
    if len(found) == 1:
        return times(*found[0])
    number = sum((amount(quantity) * count for quantity, count in found), Decimal(0))
    if number % 1:
        return times(f"{number * 1000:f}m", 1)
    # Memory usually has binary units, and numbers of cores are never that large.
    return times(f"{number / 1024:f}Ki", 1) if number >= 1024 and number % 1024 == 0 else times(f"{number:f}", 1)


def times(quantity: str, count: int) -> str:
    """A Kubernetes quantity times a count, in the API server's canonical form."""
    number = quantity.rstrip("".join(SUFFIXES))
    suffix = quantity[len(number) :]
    product = Decimal(number) * count
    if suffix == "m" and product % 1000 == 0:
        product, suffix = product / 1000, ""
    if suffix == "" and product % 1:
        product, suffix = product * 1000, "m"
    binary = {"Ki": "Mi", "Mi": "Gi", "Gi": "Ti"}
    while suffix in binary and product % 1024 == 0:
        product, suffix = product / 1024, binary[suffix]
    return f"{product.normalize():f}{suffix}"


def network_policy_spec(mesh: Mesh, ports: Collection[int], gateway: GatewayFacts | None = None) -> Spec:
    """`spec` of the namespace's NetworkPolicy. ports: of the data planes' API servers. gateway: the shared one.

    Ingress: xDS and webhooks from anywhere, or from the shared gateway's Pods alone if all revisions use it; metrics
    from the namespace itself and from `networkPolicy.metricsFrom`.
    Egress: DNS. The data planes' API servers on their ports, at `networkPolicy.apiServerRanges` or any address. Port
    443 of any public address, and of `networkPolicy.issuerRanges`, for the keys of token issuers (JWKS), unless
    `networkPolicy.fetchJwks` is off. It limits nothing where an API server of any address also has port 443.

    Port 8080, with istiod's readiness and debug pages, needs no rule: a kubelet's probes come from the Pod's own node,
    which no NetworkPolicy blocks.

    The exposed Service's source ranges limit client addresses. A NetworkPolicy could not: behind a load balancer it
    sees a node's address.
    """
    policy = mesh.control_plane.network_policy
    dns = [{"protocol": kind, "port": port} for port in policy.dns_ports for kind in ("TCP", "UDP")]
    egress: list[Spec] = [{"ports": dns}]
    if policy.api_server_ranges:
        ranges = [{"ipBlock": {"cidr": cidr}} for cidr in policy.api_server_ranges]
        egress.append({"to": ranges, "ports": _tcp_ports(ports)})
    elif ports:  # an empty list of ports allows every port
        egress.append({"ports": _tcp_ports(ports)})
    if policy.fetch_jwks:
        blocked = [ip_network(one) for one in blocked_ranges(policy.issuer_ranges)]
        whole = {4: "0.0.0.0/0", 6: "::/0"}
        to = [
            {"ipBlock": {"cidr": cidr, "except": [str(one) for one in blocked if one.version == version]}}
            for version, cidr in whole.items()
        ]
        egress.append({"to": to, "ports": [tcp(HTTPS_PORT)]})
    scrapers = [{"namespaceSelector": {"matchLabels": {NAMESPACE_NAME_LABEL: one}}} for one in policy.metrics_from]
    return {
        "podSelector": {},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [
            {**_from_gateway(mesh, gateway), "ports": [tcp(XDS_PORT), tcp(WEBHOOK_PORT)]},
            {"from": [{"podSelector": {}}, *scrapers], "ports": [tcp(MONITORING_PORT)]},
        ],
        "egress": egress,
    }


def _from_gateway(mesh: Mesh, gateway: GatewayFacts | None) -> Spec:
    if gateway is None or not uses_gateway_alone(mesh):
        return {}
    namespace = {"matchLabels": {NAMESPACE_NAME_LABEL: gateway.namespace}}
    return {"from": [{"namespaceSelector": namespace, "podSelector": {"matchLabels": GATEWAY_POD_LABELS}}]}


@dataclass(frozen=True)
class ExposedService:
    """A Service of istiod for data planes: its name, annotations and spec, and the host of its address."""

    name: str
    host: str
    annotations: dict[str, str]
    spec: Spec


def exposed_services(mesh: Mesh, revision: Revision) -> list[ExposedService]:
    """The load-balancer Services of a revision: none with another exposure, two with separate webhooks."""
    exposure = revision.exposure
    if not isinstance(exposure, LoadBalancerExposure):
        return []
    xds = {"name": "tls-xds", "port": XDS_PORT, "targetPort": XDS_PORT, "protocol": "TCP"}
    hooks = {"name": "https-webhooks", "port": WEBHOOK_PORT, "targetPort": WEBHOOK_PORT, "protocol": "TCP"}
    name, *apart = mesh.exposed_services(revision)
    if exposure.webhooks is None:
        return [_exposed(name, revision, exposure, exposure, revision.host, [xds, hooks])]
    return [
        _exposed(name, revision, exposure, exposure, revision.host, [xds]),
        _exposed(apart[0], revision, exposure, exposure.webhooks, exposure.webhooks.host, [hooks]),
    ]


def _exposed(
    name: str, revision: Revision, exposure: LoadBalancerExposure, allowed: Allowed, host: str, ports: list[Spec]
) -> ExposedService:
    annotations = load_balancer_annotations(
        exposure.annotations,
        host=host if exposure.publish_name else None,
        opened_by="exposure.openToAll" if allowed.open_to_all else None,
    )
    spec = load_balancer_spec(
        istiod_selector(revision),
        ports,
        allowed.source_ranges,
        allocate_node_ports=exposure.allocate_node_ports,
        load_balancer_class=exposure.load_balancer_class,
    )
    wait = service_wait("LoadBalancer", ready=revision.istiod.wait_until_ready)
    return ExposedService(name, host, {**annotations, **wait}, spec)


def _holds_token(volume: Spec) -> bool:
    return any("serviceAccountToken" in source for source in volume.get("projected", {}).get("sources", ()))


def _without_mounts(container: Spec, volumes: set[str]) -> Spec:
    mounts = [mount for mount in container.get("volumeMounts", ()) if mount["name"] not in volumes]
    return {**container, "volumeMounts": mounts}


def _tcp_ports(ports: Collection[int]) -> list[dict[str, Any]]:
    return [tcp(port) for port in sorted(ports)]
