"""Kiali's server as a client sees it, and its graph."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from lightkube.resources.core_v1 import Pod

from sandbox.proof import workloads
from sandbox.proof.deployed import Deployed, NotObserved
from sandbox.proof.processes import Process, find

CALL = Path(__file__).parent / "programs/call_kiali.py"
ADDRESS = "http://127.0.0.1:20001/kiali"
WINDOW = "60s"
Edges = dict[tuple[str, str], dict[str, float]]


class RefusedError(Exception):
    """Kiali's answer is not 200. status: of HTTP."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(f"{status}: {body}")
        self.status = status


@dataclass(frozen=True)
class Graph:
    """Kiali's graph of workloads, without injected nodes of Services.

    nodes: cluster, namespace and workload. edges: percentages by response code; source and target are workloads.
    rates: requests per second. errors: percent, as Kiali prints them.
    """

    nodes: set[tuple[str, str, str]]
    edges: Edges
    rates: Mapping[tuple[str, str], float]
    errors: Mapping[tuple[str, str], float]

    @classmethod
    def of(cls, answer: Any) -> Graph:
        """answer: of `/api/namespaces/graph`."""
        nodes = {one["data"]["id"]: one["data"] for one in answer["elements"].get("nodes") or []}
        edges: Edges = {}
        rates, errors = {}, {}
        for one in answer["elements"].get("edges") or []:
            data = one["data"]
            ends = nodes[data["source"]].get("workload", ""), nodes[data["target"]].get("workload", "")
            traffic = data["traffic"]
            if "rates" not in traffic:  # of an earlier test: Kiali draws it without a request in the window
                continue
            assert traffic["protocol"] == "http"
            edges[ends] = {
                code: sum(map(float, detail["flags"].values())) for code, detail in traffic["responses"].items()
            }
            rates[ends] = float(traffic["rates"]["http"])
            errors[ends] = float(traffic["rates"].get("httpPercentErr", 0))
        found = {(one["cluster"], one["namespace"], one.get("workload", "")) for one in nodes.values()}
        return cls(found, edges, rates, errors)


@dataclass(frozen=True)
class Kiali:
    """The running Kiali of the control plane. token: of the user who logs in; none by default."""

    deployed: Deployed
    namespace: str
    token: str = ""

    def get(self, path: str, **parameters: str) -> Any:
        """The answer of a page of its API. Raises: RefusedError, NotObserved."""
        page = f"{path}?{urlencode(parameters)}" if parameters else path
        command = [*self.deployed.enter(self.process()), sys.executable, "-I", str(CALL), ADDRESS, page]
        done = subprocess.run(command, input=self.token, capture_output=True, text=True, timeout=90, check=False)
        if done.returncode:
            raise NotObserved(done.stderr)
        answer = json.loads(done.stdout)
        if answer["status"] != 200:
            raise RefusedError(answer["status"], answer["body"])
        return json.loads(answer["body"])

    def graph(self, namespace: str) -> Graph:
        """The graph of a namespace's workloads in the last minute, or since its creation."""
        answer = self.get(
            "namespaces/graph",
            namespaces=namespace,
            duration=WINDOW,
            graphType="workload",
            injectServiceNodes="false",
            appenders="",
        )
        return Graph.of(answer)

    def process(self) -> Process:
        """Its program. Raises: NotObserved."""
        labels = {"app.kubernetes.io/name": "kiali"}
        pods = list(self.deployed.control_plane.list(Pod, namespace=self.namespace, labels=labels))
        # One that ends is ready for a moment, with the settings of before.
        ready = [pod.metadata for pod in pods if pod.metadata and workloads.is_ready(pod)]
        names = [str(one.name) for one in ready if one.deletionTimestamp is None]
        found = find("kiali", {"HOSTNAME": names[0]}, self.deployed.read) if names else []
        if not found:
            raise NotObserved(f"no ready Kiali among {len(pods)} Pods")
        return found[0]
