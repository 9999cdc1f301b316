"""The tunnel to the hosted cluster's catalogs, as plain data: konnectivity with Envoy before it, and its agent.

catalog-operator and packageserver send `CONNECT name.namespace.svc:50051` to Envoy, by gRPC's own HTTPS_PROXY. Envoy
admits short names of Services only, and konnectivity's agent resolves and dials them in the hosted cluster. Connections
begin on the control plane's side alone: the agent's stream carries data of dialled connections, and no requests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from pulumi_hosted_mesh.charts import pods
from pulumi_hosted_mesh.charts.load_balancer import load_balancer_annotations, load_balancer_spec
from pulumi_hosted_mesh.operators.placement import toleration
from pulumi_hosted_mesh.spec.istiod import Resources
from pulumi_hosted_mesh.spec.operators import OperatorImages, Operators, OperatorTunnel

Spec = dict[str, Any]
TUNNEL: Final = "tunnel"
"""Name of its objects on the control plane, and of the server's account in the hosted cluster."""
SERVING_SECRET: Final = "tunnel-tls"  # noqa: S105 (a name)
PROXY: Final = "tunnel-proxy"
AGENT: Final = "tunnel-agent"
AUDIENCE: Final = "hosted-mesh-tunnel"
"""Audience of the agent's token: no other server accepts it."""
TOKEN_SECONDS: Final = 3600
AUTHORITY_FILE: Final = "ca.crt"
CATALOG_POD: Final = "olm.catalogSource"
"""Label of Pods that OLM makes for a CatalogSource with an image."""
SERVER_PORT: Final = 8132
PROXY_PORT: Final = 8090
ADMIN_PORT: Final = 8133
HEALTH_PORT: Final = 8134
SOCKET_FOLDER: Final = "/tunnel"
CLUSTER_FOLDER: Final = "/hosted-cluster"
SERVING_FOLDER: Final = "/serving"
ENVOY_FOLDER: Final = "/etc/envoy"
ENVOY_FILE: Final = "envoy.json"
AGENT_FOLDER: Final = "/agent"
IDLE_SECONDS: Final = 3600
GRACE_SECONDS: Final = 5
TYPES: Final = "type.googleapis.com/envoy"
_SOCKET: Final = f"{SOCKET_FOLDER}/konnectivity.sock"
_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"


def suffix(document: Operators, tunnel: OperatorTunnel) -> str:
    """Suffix of the control plane's Services of this hosted cluster."""
    return f"{document.control_plane_namespace}.svc.{tunnel.cluster_domain}"


def environment(document: Operators) -> dict[str, str]:
    """Environment of the programs that read catalogs. Exceptions lead past the tunnel, into the NetworkPolicy's limits.

    Not GRPC_PROXY, which OLM also reads: it takes SOCKS alone, and konnectivity has none.
    """
    tunnel = document.tunnel
    if tunnel is None:
        return {}
    own = suffix(document, tunnel)
    elsewhere = [one.host_and_port[0] for one in document.catalogs if one.host_and_port]
    past = [f".{own}", str(urlsplit(document.api_server).hostname), *elsewhere, *document.network_policy.catalog_ranges]
    return {"HTTPS_PROXY": f"http://{PROXY}.{own}:{PROXY_PORT}", "NO_PROXY": ",".join(dict.fromkeys(past))}


def permitted(tunnel: OperatorTunnel) -> str:
    """Regular expression of the permitted destinations: Services of the hosted cluster, by short names.

    The control plane's Services have whole names here, so no name means one in each cluster.
    """
    ports = "|".join(str(one) for one in tunnel.ports)
    return rf"{_LABEL}\.{_LABEL}\.svc:({ports})"


def server_pod(document: Operators, sizes: Resources) -> Spec:
    """`spec` of the server's Pod. Its two containers share a folder with the socket, and nothing else."""
    server = _container(
        "server",
        document.images.tunnel_server,
        _command(document.images, "/proxy-server"),
        [
            *("--mode=http-connect", f"--uds-name={_SOCKET}", "--delete-existing-uds-file", "--server-port=0"),
            *(f"--agent-port={SERVER_PORT}", f"--admin-port={ADMIN_PORT}", f"--health-port={HEALTH_PORT}"),
            *(f"--cluster-cert={SERVING_FOLDER}/tls.crt", f"--cluster-key={SERVING_FOLDER}/tls.key"),
            *(f"--agent-namespace={document.namespace}", f"--agent-service-account={AGENT}"),
            *(f"--authentication-audience={AUDIENCE}", f"--kubeconfig={CLUSTER_FOLDER}/kubeconfig"),
            "--server-count=1",
        ],
        sizes,
        {"hosted-cluster": CLUSTER_FOLDER, "serving": SERVING_FOLDER, "socket": SOCKET_FOLDER},
        # Not /readyz: without an agent it fails, and without a ready Pod no agent reaches it.
        {"httpGet": {"path": "/healthz", "port": HEALTH_PORT}},
    )
    envoy = _container(
        "envoy",
        document.images.envoy,
        ["/usr/local/bin/envoy"],
        ["--config-path", f"{ENVOY_FOLDER}/{ENVOY_FILE}", "--disable-hot-restart", "--concurrency", "1"],
        sizes,
        {"envoy": ENVOY_FOLDER, "socket": SOCKET_FOLDER},
        {"tcpSocket": {"port": PROXY_PORT}},
    )
    volumes = [
        pods.secret_volume("hosted-cluster", TUNNEL),
        pods.secret_volume("serving", SERVING_SECRET),
        {"name": "envoy", "configMap": {"name": TUNNEL}},
        {"name": "socket", "emptyDir": {"sizeLimit": "1Mi"}},
    ]
    return _pod([server, envoy], volumes)


