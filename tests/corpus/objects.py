"""Objects that the corpus's programs are made of, right by default; each argument makes one thing wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from tests.corpus import literals
from tests.corpus.world import Object, World

CACERTS_KEYS = ("ca-cert.pem", "ca-key.pem", "root-cert.pem", "cert-chain.pem")


def cacerts(
    world: World,
    *,
    side: str = "cp",
    namespace: str = "default",
    keys: Sequence[str] = CACERTS_KEYS,
    private: pulumi.Input[str] | None = None,
) -> Object:
    """istiod's certificate authority. private: its key, by default a literal one."""
    certificate, literal = literals.authority()
    found = pulumi.Output.secret(private or literal)
    data = {name: found if name == "ca-key.pem" else certificate for name in keys}
    return world.secret(side, "cacerts", data, namespace=namespace)


def istiod(
    world: World,
    *,
    env: Mapping[str, str] | None = None,
    mount_cacerts: bool = True,
    args: Sequence[str] = ("discovery", '--grpcAddr=""', "--domain", "cluster.local"),
    replicas: int = 1,
) -> Object:
    """An external istiod's Deployment."""
    volumes = [{"name": "kubeconfig", "secret": {"secretName": "istio-kubeconfig"}}]
    mounts = [{"name": "kubeconfig", "mountPath": "/var/run/secrets/remote"}]
    if mount_cacerts:
        volumes.append({"name": "cacerts", "secret": {"secretName": "cacerts"}})
        mounts.append({"name": "cacerts", "mountPath": "/etc/cacerts"})
    container = {
        "name": "discovery",
        "image": "registry.example.com/pilot:1.31.0",
        "args": list(args),
        "env": [{"name": k, "value": v} for k, v in {"EXTERNAL_ISTIOD": "true", **(env or {})}.items()],
        "volumeMounts": mounts,
    }
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": "istiod"}},
        "template": {
            "metadata": {"labels": {"app": "istiod"}},
            "spec": {"containers": [container], "volumes": volumes},
        },
    }
    annotations = {"pulumi.com/skipAwait": "true"}
    return world.object("cp", "apps/v1:Deployment", "istiod", {"spec": spec, "metadata": {"annotations": annotations}})


def webhook(world: World, kind: str = "Mutating", side: str = "dp", **changes: Any) -> Object:
    """A webhook configuration of the mesh. A change of None removes a field."""
    hook = {
        "name": "namespace.sidecar-injector.istio.io",
        "clientConfig": {"url": "https://istiod.example.com:15017/inject", "caBundle": "Q0E="},
        "timeoutSeconds": 10,
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **changes,
    }
    return world.object(
        side,
        f"admissionregistration.k8s.io/v1:{kind}WebhookConfiguration",
        "istio-sidecar-injector",
        {
            "webhooks": [{k: v for k, v in hook.items() if v is not None}],
            "metadata": {"labels": {"istio.io/rev": "default"}},
        },
    )


def role(
    world: World,
    rules: Sequence[Mapping[str, Any]],
    *,
    name: str = "istiod-reader",
    labels: Mapping[str, str] | None = None,
) -> Object:
    """A ClusterRole of istiod's on the user's cluster."""
    own = {"app": "istiod"} if labels is None else dict(labels)
    body = {"rules": [dict(rule) for rule in rules], "metadata": {"labels": own}}
    return world.object("dp", "rbac.authorization.k8s.io/v1:ClusterRole", name, body)


def binding(world: World, to: str) -> Object:
    """Binds istiod's account to a role."""
    body = {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": to},
        "subjects": [{"kind": "ServiceAccount", "name": "istiod", "namespace": "default"}],
    }
    return world.object("dp", "rbac.authorization.k8s.io/v1:ClusterRoleBinding", "mesh", body)


