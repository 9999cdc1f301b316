"""Manifests of Kiali. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from pulumi_hosted_mesh.charts import pods
from pulumi_hosted_mesh.observability.control_objects import (
    DIGEST_ANNOTATION,
    PROMETHEUS,
    PROMETHEUS_PORT,
    Spec,
    digest,
    selector,
)
from pulumi_hosted_mesh.spec.features import Rule
from pulumi_hosted_mesh.spec.observability import KIALI_HOME, KialiLogin, Observability
from pulumi_hosted_mesh.vocabulary import NAMESPACE_NAME_LABEL, namespace_of
from pulumi_hosted_mesh.yaml_text import dump

KIALI: Final = "kiali"
PORT: Final = 20001
WEB_ROOT: Final = "/kiali"
CONFIG_FOLDER: Final = "/kiali-configuration"
CONFIG: Final = "config.yaml"
DATA_PLANES: Final = "kiali-data-planes"
"""Secret with a kubeconfig for each data plane, under the cluster's name."""
SIGNING_KEY: Final = "kiali-signing-key"
SIGNING_KEY_FILE: Final = "value.txt"
SIGNING_KEY_FOLDER: Final = "/kiali-override-secrets/login-token-signing-key"
# Kiali reads all kubeconfigs below the first folder as remote clusters, and the file in the second one as its home.
REMOTE_FOLDER: Final = f"/kiali-remote-cluster-secrets/{DATA_PLANES}"
HOME_FOLDER: Final = "/kiali-remote-secret"
ACCOUNT_FOLDER: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
PROGRAM: Final = "/opt/kiali/kiali"
WORKDIR: Final = "/opt/kiali"
_READ: Final = ("get", "list", "watch")


def has_token_login(document: Observability) -> bool:
    """Whether it is the user's view, with the data plane as home and no right on the control plane."""
    return document.kiali.login is KialiLogin.TOKEN


def config(document: Observability) -> dict[str, Any]:
    """Kiali's configuration, without any secret."""
    namespace, mesh = document.own_namespace, namespace_of(document.mesh)
    (first, *_) = document.kiali_data_planes
    users = has_token_login(document)
    return {
        "istio_namespace": mesh if users else document.istiods_namespace,
        "auth": {"strategy": str(document.kiali.login)},
        "deployment": {
            # The caches are of whole clusters: Kiali has one list of namespaces for all of them.
            "accessible_namespaces": ["**"],
            "cluster_wide_access": True,
            "instance_name": KIALI,
            "namespace": namespace,
            "view_only_mode": True,
            "remote_secret_path": f"{HOME_FOLDER}/{first}",
        },
        "external_services": {
            "custom_dashboards": {"enabled": False},
            "grafana": {"enabled": False},
            "tracing": {"enabled": False},
            "istio": {
                "root_namespace": mesh,
                # With the API on, Kiali forwards ports to istiod's Pod, which is a right on each Pod of the cluster.
                "istio_api_enabled": False,
                # From its home alone: the data plane has no istiod, and would be reported as broken.
                "component_status": {"enabled": not users},
            },
            "prometheus": {
                "url": f"http://{PROMETHEUS}.{namespace}.svc:{PROMETHEUS_PORT}",
                "query_scope": {"tenant": document.owner},
            },
        },
        # Both read more of a cluster: logs of all Pods, and Secrets with certificates.
        "kiali_feature_flags": {
            "certificates_information_indicators": {"enabled": False},
            "disabled_features": ["logs-tab"],
        },
        "kubernetes_config": {"cluster_name": first if users else KIALI_HOME},
        "server": {
            "port": PORT,
            "web_root": WEB_ROOT,
            "observability": {"metrics": {"enabled": False}},
        },
    }


def files(document: Observability) -> dict[str, str]:
    """`data` of the ConfigMap."""
    return {CONFIG: dump(config(document))}


