"""Objects of OLM and of catalogs on the control plane, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pulumi_hosted_mesh import canonical
from pulumi_hosted_mesh.charts import pods
from pulumi_hosted_mesh.charts.load_balancer import load_balancer_annotations, load_balancer_spec
from pulumi_hosted_mesh.control_plane.manifests import quota_of
from pulumi_hosted_mesh.operators import tunnel
from pulumi_hosted_mesh.spec.istiod import Resources
from pulumi_hosted_mesh.spec.operators import OperatorCatalog, OperatorImages, Operators

Spec = dict[str, Any]
OLM_OPERATOR: Final = "olm-operator"
CATALOG_OPERATOR: Final = "catalog-operator"
PACKAGE_SERVER: Final = "packageserver"
ACCOUNTS: Final = (OLM_OPERATOR, CATALOG_OPERATOR, PACKAGE_SERVER)
"""Accounts in the hosted cluster; also the names of Deployments and Secrets on the control plane."""
SERVING_SECRET: Final = "packageserver-tls"  # noqa: S105 (a name)
APP: Final = "app.kubernetes.io/name"
CATALOG_LABEL: Final = "hosted-mesh.io/catalog"
KUBECONFIG: Final = "kubeconfig"
ACCOUNT_FOLDER: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
CLUSTER_FOLDER: Final = "/hosted-cluster"
SERVING_FOLDER: Final = "/serving"
CATALOG_FOLDER: Final = "/configs"
CATALOG_FILE: Final = "catalog.yaml"
CACHE_FOLDER: Final = "/cache"
HEALTH_PORT: Final = 8080
SERVING_PORT: Final = 5443
CATALOG_PORT: Final = 50051
RESTRICTED: Final = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "audit", "warn")}
"""Labels of the namespace: Pod Security of its Pods."""


def catalog_name(catalog: OperatorCatalog) -> str:
    """Name of a catalog's Deployment, Service and ConfigMap."""
    return f"catalog-{catalog.name}"


def catalog_address(document: Operators, catalog: OperatorCatalog) -> str:
    """The address in the CatalogSource, as the control plane's Pods resolve it."""
    suffix = tunnel.suffix(document, document.tunnel) if document.tunnel else f"{document.control_plane_namespace}.svc"
    return catalog.address or f"{catalog_name(catalog)}.{suffix}:{CATALOG_PORT}"


def api_server_address(document: Operators) -> tuple[str, int]:
    """Host and port of the hosted cluster's API server."""
    return canonical.server_host_and_port(document.api_server)


def olm_operator_pod(document: Operators) -> Spec:
    """`spec` of olm-operator's Pod. It reads the kubeconfig from KUBECONFIG; it has no flag for it."""
    environment = {
        "KUBECONFIG": f"{CLUSTER_FOLDER}/{KUBECONFIG}",
        "OPERATOR_NAMESPACE": document.namespace,
        "OPERATOR_NAME": OLM_OPERATOR,
    }
    arguments = ["--namespace", document.namespace]
    return _operator_pod(document, OLM_OPERATOR, document.images.olm, "/bin/olm", arguments, environment)


def catalog_operator_pod(document: Operators) -> Spec:
    """`spec` of catalog-operator's Pod."""
    images = document.images
    arguments = [
        *("--namespace", document.namespace, "--kubeconfig", f"{CLUSTER_FOLDER}/{KUBECONFIG}"),
        *("--util-image", images.unpack, "--opmImage", images.opm),
    ]
    return _operator_pod(
        document, CATALOG_OPERATOR, images.catalog, "/bin/catalog", arguments, tunnel.environment(document)
    )


