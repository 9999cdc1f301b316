"""Every key, certificate and kubeconfig of one cluster, written to the state directory.

Authorities and the token key are made once and stay, so copies of a kubeconfig stay valid after a restart. Each start
issues all certificates anew.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox.clusters.credentials.certificates import Pair, issue, new_authority, token_key
from sandbox.clusters.network.addresses import API_PORT, CLUSTER_DOMAIN, ClusterAddresses
from sandbox.clusters.state import Layout, write

Context = tuple[str, bytes, Pair]  # URL of a server, its CA's certificate as PEM, the client's pair
AUTHORITIES = ("cluster", "etcd", "front-proxy")
# controller-manager: with --use-service-account-credentials=false all its loops act as this user. Kubernetes' built-in
# roles do not cover that, so it is an administrator.
ADMINISTRATORS = "system:masters"


@dataclass(frozen=True)
class Client:
    """A component that talks to the API server: its user name and groups."""

    name: str
    user: str
    groups: tuple[str, ...] = ()


def clients(cluster: ClusterAddresses) -> tuple[Client, ...]:
    """All identities of a cluster, with the names in Kubernetes' built-in role bindings."""
    return (
        Client("admin", "sandbox-admin", (ADMINISTRATORS,)),
        Client("controller-manager", "system:kube-controller-manager", (ADMINISTRATORS,)),
        Client("scheduler", "system:kube-scheduler"),
        Client("kube-proxy", "system:kube-proxy"),
        Client("coredns", "system:coredns"),
        Client("load-balancers", "system:load-balancers"),
        Client("network-policies", "system:network-policies"),
        *(Client(node.name, f"system:node:{node.name}", ("system:nodes",)) for node in cluster.nodes),
    )


class Credentials:
    """Files of one cluster in its directory (mode 0700, files 0600)."""

    def __init__(self, layout: Layout, cluster: ClusterAddresses) -> None:
        self.directory = layout.cluster(cluster.name)
        self.cluster = cluster

    def certificate(self, name: str) -> Path:
        return self.directory / f"{name}.crt"

    def key(self, name: str) -> Path:
        return self.directory / f"{name}.key"

    def kubeconfig(self, client: str) -> Path:
        return self.directory / f"{client}.kubeconfig"

    @property
    def token_key(self) -> Path:
        """The private key that signs ServiceAccount tokens."""
        return self.key("service-accounts")

    def secret_files(self) -> list[Path]:
        """Every file that holds a private key, sorted."""
        return sorted([*self.directory.glob("*.key"), *self.directory.glob("*.kubeconfig")])

    def write(self, host_server: str) -> Context:
        """Makes missing keys, issues all certificates, and returns the administrator's entry for a kubeconfig.

        host_server: URL of the API server on the host.
        """
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self.token_key.exists():
            write(self.token_key, token_key())
        authorities = {name: self._authority(name) for name in AUTHORITIES}
        root = authorities["cluster"]
        self._write_pair("apiserver", issue(root, "kube-apiserver", names=api_server_names(self.cluster)))
        self._write_pair("kubelet-client", issue(root, "kube-apiserver-kubelet-client"))
        self._write_pair("front-proxy-client", issue(authorities["front-proxy"], "front-proxy-client"))
        local = ("localhost", "127.0.0.1")
        self._write_pair("etcd-server", issue(authorities["etcd"], "etcd", names=local))
        self._write_pair("etcd-client", issue(authorities["etcd"], "kube-apiserver-etcd-client"))
        served = {node.name: (node.name, node.address) for node in self.cluster.nodes}
        contexts: dict[str, Context] = {}
        for client in clients(self.cluster):
            names = (*local, *served.get(client.name, ()))
            pair = issue(root, client.user, organizations=client.groups, names=names)
            self._write_pair(client.name, pair)
            server = host_server if client.name == "admin" else f"https://127.0.0.1:{API_PORT}"
            contexts[client.name] = (server, root.certificate, pair)
            write(self.kubeconfig(client.name), kubeconfig({self.cluster.name: contexts[client.name]}))
        return contexts["admin"]

    def _authority(self, name: str) -> Pair:
        if not self.certificate(name).exists():  # written last
            self._write_pair(name, new_authority(f"sandbox {self.cluster.name} {name}"))
        return Pair(self.certificate(name).read_bytes(), self.key(name).read_bytes())

    def _write_pair(self, name: str, pair: Pair) -> None:
        write(self.key(name), pair.key)
        write(self.certificate(name), pair.certificate)


def api_server_names(cluster: ClusterAddresses) -> list[str]:
    """Every name and address by which a client reaches the API server."""
    service = ["kubernetes", "kubernetes.default", "kubernetes.default.svc"]
    return [
        "localhost",
        "127.0.0.1",
        cluster.node_name,
        cluster.api_host,
        cluster.wan_address,
        cluster.gateway,
        cluster.first_service_address,
        *service,
        f"{service[-1]}.{CLUSTER_DOMAIN}",
    ]


def kubeconfig(contexts: Mapping[str, Context]) -> str:
    """A kubeconfig (JSON, which is YAML) with a cluster, user and context of each name; the first one is current."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": next(iter(contexts)),
        "clusters": [
            {"name": name, "cluster": {"server": server, "certificate-authority-data": _base64(authority)}}
            for name, (server, authority, _) in contexts.items()
        ],
        "users": [
            {
                "name": name,
                "user": {
                    "client-certificate-data": _base64(pair.certificate),
                    "client-key-data": _base64(pair.key),
                },
            }
            for name, (_, _, pair) in contexts.items()
        ],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in contexts],
    }
    return json.dumps(content, indent=1)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
