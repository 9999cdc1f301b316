"""What istiod may do beside the least: with the rights that a feature grants, and no more, it does what it says."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from sandbox.clusters import Sandbox
from sandbox.engine import deployment
from sandbox.proof import istiod, workloads
from sandbox.proof.deployed import Deployed, NotObserved, eventually
from sandbox.toolchain import Tools
from tests.support.kubectl import Kubectl
from tests.support.updates import update

# Not gatewayCertificates, whose rights gatewayApi must not need.
FEATURES = {"gatewayApi": True, "addressAllocation": True, "workloadRegistration": True}
NAME = "front"
PORT = 80
HOST = "front.example.com"
GATEWAY_API = "gateway.networking.k8s.io/v1"


@pytest.fixture(scope="module")
def deployed(live_sandbox: Sandbox, tools: Tools) -> Deployed:
    return Deployed.of(live_sandbox, tools)


@pytest.fixture(scope="module", autouse=True)
def features(deployed: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The sandbox's own stack with the features asked for and granted, in a cluster that has the Gateway API's CRDs.

    `up` waits until istiod is ready, which it is not before it could read all that it watches. That holds for the
    second one too: no feature is on then, and the Gateway API is still there.
    """
    deployment.engine(deployed.sandbox, deployed.tools)
    committed = deployment.config_file(deployed.sandbox.state)
    config = copy.deepcopy(yaml.safe_load(committed.read_text()))
    mesh = config["config"]["hosted-mesh:mesh"]
    mesh["revisions"][0]["features"] = FEATURES
    mesh["memberships"][0].setdefault("access", {})["features"] = FEATURES
    file = tmp_path_factory.mktemp("features") / "stack.yaml"
    file.write_text(yaml.safe_dump(config))
    crds = f"--filename={deployed.tools.gateway_api_crds}"
    _kubectl(deployed)("apply", "--server-side", crds)
    try:
        # The policies refuse such rights until the pack's configuration allows them.
        update(deployed.sandbox, deployed.tools, file, policies=False)
        yield
    finally:
        update(deployed.sandbox, deployed.tools, committed, policies=False)
        _kubectl(deployed)("delete", "--ignore-not-found", crds)


@pytest.fixture
def objects(deployed: Deployed) -> Iterator[None]:
    """A Gateway that istiod deploys, a route from it to the sample workload `backend`, and a host with no address."""
    workloads.deploy(deployed)
    listener = {"name": "http", "port": PORT, "protocol": "HTTP"}
    backend = {"name": workloads.CALLED, "port": workloads.PORT}
    route = {"parentRefs": [{"name": NAME}], "rules": [{"backendRefs": [backend]}]}
    host = {"hosts": [HOST], "ports": [{"number": PORT, "name": "http", "protocol": "HTTP"}], "resolution": "DNS"}
    made = [
        _manifest(GATEWAY_API, "Gateway", {"gatewayClassName": "istio", "listeners": [listener]}),
        _manifest(GATEWAY_API, "HTTPRoute", route),
        _manifest("networking.istio.io/v1", "ServiceEntry", host),
    ]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": made})
    _kubectl(deployed)("apply", "--server-side", "--filename=-", text=text)
    yield
    _kubectl(deployed)("delete", "--ignore-not-found", "--filename=-", text=text)


@pytest.mark.usefixtures("objects")
def test_istiod_serves_the_gateway_api_and_allocates_addresses(deployed: Deployed) -> None:
    eventually(lambda: _programmed(deployed), seconds=120)
    eventually(lambda: _answer(deployed), seconds=120)
    eventually(lambda: _allocated(deployed), seconds=120)
    refused = [line for line in istiod.log(deployed, lines=5000).splitlines() if "is forbidden" in line]
    assert refused == []


def _programmed(deployed: Deployed) -> None:
    gateway, route = _get(deployed, f"gateways.{GATEWAY_API.partition('/')[0]}"), _get(deployed, "httproutes")
    conditions = {one["type"]: one["status"] for one in gateway.get("status", {}).get("conditions", [])}
    parents = [one["conditions"] for one in route.get("status", {}).get("parents", [])]
    accepted = [one["status"] for all_of_it in parents for one in all_of_it if one["type"] == "Accepted"]
    if (conditions.get("Accepted"), conditions.get("Programmed"), accepted) != ("True", "True", ["True"]):
        raise NotObserved(f"the Gateway has {gateway.get('status')}, the route {route.get('status')}")


def _answer(deployed: Deployed) -> None:
    """From outside the mesh; the proxy of the sample workload demands mutual TLS of the gateway."""
    (address,) = _get(deployed, f"gateways.{GATEWAY_API.partition('/')[0]}")["status"]["addresses"]
    got = deployed.in_network(deployed.sandbox.control_plane.name, "http_get.py", f"http://{address['value']}:{PORT}/")
    if got["status"] != 200:
        raise NotObserved(f"the gateway answered {got['status']}: {got['body'][:120]}")


def _allocated(deployed: Deployed) -> None:
    addresses = [one["value"] for one in _get(deployed, "serviceentries").get("status", {}).get("addresses", [])]
    if not any(one.startswith("240.240.") for one in addresses):
        raise NotObserved(f"the ServiceEntry has the addresses {addresses}")


def _manifest(version: str, kind: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {"name": NAME, "namespace": workloads.NAMESPACE}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": dict(spec)}


def _get(deployed: Deployed, kind: str) -> dict[str, Any]:
    return _kubectl(deployed).get(kind, NAME, f"--namespace={workloads.NAMESPACE}")


def _kubectl(deployed: Deployed) -> Kubectl:
    return Kubectl.of(deployed.sandbox.data_plane, deployed.tools)