def rules() -> list[Rule]:
    """Kiali's rights on a cluster: read only, no Secret, no log, no port of a Pod.

    Each is of an informer of kubernetes/cache/kube_cache.go: with one less, the start waits for ever.
    """
    return [
        Rule("", ("configmaps", "endpoints", "namespaces", "pods", "services"), _READ),
        Rule("apps", ("daemonsets", "deployments", "replicasets", "statefulsets"), _READ),
        Rule(
            "networking.istio.io",
            (
                "destinationrules",
                "envoyfilters",
                "gateways",
                "serviceentries",
                "sidecars",
                "virtualservices",
                "workloadentries",
                "workloadgroups",
            ),
            _READ,
        ),
        Rule("security.istio.io", ("authorizationpolicies", "peerauthentications", "requestauthentications"), _READ),
        Rule("telemetry.istio.io", ("telemetries",), _READ),
        Rule("extensions.istio.io", ("wasmplugins",), _READ),
        Rule(
            "gateway.networking.k8s.io",
            ("gateways", "grpcroutes", "httproutes", "referencegrants", "tcproutes", "tlsroutes"),
            _READ,
        ),
    ]


def deployment(document: Observability) -> Spec:
    """`spec` of the Deployment. The user's view has no ServiceAccount's token."""
    users = has_token_login(document)
    probe = {"httpGet": {"path": f"{WEB_ROOT}/healthz", "port": PORT}, "timeoutSeconds": 10}
    folder = HOME_FOLDER if users else REMOTE_FOLDER
    mounts = [("config", CONFIG_FOLDER), ("signing-key", SIGNING_KEY_FOLDER), ("data-planes", folder)]
    volumes: list[Spec] = [
        {"name": "config", "configMap": {"name": KIALI}},
        pods.secret_volume("signing-key", SIGNING_KEY),
        pods.secret_volume("data-planes", DATA_PLANES, document.kiali_data_planes),
    ]
    if not users:
        mounts.append(("account", ACCOUNT_FOLDER))
        volumes.append(pods.account_volume())
    container = {
        "name": KIALI,
        "image": document.kiali.image,
        "command": [PROGRAM],
        "args": ["-config", f"{CONFIG_FOLDER}/{CONFIG}"],
        # Its server reads ./console/index.html.
        "workingDir": WORKDIR,
        "ports": [{"name": "http", "containerPort": PORT}],
        # The first one passes after the caches of all clusters are filled.
        "startupProbe": {**probe, "periodSeconds": 2, "failureThreshold": 150},
        "readinessProbe": probe,
        "livenessProbe": {**probe, "failureThreshold": 5},
        "resources": pods.requests_and_limits(document.kiali.resources),
        "volumeMounts": [{"name": name, "mountPath": path, "readOnly": True} for name, path in mounts],
        "securityContext": pods.LOCKED,
    }
    pod = {
        "serviceAccountName": KIALI,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": pods.UNPRIVILEGED,
        "containers": [container],
        "volumes": volumes,
    }
    labels = {**selector(KIALI), "sidecar.istio.io/inject": "false"}
    annotations = {DIGEST_ANNOTATION: digest(*files(document).values())}
    return {
        "replicas": 1,
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": selector(KIALI)},
        "template": {"metadata": {"labels": labels, "annotations": annotations}, "spec": pod},
    }


def service() -> Spec:
    """`spec` of the Service, without an address outside of the cluster."""
    return {"selector": selector(KIALI), "ports": [{"name": "http", "port": PORT, "targetPort": PORT}]}


def network_policies(document: Observability, ports: Collection[int]) -> dict[str, Spec]:
    """`spec` of NetworkPolicies by name, beside those of the namespace. ports: of the API servers."""
    readers = [{"namespaceSelector": {"matchLabels": {NAMESPACE_NAME_LABEL: one}}} for one in document.kiali.readers]
    own, prometheus = ({"matchLabels": selector(one)} for one in (KIALI, PROMETHEUS))
    dns = [{"protocol": kind, "port": 53} for kind in ("UDP", "TCP")]
    return {
        KIALI: {
            "podSelector": own,
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"from": readers, "ports": [pods.tcp(PORT)]}] if readers else [],
            "egress": [
                {"to": [{"podSelector": prometheus}], "ports": [pods.tcp(PROMETHEUS_PORT)]},
                {"ports": dns},
                {"ports": [pods.tcp(port) for port in sorted(ports)]},
            ],
        },
        f"{KIALI}-{PROMETHEUS}": {
            "podSelector": prometheus,
            "policyTypes": ["Ingress"],
            "ingress": [{"from": [{"podSelector": own}], "ports": [pods.tcp(PROMETHEUS_PORT)]}],
        },
    }