def package_server_pod(document: Operators) -> Spec:
    """`spec` of packageserver's Pods.

    Its kubeconfig flags do not reach its delegated authorization, which falls back to the cluster that it runs in. So
    it runs as in the hosted cluster: that API server's address in the environment, and that account's files at the path
    of a ServiceAccount. The provider's own token is not mounted.
    """
    host, port = api_server_address(document)
    arguments = [
        *("-v=2", "--secure-port", str(SERVING_PORT), "--global-namespace", document.namespace),
        *("--tls-cert-file", f"{SERVING_FOLDER}/tls.crt", "--tls-private-key-file", f"{SERVING_FOLDER}/tls.key"),
    ]
    probe = {"httpGet": {"path": "/healthz", "port": SERVING_PORT, "scheme": "HTTPS"}, "timeoutSeconds": 5}
    container = _container(
        PACKAGE_SERVER,
        document.images.package_server,
        _command(document.images, "/bin/package-server"),
        arguments,
        {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": str(port), **tunnel.environment(document)},
        document.resources,
        {"account": ACCOUNT_FOLDER, "serving": SERVING_FOLDER},
        probe,
    )
    volumes = [pods.secret_volume("account", PACKAGE_SERVER), pods.secret_volume("serving", SERVING_SECRET)]
    pod = _pod(container, volumes)
    return {**pod, "affinity": pods.preferably_apart({APP: PACKAGE_SERVER})}


def catalog_pod(document: Operators, catalog: OperatorCatalog) -> Spec:
    """`spec` of the Pod that serves a catalog. It has no credential and opens no connection."""
    image, command = document.images.opm, _command(document.images, "/bin/opm")
    if catalog.image is not None:
        image, command = catalog.image, []
    # The cache is written at the first start; a digest of an image's own cache would not fit.
    arguments = [
        *("serve", CATALOG_FOLDER, "--port", str(CATALOG_PORT)),
        *(f"--cache-dir={CACHE_FOLDER}", "--cache-enforce-integrity=false"),
        "--termination-log=/tmp/termination.log",
    ]
    mounts, parts = {"cache": CACHE_FOLDER}, {}
    volumes: list[Spec] = [{"name": "cache", "emptyDir": {}}]
    if catalog.content is not None:
        # The file alone: opm reads all in the folder, and fails at the link `..data` of a whole ConfigMap.
        mounts["configs"], parts["configs"] = f"{CATALOG_FOLDER}/{CATALOG_FILE}", CATALOG_FILE
        volumes.append({"name": "configs", "configMap": {"name": catalog_name(catalog)}})
    probe = {"grpc": {"port": CATALOG_PORT}, "timeoutSeconds": 5}
    container = _container("registry", image, command, arguments, {}, document.catalog_resources, mounts, probe, parts)
    return _pod(container, volumes)


def deployment(
    name: str, pod: Spec, labels: Mapping[str, str], annotations: Mapping[str, Any], *, replicas: int = 1, alone: bool
) -> Spec:
    """`spec` of a Deployment. alone: at most one Pod at a time, also during an update."""
    selector = {APP: name}
    return {
        "replicas": replicas,
        "selector": {"matchLabels": selector},
        **({"strategy": {"type": "Recreate"}} if alone else {}),
        "template": {"metadata": {"labels": {**labels, **selector}, "annotations": dict(annotations)}, "spec": pod},
    }


def catalog_service() -> Spec:
    """`spec` of a catalog's Service, without its selector."""
    return {"ports": [{"name": "grpc", "port": CATALOG_PORT, "targetPort": CATALOG_PORT}]}


def package_service(document: Operators) -> Spec:
    """`spec` of packageserver's Service."""
    exposure = document.package_server
    ports = [{"name": "https", "port": exposure.port, "targetPort": SERVING_PORT, "protocol": "TCP"}]
    return load_balancer_spec({APP: PACKAGE_SERVER}, ports, exposure.source_ranges)


def package_service_annotations(document: Operators) -> dict[str, str]:
    """Annotations of packageserver's Service."""
    exposure = document.package_server
    return load_balancer_annotations(
        exposure.annotations,
        host=exposure.host if exposure.publish_name else None,
        opened_by="packageServer.openToAll" if exposure.open_to_all else None,
    )


def network_policies(document: Operators) -> dict[str, Spec]:
    """`spec` of the NetworkPolicies by name: nothing is open but the connections in this table.

    Names and addresses of catalogs come from the hosted cluster's users. Without limits catalog-operator would connect
    to any Service of the control plane for them, also to another hosted cluster's.
    """
    policy = document.network_policy
    _, port = api_server_address(document)
    dns = {"ports": [{"protocol": kind, "port": one} for one in policy.dns_ports for kind in ("UDP", "TCP")]}
    api_server = {"to": _blocks(policy.api_server_ranges), "ports": [pods.tcp(port)]}
    catalogs: list[Spec] = [
        {
            "to": [{"podSelector": {"matchExpressions": [{"key": CATALOG_LABEL, "operator": "Exists"}]}}],
            "ports": [pods.tcp(CATALOG_PORT)],
        }
    ]
    if policy.catalog_ranges:
        ports = [pods.tcp(one) for one in policy.catalog_ports]
        catalogs.append({"to": _blocks(policy.catalog_ranges), "ports": ports})
    tunnels: dict[str, Spec] = {}
    readers = {"matchExpressions": [{"key": APP, "operator": "In", "values": [CATALOG_OPERATOR, PACKAGE_SERVER]}]}
    served = {"matchExpressions": [{"key": CATALOG_LABEL, "operator": "Exists"}]}
    if document.tunnel:
        selector = {APP: tunnel.TUNNEL}
        catalogs.append(tunnel.to_proxy(selector))
        tunnels[tunnel.TUNNEL] = tunnel.server_network_policy(selector, readers, dns, api_server)
    return {
        "closed": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]},
        OLM_OPERATOR: {
            "podSelector": {"matchLabels": {APP: OLM_OPERATOR}},
            "policyTypes": ["Egress"],
            "egress": [dns, api_server],
        },
        "catalog-readers": {
            "podSelector": readers,
            "policyTypes": ["Egress"],
            "egress": [dns, api_server, *catalogs],
        },
        # Addresses are limited by the Service's ranges: behind a load balancer a policy sees a node's address.
        PACKAGE_SERVER: {
            "podSelector": {"matchLabels": {APP: PACKAGE_SERVER}},
            "policyTypes": ["Ingress"],
            "ingress": [{"ports": [pods.tcp(SERVING_PORT)]}],
        },
        "catalogs": {
            "podSelector": served,
            "policyTypes": ["Ingress"],
            "ingress": [{"from": [{"podSelector": readers}], "ports": [pods.tcp(CATALOG_PORT)]}],
        },
        **tunnels,
    }


