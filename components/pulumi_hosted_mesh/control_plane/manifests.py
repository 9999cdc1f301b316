"""Objects around istiod on the control plane, as plain data: quota, network policy, the exposed Service."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pulumi_hosted_mesh.charts.service_wait import service_wait
from pulumi_hosted_mesh.spec.exposure import Allowed, LoadBalancerExposure
from pulumi_hosted_mesh.spec.fields import amount
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.revision import Revision
from pulumi_hosted_mesh.vocabulary import (
    CACERTS_SECRET,
    EXTERNAL_DNS_HOSTNAME_ANNOTATION,
    HTTPS_PORT,
    KUBECONFIG_SECRET,
    MONITORING_PORT,
    NAMESPACE_NAME_LABEL,
    OPEN_TO_ALL_ANNOTATION,
    REVISION_LABEL,
    WEBHOOK_PORT,
    XDS_PORT,
    revocation_list_config_map,
)

IMPERSONATORS = "CA_TRUSTED_NODE_ACCOUNTS"
NEEDED_SECRETS = frozenset({CACERTS_SECRET, KUBECONFIG_SECRET})
INJECTION_VALUES = "values"
"""Where the chart's ConfigMap of injection, and no other, has the values that its templates read."""
SUFFIXES = ("", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti")
Spec = Any
"""A part of a manifest, by Kubernetes' own field names, which Pulumi's typed arguments take as they are."""


def istiod_selector(revision: Revision) -> dict[str, str]:
    """Labels of istiod's Pods of this revision."""
    return {"app": "istiod", REVISION_LABEL: revision.name}


def istiods_pod(spec: Spec) -> Spec:
    """`spec` of istiod's Pods without what the chart gives them unasked: their account's tokens and impersonation.

    Nor does one start without its authority and its kubeconfig, see `with_secrets`.

    The chart trusts `<namespace>/ztunnel` of the data plane to ask for other workloads' certificates. Who may make that
    account gets any SPIFFE name signed, of another trust domain too: istiod compares namespace and account alone
    (authenticateImpersonation in security/pkg/server/ca/node_auth.go). Only ambient mode needs it.
    """
    result = with_secrets(without_tokens(spec))
    for container in result["containers"]:
        container["env"] = [one for one in container.get("env", ()) if one["name"] != IMPERSONATORS]
    return result


def with_secrets(spec: Spec) -> Spec:
    """`spec` of istiod's Pods, which wait for the Secrets `cacerts` and `istio-kubeconfig`.

    The chart mounts both if they are there. Without the first istiod takes an authority that lies in the data plane's
    cluster, or makes one there, if its kubeconfig may (createIstioCA in pilot/pkg/bootstrap/istio_ca.go). And of a
    Secret that is deleted while istiod runs kubelet takes the files out of the Pod, unless it has to be there.
    """
    volumes = [
        {**volume, "secret": {**volume["secret"], "optional": False}}
        if volume.get("secret", {}).get("secretName") in NEEDED_SECRETS
        else volume
        for volume in spec["volumes"]
    ]
    return {**spec, "volumes": volumes}


def without_tokens(spec: Spec) -> Spec:
    """`spec` of istiod's Pods with no token of their ServiceAccount, for which the chart has no value.

    istiod calls the data plane's API server alone: a token for its own cluster's would only be there to be stolen. The
    chart mounts a second one, `istio-token`, for the audience istio-ca, which some API servers take for their own.
    istiod reads that only outside Kubernetes, to learn the issuer of its kind (RunCA in
    pilot/pkg/bootstrap/istio_ca.go).
    """
    tokens = {volume["name"] for volume in spec["volumes"] if _holds_token(volume)}
    result = {**spec, "automountServiceAccountToken": False}
    result["volumes"] = [volume for volume in spec["volumes"] if volume["name"] not in tokens]
    for kind in result.keys() & {"containers", "initContainers"}:
        result[kind] = [_without_mounts(container, tokens) for container in spec[kind]]
    return result


def with_revocation_list(mesh: Mesh, data: dict[str, str]) -> dict[str, str]:
    """`data` of a ConfigMap of the chart; in that of injection the name of the mesh's list of revoked certificates.

    Injected Pods mount it by `.Values.pilot.crlConfigMapName`, and do without it where it is not there; but of `pilot`
    the chart hands on no more than `cni` and `env` (templates/istiod-injector-configmap.yaml).
    """
    if INJECTION_VALUES not in data:
        return data
    values = json.loads(data[INJECTION_VALUES])
    values["pilot"] = {**(values.get("pilot") or {}), "crlConfigMapName": revocation_list_config_map(mesh.name)}
    return {**data, INJECTION_VALUES: json.dumps(values, indent=2)}


def quota_limits(mesh: Mesh) -> dict[str, str]:
    """`spec.hard` of the namespace's quota: what its istiods need while a rollout has both sets of Pods.

    And as much again for one revision more, the largest: when one takes another's place, both are there for a while.
    """
    revisions = [*mesh.revisions, max(mesh.revisions, key=lambda one: one.istiod.most_replicas)]
    sizes = [(2 * one.istiod.most_replicas, one.istiod.resources) for one in revisions]
    services = [service for one in revisions for service in exposed_services(mesh, one)]
    node_ports = [port for one in services if one.spec["allocateLoadBalancerNodePorts"] for port in one.spec["ports"]]
    return {
        "pods": str(sum(pods for pods, _ in sizes)),
        "requests.cpu": total((size.cpu_request, pods) for pods, size in sizes),
        "requests.memory": total((size.memory_request, pods) for pods, size in sizes),
        "limits.cpu": total((size.cpu_limit, pods) for pods, size in sizes),
        "limits.memory": total((size.memory_limit, pods) for pods, size in sizes),
        "services.loadbalancers": str(len(services)),
        # Service types count NodePorts only where they are allocated; istiod's other Services have none.
        "services.nodeports": str(len(node_ports)),
    }


def total(parts: Iterable[tuple[str, int]]) -> str:
    """The sum of Kubernetes quantities, each taken so often, in the canonical form of the API server."""
    found = list(parts)
    if len(found) == 1:
        return times(*found[0])
    number = sum((amount(quantity) * count for quantity, count in found), Decimal(0))
    if number % 1:
        return times(f"{number * 1000:f}m", 1)
    # Memory is given in binary units nearly always, and cores are never so many that they could be taken for it.
    return times(f"{number / 1024:f}Ki", 1) if number >= 1024 and number % 1024 == 0 else times(f"{number:f}", 1)


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


def network_policy_spec(mesh: Mesh, ports: Collection[int]) -> Spec:
    """`spec` of the namespace's NetworkPolicy: in come xDS and webhooks, and metrics' readers; out go DNS and HTTPS.

    Out to the data planes' API servers, on their ports, at `networkPolicy.apiServerRanges` or any address; and to port
    443 of any address, for the keys of token issuers (JWKS) that a RequestAuthentication may name, unless
    `networkPolicy.fetchJwks` is off. Metrics come in from the namespace itself and from `networkPolicy.metricsFrom`.
    ports: of the data planes' API servers.

    Port 8080, with istiod's readiness and its debug pages, needs no rule: a kubelet's probes come from the Pod's own
    node, which no NetworkPolicy keeps out.

    Addresses of those who come in are limited by the exposed Service's source ranges and not here: behind a load
    balancer a NetworkPolicy sees a node's address.
    """
    policy = mesh.control_plane.network_policy
    dns = [{"protocol": kind, "port": port} for port in policy.dns_ports for kind in ("TCP", "UDP")]
    egress: list[Spec] = [{"ports": dns}]
    to_any = {HTTPS_PORT} if policy.fetch_jwks else set()
    if policy.api_server_ranges:
        ranges = [{"ipBlock": {"cidr": cidr}} for cidr in policy.api_server_ranges]
        egress.append({"to": ranges, "ports": _tcp_ports(ports)})
    else:
        to_any |= set(ports)
    if to_any:  # no port at all would mean every port
        egress.append({"ports": _tcp_ports(to_any)})
    scrapers = [{"namespaceSelector": {"matchLabels": {NAMESPACE_NAME_LABEL: one}}} for one in policy.metrics_from]
    return {
        "podSelector": {},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [
            {"ports": [_tcp(XDS_PORT), _tcp(WEBHOOK_PORT)]},
            {"from": [{"podSelector": {}}, *scrapers], "ports": [_tcp(MONITORING_PORT)]},
        ],
        "egress": egress,
    }


@dataclass(frozen=True)
class ExposedService:
    """A Service through which data planes reach istiod: its name, annotations and spec; and the host of its address."""

    name: str
    host: str
    annotations: dict[str, str]
    spec: Spec


def exposed_services(mesh: Mesh, revision: Revision) -> list[ExposedService]:
    """The Services of a revision: one, or two where webhooks have a load balancer of their own, or none."""
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
    annotations = dict(exposure.annotations)
    if exposure.publish_name:
        annotations[EXTERNAL_DNS_HOSTNAME_ANNOTATION] = host
    if allowed.open_to_all:
        annotations[OPEN_TO_ALL_ANNOTATION] = "exposure.openToAll"
    spec: dict[str, Any] = {
        "type": "LoadBalancer",
        "selector": istiod_selector(revision),
        "ports": ports,
        "allocateLoadBalancerNodePorts": exposure.allocate_node_ports,
    }
    if allowed.source_ranges:
        spec["loadBalancerSourceRanges"] = list(allowed.source_ranges)
    if exposure.load_balancer_class:
        spec["loadBalancerClass"] = exposure.load_balancer_class
    wait = service_wait("LoadBalancer", ready=revision.istiod.wait_until_ready)
    return ExposedService(name, host, {**annotations, **wait}, spec)


def _holds_token(volume: Spec) -> bool:
    return any("serviceAccountToken" in source for source in volume.get("projected", {}).get("sources", ()))


def _without_mounts(container: Spec, volumes: set[str]) -> Spec:
    mounts = [mount for mount in container.get("volumeMounts", ()) if mount["name"] not in volumes]
    return {**container, "volumeMounts": mounts}


def _tcp(port: int) -> dict[str, Any]:
    return {"protocol": "TCP", "port": port}


def _tcp_ports(ports: Collection[int]) -> list[dict[str, Any]]:
    return [_tcp(port) for port in sorted(ports)]