def envoy_configuration(tunnel: OperatorTunnel) -> str:
    """Envoy's file: one listener for CONNECT, a filter of destinations, konnectivity's socket behind it."""
    authority = {"name": ":authority", "string_match": {"safe_regex": {"regex": permitted(tunnel)}}}
    rule = {"permissions": [{"header": authority}], "principals": [{"any": True}]}
    route = {"cluster": "konnectivity", "timeout": "0s", "upgrade_configs": [{"upgrade_type": "CONNECT"}]}
    log = "%START_TIME% %REQ(:METHOD)% %REQ(:AUTHORITY)% %RESPONSE_CODE% %RESPONSE_CODE_DETAILS%\n"
    manager = {
        "stat_prefix": TUNNEL,
        "codec_type": "HTTP1",
        "generate_request_id": False,
        "stream_idle_timeout": f"{IDLE_SECONDS}s",
        "upgrade_configs": [{"upgrade_type": "CONNECT"}],
        "route_config": {
            "virtual_hosts": [
                {"name": TUNNEL, "domains": ["*"], "routes": [{"match": {"connect_matcher": {}}, "route": route}]}
            ]
        },
        "http_filters": [
            _extension("filters.http.rbac", "RBAC", {"rules": {"action": "ALLOW", "policies": {"catalogs": rule}}}),
            _extension("filters.http.router", "Router", {}),
        ],
        "access_log": [
            {
                "name": "stdout",
                "typed_config": {
                    "@type": f"{TYPES}.extensions.access_loggers.stream.v3.StdoutAccessLog",
                    "log_format": {"text_format_source": {"inline_string": log}},
                },
            }
        ],
    }
    handler = _extension("filters.network.http_connection_manager", "HttpConnectionManager", manager)
    socket = {"endpoint": {"address": {"pipe": {"path": _SOCKET}}}}
    found = {
        "node": {"id": TUNNEL, "cluster": TUNNEL},
        "static_resources": {
            "listeners": [
                {
                    "name": TUNNEL,
                    "address": {"socket_address": {"address": "0.0.0.0", "port_value": PROXY_PORT}},  # noqa: S104 (the Pod's own)
                    "filter_chains": [{"filters": [handler]}],
                }
            ],
            "clusters": [
                {
                    "name": "konnectivity",
                    "type": "STATIC",
                    "connect_timeout": "5s",
                    "load_assignment": {"cluster_name": "konnectivity", "endpoints": [{"lb_endpoints": [socket]}]},
                }
            ],
        },
    }
    return json.dumps(found, sort_keys=True)


def server_service(tunnel: OperatorTunnel, selector: Mapping[str, str]) -> Spec:
    """`spec` of the Service for the agent."""
    ports = [{"name": "agents", "port": tunnel.port, "targetPort": SERVER_PORT, "protocol": "TCP"}]
    return load_balancer_spec(selector, ports, tunnel.source_ranges)


def server_annotations(tunnel: OperatorTunnel) -> dict[str, str]:
    """Annotations of that Service."""
    return load_balancer_annotations(
        tunnel.annotations,
        host=tunnel.host if tunnel.publish_name else None,
        opened_by="tunnel.openToAll" if tunnel.open_to_all else None,
    )


def proxy_service(selector: Mapping[str, str]) -> Spec:
    """`spec` of the Service for catalog-operator and packageserver."""
    return {"selector": dict(selector), "ports": [{"name": "connect", "port": PROXY_PORT, "targetPort": PROXY_PORT}]}


def to_proxy(selector: Mapping[str, str]) -> Spec:
    """An entry of `egress`: to the tunnel."""
    return {"to": [{"podSelector": {"matchLabels": dict(selector)}}], "ports": [pods.tcp(PROXY_PORT)]}


