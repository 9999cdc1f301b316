"""DestinationRules: the treatment of connections to a called service. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pulumi_hosted_mesh.intents.compiled import NETWORKING, Manifest
from pulumi_hosted_mesh.intents.resolved import Resolved
from pulumi_hosted_mesh.intents.work import made
from pulumi_hosted_mesh.spec.intents import PRINCIPAL, Intent, IntentType, MeshType, Weight
from pulumi_hosted_mesh.spec.inventory import InventoryCluster

CLUSTER_LABEL: Final = "topology.istio.io/cluster"
# Istio's own defaults, written out: locality takes effect with outlier detection only.
EJECTION: Final = {"consecutive5xxErrors": 5, "interval": "10s", "baseEjectionTime": "30s"}
SETTINGS: Final = ("load_balancing", "circuit_breaking", "weights", "mirror", "locality", "service_accounts")


def has_settings(intent: Intent) -> bool:
    """Whether an intent needs a DestinationRule of its own."""
    return any(getattr(intent, field) for field in SETTINGS) or (
        intent.mutual_tls and intent.type is not IntentType.INBOUND
    )


def destination_rules(one: Resolved, cluster: InventoryCluster) -> Iterator[Manifest]:
    """The rule of an intent with settings, beside its callee."""
    intent = one.intent
    if not has_settings(intent):
        return
    spec: Manifest = {"host": one.host(cluster)}
    if policy := traffic_policy(one, cluster):  # istiod's webhook rejects an empty one
        spec["trafficPolicy"] = policy
    if one.mesh_type(cluster) is MeshType.ISTIO and (subsets := subsets_of(intent)):
        spec["subsets"] = subsets
    if len(spec) == 1:
        return
    field = next((name for name in SETTINGS if getattr(intent, name)), "mutual_tls")
    words = "".join(part.capitalize() if at else part for at, part in enumerate(field.split("_")))
    yield made(one, cluster, NETWORKING, "DestinationRule", one.service.namespace, spec, words)


def near(host: str) -> Manifest:
    """Spec for a callee in several clusters without settings: near endpoints first, failing ones left out."""
    policy = {
        "tls": {"mode": "ISTIO_MUTUAL"},
        "loadBalancer": {"localityLbSetting": {"enabled": True}},
        "outlierDetection": EJECTION,
    }
    return {"host": host, "trafficPolicy": policy}


def traffic_policy(one: Resolved, cluster: InventoryCluster) -> Manifest:
    """TLS, the choice among endpoints, limits and ejection."""
    intent, policy = one.intent, dict[str, Any]()
    if intent.type is IntentType.INTER_CLUSTER or intent.mutual_tls or intent.service_accounts:
        policy["tls"] = {"mode": "ISTIO_MUTUAL", **_names(one, cluster)}
    balancer = _balancer(intent)
    if balancer:
        policy["loadBalancer"] = balancer
    if limits := _limits(intent):
        policy["connectionPool"] = limits
    breaking = intent.circuit_breaking
    if intent.locality or intent.type is IntentType.INTER_CLUSTER or (breaking and breaking.consecutive_errors):
        policy["outlierDetection"] = dict(EJECTION)
        if breaking:
            given = {
                "consecutive5xxErrors": breaking.consecutive_errors,
                "interval": breaking.interval,
                "baseEjectionTime": breaking.base_ejection_time,
            }
            policy["outlierDetection"] |= {key: value for key, value in given.items() if value is not None}
    return policy


def _names(one: Resolved, cluster: InventoryCluster) -> Manifest:
    names = [
        account if PRINCIPAL.fullmatch(account) else f"{cluster.domain}/ns/{one.service.namespace}/sa/{account}"
        for account in one.intent.service_accounts
    ]
    return {"subjectAltNames": [f"spiffe://{name}" for name in sorted(names)]} if names else {}


def _balancer(intent: Intent) -> Manifest:
    balancer: Manifest = {}
    balancing = intent.load_balancing
    if balancing:
        if balancing.simple:
            balancer["simple"] = balancing.simple.value
        elif balancing.http_header_name:
            balancer["consistentHash"] = {"httpHeaderName": balancing.http_header_name}
        elif balancing.http_cookie:
            balancer["consistentHash"] = {"httpCookie": {"name": balancing.http_cookie, "ttl": "0s"}}
        else:
            balancer["consistentHash"] = {"useSourceIp": True}
    if intent.locality or intent.type is IntentType.INTER_CLUSTER:
        failover = intent.locality.failover if intent.locality else {}
        pairs = [{"from": one, "to": other} for one, other in sorted(failover.items())]
        balancer["localityLbSetting"] = {"enabled": True, **({"failover": pairs} if pairs else {})}
    return balancer


def _limits(intent: Intent) -> Manifest:
    breaking = intent.circuit_breaking
    if not breaking:
        return {}
    tcp = {"maxConnections": breaking.max_connections}
    http = {
        "http1MaxPendingRequests": breaking.max_pending_requests,
        "http2MaxRequests": breaking.max_requests,
        "maxRequestsPerConnection": breaking.max_requests_per_connection,
    }
    parts = {"tcp": tcp, **({"http": http} if intent.protocol.is_http else {})}
    found = {key: {name: value for name, value in part.items() if value} for key, part in parts.items()}
    return {key: part for key, part in found.items() if part}


def subset_name(weight: Weight) -> str:
    """Name of a share's subset."""
    return weight.version or f"cluster-{weight.cluster}"


def subsets_of(intent: Intent) -> list[Manifest]:
    """The subsets of weights and of a mirror."""
    found: dict[str, Manifest] = {}
    for weight in intent.weights or ():
        labels = {"version": weight.version} if weight.version else {CLUSTER_LABEL: weight.cluster}
        found[subset_name(weight)] = {"name": subset_name(weight), "labels": labels}
    if intent.mirror:
        version = intent.mirror.version
        found[version] = {"name": version, "labels": {"version": version}}
    return [found[name] for name in sorted(found)]
