"""istiod reads a data plane behind a proxy (CONNECT), under another TLS name than its address', and behind a path."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from lightkube.generic_resource import create_namespaced_resource
from lightkube.resources.networking_v1 import NetworkPolicy

from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Sandbox
from sandbox.clusters.network.addresses import API_PORT
from sandbox.engine import deployment
from sandbox.proof import istiod, workloads
from sandbox.proof.deployed import Deployed, NotObserved, eventually
from sandbox.toolchain import Tools
from tests.support.authorities import Authority, pem
from tests.support.changing import created
from tests.support.updates import update

PROGRAM = CHECKOUT / "tests/live/mesh/programs/way_to_api_server.py"
PORT = 3128
# Nobody but the proxy resolves it.
HOST, PATH, TLS_NAME = "clusters.hidden.test", "/k8s/clusters/c-1", "clusters.inside.test"
ServiceEntry = create_namespaced_resource("networking.istio.io", "v1", "ServiceEntry", "serviceentries")


@pytest.fixture(scope="module")
def deployed(live_sandbox: Sandbox, tools: Tools) -> Deployed:
    return Deployed.of(live_sandbox, tools)


@contextmanager
def served(deployed: Deployed, authority: Authority, directory: Path) -> Iterator[str]:
    """Both servers in the control plane's network; the proxy's address."""
    cluster = deployed.sandbox.data_plane
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = authority.sign(x509.Name([]), key.public_key(), names=[x509.DNSName(TLS_NAME)])
    (directory / "certificate").write_bytes(pem(certificate))
    plain = serialization.NoEncryption()
    (directory / "key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    )
    settings = {
        "host": f"{HOST}:443",
        "path": PATH,
        "certificate": str(directory / "certificate"),
        "key": str(directory / "key"),
        "address": [cluster.addresses.wan_address, API_PORT],
        "authority": cluster.certificate_authority.read_text(),
        "name": cluster.addresses.api_host,
    }
    network = deployed.sandbox.control_plane
    command = [*deployed.sandbox.enter(network.name), sys.executable, "-I", str(PROGRAM), str(PORT)]
    with subprocess.Popen([*command, json.dumps(settings)], stdin=subprocess.PIPE) as process:
        try:
            yield f"http://{network.addresses.wan_address}:{PORT}"
        finally:
            process.communicate(timeout=30)


def document(deployed: Deployed, proxy: str, authority: Authority) -> dict[str, Any]:
    deployment.engine(deployed.sandbox, deployed.tools)
    config = copy.deepcopy(yaml.safe_load(deployment.config_file(deployed.sandbox.state).read_text()))
    mesh = config["config"]["hosted-mesh:mesh"]
    mesh["memberships"][0]["access"] |= {
        "apiServer": f"https://{HOST}{PATH}",
        "proxyUrl": proxy,
        "tlsServerName": TLS_NAME,
        "certificateAuthority": pem(authority.certificate).decode(),
    }
    # Keys of token issuers are fetched by port 443, which would be a second way out.
    mesh["controlPlane"]["networkPolicy"] = {
        "fetchJwks": False,
        "apiServerRanges": [_range(proxy)],
    }
    return dict(config)


def test_istiod_reads_its_data_plane_by_that_way_alone(deployed: Deployed, tmp_path: Path) -> None:
    authority = Authority("behind the proxy")
    with served(deployed, authority, tmp_path) as proxy:
        file = tmp_path / "stack.yaml"
        file.write_text(yaml.safe_dump(document(deployed, proxy, authority)))
        try:
            # istiod is ready once it has read all kinds that it watches.
            update(deployed.sandbox, deployed.tools, file)
            received = eventually(lambda: _received(deployed, proxy), seconds=120)
            assert received["targets"] == [f"{HOST}:443"]
            assert received["names"] == [TLS_NAME]
            assert {one.partition(PATH)[0] for one in received["paths"]} == {""}
            assert f"{PATH}/apis/networking.istio.io/v1/serviceentries" in received["paths"]
            _admits_the_proxy_alone(deployed, proxy)
            _configures_proxies(deployed)
        finally:
            update(deployed.sandbox, deployed.tools, deployment.config_file(deployed.sandbox.state))
    _configures_proxies(deployed)


def _received(deployed: Deployed, proxy: str) -> dict[str, list[str]]:
    answer = deployed.in_network(deployed.sandbox.control_plane.name, "http_get.py", f"{proxy}/received")
    found: dict[str, list[str]] = json.loads(answer["body"])
    if not found["paths"]:
        raise NotObserved(f"the proxy has received {found}")
    return found


def _admits_the_proxy_alone(deployed: Deployed, proxy: str) -> None:
    (policy,) = deployed.control_plane.list(NetworkPolicy, namespace=deployed.mesh.namespace)
    assert policy.spec is not None
    ports = [(rule.to and rule.to[0].ipBlock.cidr, [one.port for one in rule.ports]) for rule in policy.spec.egress]
    assert ports == [(None, [53, 53]), (_range(proxy), [PORT])]


def _range(proxy: str) -> str:
    return f"{urlsplit(proxy).hostname}/32"


def _configures_proxies(deployed: Deployed) -> None:
    """A new object of the data plane reaches a sidecar, by the istiod that runs now."""
    eventually(lambda: istiod.live_pod(deployed), seconds=120)
    pod = workloads.deploy(deployed)[workloads.CALLER]
    process = deployed.program_of(pod, "pilot-agent")
    spec = {"hosts": ["far.example.com"], "ports": [{"number": 80, "name": "http", "protocol": "HTTP"}]}
    metadata = {"name": "far", "namespace": workloads.NAMESPACE}

    def configured() -> None:
        if "outbound|80||far.example.com" not in deployed.of_proxy(process, "/clusters"):
            raise NotObserved("the sidecar has no cluster for the ServiceEntry")

    def gone() -> None:
        if "outbound|80||far.example.com" in deployed.of_proxy(process, "/clusters"):
            raise NotObserved("the sidecar still has the cluster")

    with created(
        deployed.data_plane, ServiceEntry.from_dict({"metadata": metadata, "spec": {**spec, "resolution": "NONE"}})
    ):
        eventually(configured, seconds=180)
    eventually(gone, seconds=180)
