"""The stack `observability` on the sandbox: collector, Prometheus and Kiali beside the mesh of `make up`."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from sandbox.clusters import Sandbox
from sandbox.clusters.state import write
from sandbox.engine import deployment, name_server
from sandbox.engine.kubectl import kubectl
from sandbox.engine.pulumi_cli import PulumiCli
from sandbox.errors import SandboxError
from sandbox.lock import locked
from sandbox.program_environment import backend, pulumi_settings
from sandbox.progress import Progress
from sandbox.toolchain import Tools
from sandbox.toolchain.catalogue import FOR_OBSERVABILITY

STACK = "observability"
NAMESPACE = "obs-demo"
KIALI_PORT, PROMETHEUS_PORT = 20001, 9090
ADDRESS = f"http://127.0.0.1:{KIALI_PORT}/kiali"
USER = "kiali-user"
"""The user's ServiceAccount on the data plane, in namespace default."""
_LIFETIME, _RENEW = 24 * 3600, 3600  # seconds of the user's token


@dataclass(frozen=True)
class Shown:
    """Kiali as deployed. token: file of a user's token for the user's view; None: the provider's view."""

    namespace: str  # of the workloads with traffic
    token: Path | None


def request(state: Path) -> None:
    """From now on the mesh's proxies push their metrics: `deployment.engine` writes it into the mesh document."""
    deployment.observability_folder(state).mkdir(mode=0o700, parents=True, exist_ok=True)


def programs(state: Path) -> Collection[str]:
    """The tools that nodes need for a sandbox with this stack; none without it."""
    return FOR_OBSERVABILITY if deployment.observability_folder(state).exists() else frozenset()


def up(sandbox: Sandbox, tools: Tools, progress: Progress, *, users: bool) -> Path | None:
    """Deploys the stack. users: the user's view, else the provider's. Returns the file of the user's token, mode 0600.

    Raises SandboxError.
    """
    title = "observability, the user's view" if users else "observability"
    with progress.step(title) as step, locked(backend(sandbox.state) / "lock", step.note):
        ready = PulumiCli.of(tools, pulumi_settings(sandbox.state) | {"KUBECONFIG": str(sandbox.kubeconfig)})
        mesh = deployment.mesh_document(sandbox.state)["name"]
        file = deployment.configured(ready, sandbox.state, STACK, config(sandbox, document(sandbox, mesh, users)))
        found = kubectl(
            sandbox.control_plane, tools, "get", "secret", "cacerts", "-o", "json", f"--namespace=mesh-{mesh}"
        )
        cacerts = {name: base64.b64decode(value).decode() for name, value in json.loads(found)["data"].items()}
        options: list[str | Path] = ["--secret", "--stack", STACK, "--config-file", file]
        done = ready.run("config", "set", "hosted-mesh:cacerts", *options, text=json.dumps(cacerts))
        if done.returncode != 0:
            raise SandboxError("`pulumi config set` failed.", why=done.stderr, fix="run the command again.")
        changes = deployment.follow("up", ready, sandbox.state, STACK, file, progress).changes
        name_server.wait(sandbox, [deployment.COLLECTOR], step.note)
        token = _token(sandbox, tools) if users else None
        step.result(str(changes)) if changes.total else step.skip(str(changes))
    return token


def document(sandbox: Sandbox, mesh: str, users: bool) -> dict[str, Any]:
    """The document of the stack. users: as of `up`."""
    ranges = [f"{one.addresses.wan_address}/32" for one in sandbox.data_planes]
    view: dict[str, Any] = {"login": "token"} if users else {"readers": ["login"]}
    return {
        "mesh": mesh,
        "network": mesh,
        "namespace": NAMESPACE,
        "collector": {
            "host": deployment.COLLECTOR,
            "image": "hosted-mesh/metrics-collector:1",
            "exposure": {"sourceRanges": ranges, "publishName": True},
        },
        "prometheus": {"scrapeInterval": "5s"},
        "kiali": {**view, "image": "hosted-mesh/kiali:page", "apiServer": sandbox.data_plane.wan_server},
        "accessLogs": "gateways",
    }


def config(sandbox: Sandbox, observability: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration of the stack, without its secret."""
    clusters = deployment.both_clusters(sandbox, sandbox.data_plane)
    return {"stack": STACK, STACK: {**clusters, "observability": dict(observability)}}


def graph_page(namespace: str) -> str:
    """The address of the graph of a namespace's workloads in the last 10 minutes, below `ADDRESS`."""
    query = {
        "namespaces": namespace,
        "graphType": "workload",
        "edges": "trafficRate,trafficDistribution",
        "duration": 600,
        "refresh": 10000,
        "injectServiceNodes": "false",
    }
    return f"{ADDRESS}/console/graph/namespaces?{urlencode(query)}"


def instructions(shown: Shown, sandbox: Sandbox) -> str:
    """The closing text: addresses, the login, and the next command. No token."""
    provider, user = sandbox.control_plane.name, sandbox.data_plane.name
    forward = f"kubectl --context {provider} -n {NAMESPACE} port-forward"
    if shown.token is None:
        login = (
            "\nKiali, the provider's view, in `make shell`\n"
            "  login                        none: whoever may forward a port of the control plane's cluster\n"
        )
        other = "  the user's view              make up ARGS='--observability --users-view'\n"
    else:
        login = (
            "\nKiali, the user's view, in `make shell`\n"
            f"  login                        token of ServiceAccount default/{USER} of {user}, in {shown.token}\n"
            f"  login by curl                curl -fsS -c {shown.token.with_name('cookies')} "
            f"--data-urlencode token@{shown.token} {ADDRESS}/api/authenticate -o {shown.token.with_name('session')}\n"
        )
        other = "  the provider's view          make up ARGS=--observability\n"
    return (
        f"{login}"
        f"  open its port                {forward} service/kiali {KIALI_PORT}\n"
        f"  address                      {ADDRESS}\n"
        f"  graph of {shown.namespace:<20}{graph_page(shown.namespace)}\n"
        f"  send its requests again      make up ARGS='--observability{' --users-view' if shown.token else ''}'\n"
        f"{other}"
        "Prometheus and the collector\n"
        f"  open Prometheus' port        {forward} service/prometheus {PROMETHEUS_PORT}\n"
        f"  Prometheus' address          http://127.0.0.1:{PROMETHEUS_PORT}\n"
        f"  proxies push to              {deployment.COLLECTOR}:15018\n"
        f"  their Pods                   kubectl --context {provider} get pods -n {NAMESPACE}"
    )


def _token(sandbox: Sandbox, tools: Tools) -> Path:
    """The file of a token that may view the data plane; renewed in its last hour."""
    file = deployment.observability_folder(sandbox.state) / "token"
    if file.exists() and _expiry(file.read_text()) - time.time() > _RENEW:
        return file
    account = {"kind": "ServiceAccount", "name": USER, "namespace": "default"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
    objects = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": USER, "namespace": "default"}},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": USER},
            "roleRef": role,
            "subjects": [account],
        },
    ]
    cluster = sandbox.data_plane
    both = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    kubectl(cluster, tools, "apply", "--filename=-", text=both)
    token = kubectl(cluster, tools, "create", "token", USER, "-n", "default", f"--duration={_LIFETIME}s").strip()
    write(file, token)
    return file


def _expiry(token: str) -> float:
    """Unix time of a token's end."""
    payload = token.split(".")[1]
    return float(json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["exp"])