def server_network_policy(selector: Mapping[str, str], readers: Spec, dns: Spec, api_server: Spec) -> Spec:
    """`spec` of the server's NetworkPolicy. readers: selector of the programs that read catalogs."""
    return {
        "podSelector": {"matchLabels": dict(selector)},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [
            {"from": [{"podSelector": readers}], "ports": [pods.tcp(PROXY_PORT)]},
            # Addresses are limited by the Service's ranges: behind a load balancer a policy sees a node's address.
            {"ports": [pods.tcp(SERVER_PORT)]},
        ],
        "egress": [dns, api_server],
    }


def agent_pod(document: Operators, tunnel: OperatorTunnel, sizes: Resources) -> Spec:
    """`spec` of the agent's Pod in the hosted cluster. It holds a token of that cluster for one audience."""
    container = _container(
        "agent",
        document.images.tunnel_agent,
        _command(document.images, "/proxy-agent"),
        [
            *(f"--proxy-server-host={tunnel.host}", f"--proxy-server-port={tunnel.port}"),
            *(f"--ca-cert={AGENT_FOLDER}/{AUTHORITY_FILE}", f"--service-account-token-path={AGENT_FOLDER}/token"),
            *("--admin-bind-address=127.0.0.1", f"--admin-server-port={ADMIN_PORT}"),
            *(f"--health-server-port={HEALTH_PORT}", "--sync-interval=1s", "--sync-interval-cap=10s"),
        ],
        sizes,
        {"agent": AGENT_FOLDER},
        {"httpGet": {"path": "/healthz", "port": HEALTH_PORT}},
        ready={"httpGet": {"path": "/readyz", "port": HEALTH_PORT}},
    )
    token = {"path": "token", "audience": AUDIENCE, "expirationSeconds": TOKEN_SECONDS}
    sources = [{"serviceAccountToken": token}, {"configMap": {"name": AGENT}}]
    volume = {"name": "agent", "projected": {"defaultMode": 0o440, "sources": sources}}
    placement = document.placement
    tolerations = [toleration(one) for one in placement.tolerations]
    return {
        "serviceAccountName": AGENT,
        # After the first signal it takes no new connection, and it does not end by itself.
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        **_pod([container], [volume]),
        **({"nodeSelector": dict(placement.node_selector)} if placement.node_selector else {}),
        **({"tolerations": tolerations} if tolerations else {}),
    }


def agent_network_policy(tunnel: OperatorTunnel, selector: Mapping[str, str]) -> Spec:
    """`spec` of the agent's NetworkPolicy in the hosted cluster: to catalogs' Pods, DNS and the tunnel's port."""
    catalogs = {
        "namespaceSelector": {},
        "podSelector": {"matchExpressions": [{"key": CATALOG_POD, "operator": "Exists"}]},
    }
    return {
        "podSelector": {"matchLabels": dict(selector)},
        "policyTypes": ["Ingress", "Egress"],
        "egress": [
            {"ports": [{"protocol": kind, "port": one} for one in tunnel.dns_ports for kind in ("UDP", "TCP")]},
            # The load balancer's addresses are not known in advance.
            {"ports": [pods.tcp(tunnel.port)]},
            {"to": [catalogs], "ports": [pods.tcp(one) for one in tunnel.ports]},
        ],
    }


def _command(images: OperatorImages, path: str) -> list[str]:
    return [path] if images.set_commands else []


def _container(
    name: str,
    image: str,
    command: list[str],
    arguments: list[str],
    sizes: Resources,
    mounts: Mapping[str, str],
    probe: Spec,
    *,
    ready: Spec | None = None,
) -> Spec:
    """A container. mounts: path by volume. ready: another probe for readiness."""
    return {
        "name": name,
        "image": image,
        **({"command": command} if command else {}),
        "args": arguments,
        "livenessProbe": {**probe, "periodSeconds": 30, "failureThreshold": 4, "initialDelaySeconds": 10},
        "readinessProbe": {**(ready or probe), "periodSeconds": 5},
        "resources": pods.requests_and_limits(sizes),
        "securityContext": pods.LOCKED,
        "volumeMounts": [
            {"name": volume, "mountPath": path, **({} if volume == "socket" else {"readOnly": True})}
            for volume, path in mounts.items()
        ],
    }


def _pod(containers: list[Spec], volumes: list[Spec]) -> Spec:
    """A Pod without a token for its own cluster's API server."""
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": pods.UNPRIVILEGED,
        "containers": containers,
        "volumes": volumes,
    }


def _extension(name: str, kind: str, settings: Spec) -> Spec:
    """A filter. name: such as `filters.http.rbac`."""
    snake = re.sub(r"^filters", "extensions.filters", name)
    return {"name": f"envoy.{name}", "typed_config": {"@type": f"{TYPES}.{snake}.v3.{kind}", **settings}}
