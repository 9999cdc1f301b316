"""Claim: a request from one workload to the other answers 200 with the caller's identity, and 403 once denied."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from lightkube import ApiError

from sandbox.proof import workloads
from sandbox.proof.deployed import Deployed, NotObserved, eventually
from sandbox.proof.identity import AGENT
from sandbox.proof.processes import Process

POLICY = "proof-deny-frontend"


def observe(deployed: Deployed) -> str:
    """The caller's own program makes the request; the policy takes some seconds to arrive and to leave."""
    pods = workloads.deploy(deployed)
    caller = deployed.program_of(pods[workloads.CALLER], AGENT)
    spiffe = f"spiffe://{deployed.mesh.trust_domain}/ns/{workloads.NAMESPACE}/sa/{workloads.CALLER}"

    headers = eventually(lambda: answered(deployed, caller, 200), seconds=deployed.patience)
    arrived_from(headers, spiffe)
    with denied(deployed, spiffe):
        eventually(lambda: answered(deployed, caller, 403), seconds=60)
    eventually(lambda: answered(deployed, caller, 200), seconds=max(30, deployed.patience))
    return f"200 from {spiffe}; 403 under an AuthorizationPolicy; 200 after it was deleted"


def arrived_from(headers: Mapping[str, str], spiffe: str) -> None:
    """Raises NotObserved unless the proxy before the called workload saw this identity in mutual TLS.

    Each proxy on the way adds an element to the header's end (Envoy's APPEND_FORWARD); earlier ones come from the
    caller and prove nothing.
    """
    last = headers.get("x-forwarded-client-cert", "").rsplit(",", 1)[-1]
    if f"URI={spiffe}" not in last.split(";"):
        raise NotObserved(f"the request arrived without the identity {spiffe}: no mutual TLS")


def answered(deployed: Deployed, caller: Process, status: int) -> dict[str, str]:
    """The headers that backend received. Raises NotObserved unless frontend's request answers this status."""
    got, headers = request(deployed, caller)
    if got != status:
        raise NotObserved(f"the request answered {got}, not {status}")
    return headers


def request(deployed: Deployed, caller: Process) -> tuple[int, dict[str, str]]:
    """Status of frontend's request to backend, and the headers that backend received (lower-case names)."""
    target = f"http://{workloads.CALLED}.{workloads.NAMESPACE}:{workloads.PORT}/"
    status, _, headers = fetched(deployed, caller, target, workloads.PORT)
    return status, headers


def fetched(deployed: Deployed, caller: Process, url: str, port: int) -> tuple[int, str, dict[str, str]]:
    """The answer of a URL to a workload's own program: status, body, and the headers as received, in lower case.

    port: the program's port. Raises NotObserved when it cannot send the request.
    """
    own = deployed.in_network_of(caller, "http_get.py", f"http://127.0.0.1:{port}/fetch?url={url}")
    if own["status"] != 200:
        raise NotObserved(f"the workload could not make the request: {own['body'][:160]}")
    answer = json.loads(own["body"])
    try:
        arrived = json.loads(answer["body"])["headers"]
    except (ValueError, KeyError, TypeError):  # Envoy's own answer, a 403 for one, is not the other workload's JSON
        arrived = {}
    return int(answer["status"]), answer["body"], {name.lower(): value for name, value in arrived.items()}


@contextmanager
def denied(deployed: Deployed, spiffe: str) -> Iterator[None]:
    """An AuthorizationPolicy in the data plane rejects the caller's requests to the other sample workload."""
    principal = spiffe.removeprefix("spiffe://")
    policy = workloads.AuthorizationPolicy.from_dict(
        {
            "metadata": {"name": POLICY, "namespace": workloads.NAMESPACE},
            "spec": {
                "selector": {"matchLabels": {"app": workloads.CALLED}},
                "action": "DENY",
                "rules": [{"from": [{"source": {"principals": [principal]}}]}],
            },
        }
    )
    deployed.data_plane.apply(policy, force=True)
    try:
        yield
    finally:
        try:
            deployed.data_plane.delete(workloads.AuthorizationPolicy, POLICY, namespace=workloads.NAMESPACE)
        except ApiError as error:
            if error.status.code != 404:
                raise
