"""Objects around istiod on the control plane, as plain data: quota, network policy, the exposed Service."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from pulumi_hosted_mesh.charts.service_wait import service_wait
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.vocabulary import (
    EXTERNAL_DNS_HOSTNAME_ANNOTATION,
    HTTPS_PORT,
    MONITORING_PORT,
    OPEN_TO_ALL_ANNOTATION,
    REVISION_LABEL,
    WEBHOOK_PORT,
    XDS_PORT,
)

SUFFIXES = ("", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti")
Spec = Any
"""A part of a manifest, by Kubernetes' own field names, which Pulumi's typed arguments take as they are."""


def istiod_selector(mesh: Mesh) -> dict[str, str]:
    """Labels of istiod's Pods of this revision."""
    return {"app": "istiod", REVISION_LABEL: mesh.revision}


def without_tokens(spec: Spec) -> Spec:
    """`spec` of istiod's Pods with no token of their ServiceAccount, for which the chart has no value.

    istiod calls the user's API server alone, so a token for the provider's would only be there to be stolen. The chart
    mounts a second one, `istio-token`, for the audience istio-ca, which some API servers take for their own. istiod
    reads that only outside Kubernetes, to learn the issuer of its kind (RunCA in pilot/pkg/bootstrap/istio_ca.go).
    """
    tokens = {volume["name"] for volume in spec["volumes"] if _holds_token(volume)}
    result = {**spec, "automountServiceAccountToken": False}
    result["volumes"] = [volume for volume in spec["volumes"] if volume["name"] not in tokens]
    for kind in result.keys() & {"containers", "initContainers"}:
        result[kind] = [_without_mounts(container, tokens) for container in spec[kind]]
    return result


def quota_limits(mesh: Mesh) -> dict[str, str]:
    """`spec.hard` of the namespace's quota: what istiod needs while a rollout has both sets of Pods, and no more."""
    istiod, resources = mesh.control_plane.istiod, mesh.control_plane.istiod.resources
    pods = 2 * istiod.replicas
    return {
        "pods": str(pods),
        "requests.cpu": times(resources.cpu_request, pods),
        "requests.memory": times(resources.memory_request, pods),
        "limits.cpu": times(resources.cpu_limit, pods),
        "limits.memory": times(resources.memory_limit, pods),
        "services.loadbalancers": "1",
        # Service types count NodePorts only where they are allocated; istiod's other Service has none.
        "services.nodeports": "2" if mesh.control_plane.exposure.allocate_node_ports else "0",
    }


def times(quantity: str, count: int) -> str:
    """A Kubernetes quantity multiplied, in the canonical form in which the API server gives it back."""
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


def network_policy_spec(mesh: Mesh) -> Spec:
    """`spec` of the namespace's NetworkPolicy: in come xDS and webhooks, and metrics' readers; out go DNS and HTTPS.

    Out to the user's API server, on its port, at `networkPolicy.apiServerRanges` or any address; and to port 443 of any
    address, for the keys of token issuers (JWKS) that the user's RequestAuthentication may name, unless
    `networkPolicy.fetchJwks` is off.

    Port 8080, with istiod's readiness and its debug pages, needs no rule: a kubelet's probes come from the Pod's own
    node, which no NetworkPolicy keeps out.

    Addresses of those who come in are limited by the exposed Service's source ranges and not here: behind a load
    balancer a NetworkPolicy sees a node's address.
    """
    policy = mesh.control_plane.network_policy
    egress: list[Spec] = [{"ports": [_tcp(53), {"protocol": "UDP", "port": 53}]}]
    to_any = {HTTPS_PORT} if policy.fetch_jwks else set()
    if policy.api_server_ranges:
        ranges = [{"ipBlock": {"cidr": cidr}} for cidr in policy.api_server_ranges]
        egress.append({"to": ranges, "ports": [_tcp(mesh.api_server_port)]})
    else:
        to_any.add(mesh.api_server_port)
    if to_any:  # no port at all would mean every port
        egress.append({"ports": _tcp_ports(to_any)})
    return {
        "podSelector": {},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [
            {"ports": [_tcp(XDS_PORT), _tcp(WEBHOOK_PORT)]},
            {"from": [{"podSelector": {}}], "ports": [_tcp(MONITORING_PORT)]},
        ],
        "egress": egress,
    }


def exposed_service_annotations(mesh: Mesh) -> dict[str, str]:
    """Annotations of the exposed Service: the user's, the published name, and whether Pulumi waits for an address."""
    exposure = mesh.control_plane.exposure
    annotations = dict(exposure.annotations)
    if exposure.publish_name:
        annotations[EXTERNAL_DNS_HOSTNAME_ANNOTATION] = mesh.control_plane.host
    if exposure.open_to_all:
        annotations[OPEN_TO_ALL_ANNOTATION] = "controlPlane.exposure.openToAll"
    return annotations | service_wait("LoadBalancer", ready=mesh.control_plane.istiod.wait_until_ready)


def exposed_service_spec(mesh: Mesh) -> Spec:
    """`spec` of the Service through which the data plane reaches istiod: two ports, both TLS, and the allow-list."""
    exposure = mesh.control_plane.exposure
    spec: dict[str, Any] = {
        "type": "LoadBalancer",
        "selector": istiod_selector(mesh),
        "ports": [
            {"name": "tls-xds", "port": XDS_PORT, "targetPort": XDS_PORT, "protocol": "TCP"},
            {"name": "https-webhooks", "port": WEBHOOK_PORT, "targetPort": WEBHOOK_PORT, "protocol": "TCP"},
        ],
        "allocateLoadBalancerNodePorts": exposure.allocate_node_ports,
    }
    if exposure.source_ranges:
        spec["loadBalancerSourceRanges"] = list(exposure.source_ranges)
    if exposure.load_balancer_class:
        spec["loadBalancerClass"] = exposure.load_balancer_class
    return spec


def _holds_token(volume: Spec) -> bool:
    return any("serviceAccountToken" in source for source in volume.get("projected", {}).get("sources", ()))


def _without_mounts(container: Spec, volumes: set[str]) -> Spec:
    mounts = [mount for mount in container.get("volumeMounts", ()) if mount["name"] not in volumes]
    return {**container, "volumeMounts": mounts}


def _tcp(port: int) -> dict[str, Any]:
    return {"protocol": "TCP", "port": port}


def _tcp_ports(ports: set[int]) -> list[dict[str, Any]]:
    return [_tcp(port) for port in sorted(ports)]
