"""Commands of a Kubernetes control plane: etcd, API server, controller-manager, scheduler. Pure: paths in, plan out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sandbox.clusters.credentials.files import Credentials
from sandbox.clusters.network.addresses import API_PORT, CLUSTER_DOMAIN, ETCD_PORT, ClusterAddresses
from sandbox.clusters.supervisor.plan import Probe, Process

ISSUER = f"https://kubernetes.default.svc.{CLUSTER_DOMAIN}"
# istio-ca: the audience of the tokens with which proxies request certificates from istiod.
AUDIENCES = (ISSUER, "istio-ca")
_ETCD_PEER_PORT, _ETCD_HEALTH_PORT = 2380, 2381
_CONTROLLER_MANAGER_PORT, _SCHEDULER_PORT = 10257, 10259
_API_STAGE, _ETCD_STAGE, _WORKERS_STAGE = 3, 4, 2


def etcd(tool: Path, cluster: ClusterAddresses, credentials: Credentials, data: Path) -> Process:
    """One etcd member, reachable on the node's loopback only, by client certificate only."""
    client, peer = f"https://127.0.0.1:{ETCD_PORT}", f"http://127.0.0.1:{_ETCD_PEER_PORT}"
    flags = {
        "name": cluster.name,
        "data-dir": data,
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"{cluster.name}={peer}",
        "listen-metrics-urls": f"http://127.0.0.1:{_ETCD_HEALTH_PORT}",
        "cert-file": credentials.certificate("etcd-server"),
        "key-file": credentials.key("etcd-server"),
        "client-cert-auth": "true",
        "trusted-ca-file": credentials.certificate("etcd"),
        # A killed sandbox loses nothing by this (the kernel still has the pages); only a power cut can lose data.
        "unsafe-no-fsync": "true",
        # A day of history stays readable (the API server's own compaction is off): the proof searches it for secrets.
        "auto-compaction-retention": "24h",
        "log-level": "warn",
    }
    return Process(
        name=f"{cluster.name}-etcd",
        argv=command(tool, flags),
        network=cluster.name,
        probe=Probe(port=_ETCD_HEALTH_PORT, path="/readyz"),
        stop_stage=_ETCD_STAGE,
    )


def api_server(tool: Path, cluster: ClusterAddresses, credentials: Credentials) -> Process:
    """kube-apiserver. It starts beside etcd and waits for it by itself, which saves half a second."""
    certificate, key = credentials.certificate, credentials.key
    flags = {
        "etcd-servers": f"https://127.0.0.1:{ETCD_PORT}",
        "etcd-cafile": certificate("etcd"),
        "etcd-certfile": certificate("etcd-client"),
        "etcd-keyfile": key("etcd-client"),
        "etcd-compaction-interval": "0",
        "bind-address": "0.0.0.0",  # noqa: S104 - in a namespace of its own, closed by boundary.py
        "secure-port": API_PORT,
        "advertise-address": cluster.wan_address,  # EndpointSlices refuse loopback addresses
        "external-hostname": cluster.api_host,
        "service-cluster-ip-range": cluster.service_cidr,
        "authorization-mode": "Node,RBAC",
        "enable-admission-plugins": "NodeRestriction",
        "allow-privileged": "true",
        "client-ca-file": certificate("cluster"),
        "tls-cert-file": certificate("apiserver"),
        "tls-private-key-file": key("apiserver"),
        "service-account-issuer": ISSUER,
        "service-account-key-file": credentials.token_key,
        "service-account-signing-key-file": credentials.token_key,
        "api-audiences": ",".join(AUDIENCES),
        "kubelet-client-certificate": certificate("kubelet-client"),
        "kubelet-client-key": key("kubelet-client"),
        "kubelet-certificate-authority": certificate("cluster"),
        "kubelet-preferred-address-types": "InternalIP",
        "requestheader-client-ca-file": certificate("front-proxy"),
        "requestheader-allowed-names": "front-proxy-client",
        "requestheader-username-headers": "X-Remote-User",
        "requestheader-group-headers": "X-Remote-Group",
        "requestheader-extra-headers-prefix": "X-Remote-Extra-",
        "proxy-client-cert-file": certificate("front-proxy-client"),
        "proxy-client-key-file": key("front-proxy-client"),
        "profiling": "false",
    }
    return Process(
        name=f"{cluster.name}-apiserver",
        argv=command(tool, flags),
        network=cluster.name,
        probe=Probe(port=API_PORT, path="/readyz", authority=certificate("cluster")),
        stop_stage=_API_STAGE,
    )


def controller_manager(tool: Path, cluster: ClusterAddresses, credentials: Credentials) -> Process:
    """kube-controller-manager. It signs no certificates, so it holds no CA key."""
    flags = {
        "service-account-private-key-file": credentials.token_key,
        "root-ca-file": credentials.certificate("cluster"),
        # With one ServiceAccount per loop, default ServiceAccounts would appear 5 s later.
        "use-service-account-credentials": "false",
        "controllers": "*,-node-ipam-controller,-node-route-controller,-service-lb-controller",
    }
    return _worker("controller-manager", tool, _CONTROLLER_MANAGER_PORT, cluster, credentials, flags)


def scheduler(tool: Path, cluster: ClusterAddresses, credentials: Credentials) -> Process:
    """kube-scheduler."""
    return _worker("scheduler", tool, _SCHEDULER_PORT, cluster, credentials, {})


def _worker(
    name: str,
    tool: Path,
    port: int,
    cluster: ClusterAddresses,
    credentials: Credentials,
    flags: Mapping[str, object],
) -> Process:
    """Flags that both have in common: a client of the API server, with a port of its own on loopback."""
    kubeconfig = credentials.kubeconfig(name)
    common = {
        "kubeconfig": kubeconfig,
        "authentication-kubeconfig": kubeconfig,
        "authorization-kubeconfig": kubeconfig,
        "bind-address": "127.0.0.1",
        "secure-port": port,
        "tls-cert-file": credentials.certificate(name),
        "tls-private-key-file": credentials.key(name),
        "leader-elect": "false",  # there is one of each
        "profiling": "false",
    }
    return Process(
        name=f"{cluster.name}-{name}",
        argv=command(tool, {**common, **flags}),
        network=cluster.name,
        after=[f"{cluster.name}-apiserver"],
        probe=Probe(port=port, path="/healthz", authority=credentials.certificate("cluster")),
        stop_stage=_WORKERS_STAGE,
    )


def command(tool: Path, flags: Mapping[str, object]) -> list[str]:
    """Flags in the form of Kubernetes' and etcd's programs."""
    return [str(tool), *(f"--{name}={value}" for name, value in flags.items())]