def quota_limits(document: Operators) -> dict[str, str]:
    """`spec.hard` of the namespace's quota: all Pods, with both sets of packageserver's and catalogs' in an update."""
    served = sum(1 for one in document.catalogs if one.is_served)
    # One more catalog, so that an added one starts before a removed one ends.
    sizes: list[tuple[int, Resources]] = [(2 + 2 * document.package_server.replicas, document.resources)]
    # The tunnel's one Pod has two containers.
    tunnels = 2 if document.tunnel else 0
    sizes.append((2 * served + 1 + tunnels, document.catalog_resources))
    return {
        **quota_of(sizes),
        "services.loadbalancers": "2" if document.tunnel else "1",
        "services.nodeports": "0",
    }


def disruption_budget() -> Spec:
    """`spec` of packageserver's PodDisruptionBudget: drained nodes evict one Pod at a time."""
    return {"maxUnavailable": 1, "selector": {"matchLabels": {APP: PACKAGE_SERVER}}}


def catalog_source(document: Operators, catalog: OperatorCatalog) -> Spec:
    """`spec` of a CatalogSource in the hosted cluster: an address alone, so no Pod runs there."""
    return {
        "sourceType": "grpc",
        "address": catalog_address(document, catalog),
        "displayName": catalog.display_name or catalog.name,
        "publisher": catalog.publisher,
        **({"priority": catalog.priority} if catalog.priority else {}),
    }


def _command(images: OperatorImages, path: str) -> list[str]:
    return [path] if images.set_commands else []


def _operator_pod(
    document: Operators, name: str, image: str, path: str, arguments: list[str], environment: Mapping[str, str]
) -> Spec:
    probe = {"httpGet": {"path": "/healthz", "port": HEALTH_PORT}, "timeoutSeconds": 5}
    mounts = {"hosted-cluster": CLUSTER_FOLDER}
    command = _command(document.images, path)
    container = _container(name, image, command, arguments, environment, document.resources, mounts, probe)
    return _pod(container, [pods.secret_volume("hosted-cluster", name)])


def _container(
    name: str,
    image: str,
    command: list[str],
    arguments: list[str],
    environment: Mapping[str, str],
    resources: Resources,
    mounts: Mapping[str, str],
    probe: Spec,
    parts: Mapping[str, str] | None = None,
) -> Spec:
    """A container. mounts: path by volume. parts: the one file of a volume that is mounted there."""
    folders = {**mounts, "tmp": "/tmp"}  # noqa: S108 (a folder of the container)
    writable = ("tmp", "cache")
    return {
        "name": name,
        "image": image,
        **({"command": command} if command else {}),
        "args": arguments,
        "env": [{"name": key, "value": value} for key, value in environment.items()],
        "livenessProbe": {**probe, "periodSeconds": 30, "failureThreshold": 4, "initialDelaySeconds": 10},
        "readinessProbe": {**probe, "periodSeconds": 5},
        "resources": pods.requests_and_limits(resources),
        "securityContext": pods.LOCKED,
        "volumeMounts": [
            {
                "name": volume,
                "mountPath": path,
                **({} if volume in writable else {"readOnly": True}),
                **({"subPath": parts[volume]} if parts and volume in parts else {}),
            }
            for volume, path in folders.items()
        ],
    }


def _pod(container: Spec, volumes: Sequence[Spec]) -> Spec:
    """A Pod without a token of the cluster that it runs in."""
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": pods.UNPRIVILEGED,
        "containers": [container],
        "volumes": [*volumes, {"name": "tmp", "emptyDir": {}}],
    }


def _blocks(ranges: Sequence[str]) -> list[Spec]:
    return [{"ipBlock": {"cidr": one}} for one in ranges]
