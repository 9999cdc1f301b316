"""The operator's DNS server in the control plane's cluster: real CoreDNS with etcd, which answers for the mesh's zone.

The sandbox writes no name there: the DNS bridge of the deployed stack does, by external-dns. All nodes and API servers
use the sandbox's own name server, which forwards the zone's queries to this one.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from lightkube import Client, KubeConfig
from lightkube.codecs import load_all_yaml

from sandbox.clusters import Sandbox
from sandbox.clusters.network.addresses import MESH_ZONE, WAN_DNS, WAN_ROUTER
from sandbox.errors import SandboxError

NAMESPACE = "name-server"
_MANIFESTS = Path(__file__).with_name("name_server.yaml")
_ASK = Path(__file__).parents[1] / "proof" / "programs" / "ask_addresses.py"
_PATIENCE, _LOOK = 90.0, 0.2  # seconds


def serve(sandbox: Sandbox) -> None:
    """Writes the server's objects and returns at once. A second run changes nothing."""
    cluster = sandbox.control_plane
    config = KubeConfig.from_file(cluster.kubeconfig).get(context_name=cluster.name)
    api = Client(config=config, field_manager="hosted-mesh-name-server", trust_env=False)
    for one in load_all_yaml(manifests(cluster.addresses.name_server)):
        api.apply(one, force=True)


def manifests(address: str) -> str:
    """Its objects. address: of its load balancer. Pure, but for the file."""
    values = {"ZONE": MESH_ZONE, "ADDRESS": address, "RESOLVER": WAN_ROUTER}
    text = _MANIFESTS.read_text()
    for name, value in values.items():
        text = text.replace(name, value)
    return text


def addresses(sandbox: Sandbox, network: str, host: str) -> list[str]:
    """A name's addresses from a network's name server, by a cluster's name; none without an answer."""
    command: list[str | Path] = [sys.executable, "-I", _ASK, WAN_DNS, host]
    done = sandbox.run(network, command, capture_output=True, text=True, timeout=60)
    found: list[list[str]] = json.loads(done.stdout) if done.returncode == 0 else [[]]
    return found[0]


def wait(sandbox: Sandbox, hosts: Iterable[str], note: Callable[[str], None]) -> None:
    """Returns when the data plane's network has an address for every host. Raises SandboxError."""
    deadline = time.monotonic() + _PATIENCE
    for host in hosts:
        while not addresses(sandbox, sandbox.data_plane.name, host):
            if time.monotonic() > deadline:
                raise SandboxError(
                    f"{host} has no address after {_PATIENCE:.0f} s.",
                    why="the DNS bridge has not published it",
                    fix="look at DNSEndpoints, Leases and Pods in namespace hosted-mesh-dns (`make shell`).",
                )
            note(f"waiting until {host} is published")
            time.sleep(_LOOK)