def load_balancer(
    world: World,
    *,
    ports: Sequence[int] = (15012, 15017),
    ranges: Sequence[str] = ("192.0.2.0/24",),
    kind: str = "LoadBalancer",
    annotations: Mapping[str, str] | None = None,
) -> Object:
    """istiod's exposure."""
    spec: dict[str, Any] = {
        "type": kind,
        "selector": {"app": "istiod"},
        "ports": [{"name": f"p{port}", "port": port, "targetPort": port} for port in ports],
    }
    if kind == "LoadBalancer":
        spec["loadBalancerSourceRanges"] = list(ranges)
    metadata = {"annotations": {"pulumi.com/skipAwait": "true", **(annotations or {})}}
    return world.object("cp", "v1:Service", "istiod-exposed", {"spec": spec, "metadata": metadata})


def gateway(
    world: World,
    *,
    hosts: Sequence[str] = ("istiod.example.com",),
    protocol: str = "TLS",
    tls: Mapping[str, Any] | None = None,
) -> Object:
    """An Istio Gateway in front of istiod."""
    server = {
        "port": {"number": 15012, "name": "xds", "protocol": protocol},
        "hosts": list(hosts),
        "tls": dict(tls or {"mode": "MUTUAL", "minProtocolVersion": "TLSV1_2", "credentialName": "istiod"}),
    }
    return world.object("cp", "networking.istio.io/v1:Gateway", "istiod", {"spec": {"servers": [server]}})


def two_meshes(world: World) -> None:
    """Two tenants' namespaces, quotas and hosts."""
    for mesh in ("a", "b"):
        labels = {"hosted-mesh.io/mesh": mesh}
        world.object("cp", "v1:Namespace", f"mesh-{mesh}", {"metadata": {"labels": labels}})
        world.object(
            "cp",
            "v1:Service",
            f"istiod-{mesh}",
            {
                "metadata": {
                    "namespace": f"mesh-{mesh}",
                    "annotations": {"external-dns.alpha.kubernetes.io/hostname": f"{mesh}.example.com"},
                },
                "spec": {"ports": [{"port": 15012}]},
            },
        )


def operator(world: World, side: str) -> Object:
    """An operator's ClusterServiceVersion that owns Widgets."""
    spec = {
        "customresourcedefinitions": {"owned": [{"name": "widgets.example.com", "kind": "Widget", "version": "v1"}]}
    }
    return world.object(side, "operators.coreos.com/v1alpha1:ClusterServiceVersion", "widgets.v1", {"spec": spec})


def bundle() -> str:
    """A file-based catalog with one bundle, of an operator that owns Widgets."""
    owned = {"type": "olm.gvk", "value": {"group": "example.com", "kind": "Widget", "version": "v1"}}
    return json.dumps({"schema": "olm.bundle", "package": "widgets", "name": "widgets.v1", "properties": [owned]})


def subscription(world: World, side: str) -> Object:
    """A Subscription to Widgets' operator."""
    spec = {"name": "widgets", "channel": "stable", "source": "catalog", "sourceNamespace": "olm"}
    return world.object(side, "operators.coreos.com/v1alpha1:Subscription", "widgets", {"spec": spec})


def catalog_source(world: World, side: str, spec: Mapping[str, Any]) -> Object:
    """A catalog, by an image or an address."""
    return world.object(side, "operators.coreos.com/v1alpha1:CatalogSource", "catalog", {"spec": dict(spec)})


def definitions(world: World) -> None:
    """The definitions of the custom resources that clean programs write: the corpus's own, and Istio's."""
    istio = "networking.istio.io"
    for group, version, kind, plural in (
        ("example.com", "v1", "Widget", "widgets"),
        (istio, "v1", "ServiceEntry", "serviceentries"),
        (istio, "v1", "DestinationRule", "destinationrules"),
        (istio, "v1alpha3", "EnvoyFilter", "envoyfilters"),
        ("operators.coreos.com", "v1alpha1", "Subscription", "subscriptions"),
        ("operators.coreos.com", "v1alpha1", "CatalogSource", "catalogsources"),
    ):
        anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything}}}
        spec = {
            "group": group,
            "names": {"kind": kind, "plural": plural},
            "scope": "Namespaced",
            "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
        }
        body = {"spec": spec, "metadata": {"name": f"{plural}.{group}"}}
        world.object("dp", "apiextensions.k8s.io/v1:CustomResourceDefinition", plural, body)
