"""matrix.py NFT: makes Pods' networks as a node does and says who reaches whom. Run in a network namespace of its own.

Reads {"pods": {name: address}, "steps": [{"rules": text for nft, "tries": [[port, protocol], ...]}]} from standard
input and prints for each step and try the pairs that were open, like "x/a > x/b".

No waiting: what the rules refuse is answered, so each attempt ends by itself.
"""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyroute2 import IPRoute  # type: ignore[import-untyped]

from sandbox import kernel
from sandbox.node.network import pod_network

GATEWAY, BRIDGE = "10.88.0.1", "br0"
PORTS = (80, 81)
KINDS = {"TCP": socket.SOCK_STREAM, "UDP": socket.SOCK_DGRAM}


def make_node() -> None:
    with IPRoute() as route:
        route.link("set", index=1, state="up")
        route.link("add", ifname=BRIDGE, kind="bridge")
        index = route.link_lookup(ifname=BRIDGE)[0]
        route.addr("add", index=index, address=GATEWAY, prefixlen=16)
        route.link("set", index=index, state="up")
    # A refusal by ICMP must not be held back, or the one who waits for it waits for good.
    settings = {"ip_forward": "1", "icmp_ratemask": "0", "conf/all/send_redirects": "0"}
    for name, value in {**settings, f"conf/{BRIDGE}/send_redirects": "0"}.items():
        Path(f"/proc/sys/net/ipv4/{name}").write_text(value)


async def sockets(network: pod_network.PodNetwork, count: int, kind: int) -> list[socket.socket]:
    """New sockets of a Pod's network; they stay in it wherever they are used."""
    made: list[socket.socket] = []

    def inside() -> None:
        kernel.setns(network.fd, kernel.CLONE_NEWNET, "the Pod's network")
        made.extend(socket.socket(socket.AF_INET, kind | socket.SOCK_NONBLOCK) for _ in range(count))

    await pod_network.in_own_thread(inside)
    return made


async def listen(network: pod_network.PodNetwork) -> None:
    """Answers on all ports: a connection is taken and closed, a datagram sent back."""
    loop = asyncio.get_running_loop()
    for protocol, kind in KINDS.items():
        for port, server in zip(PORTS, await sockets(network, len(PORTS), kind), strict=True):
            server.bind((network.address, port))
            if protocol == "TCP":
                server.listen(128)
            loop.add_reader(server, accept(server) if protocol == "TCP" else echo(server))


def accept(server: socket.socket) -> Callable[[], None]:
    return lambda: server.accept()[0].close()


def echo(server: socket.socket) -> Callable[[], None]:
    def answer() -> None:
        data, address = server.recvfrom(64)
        server.sendto(data, address)

    return answer


async def reaches(client: socket.socket, address: str, port: int) -> bool:
    loop = asyncio.get_running_loop()
    with client:
        try:
            await loop.sock_connect(client, (address, port))
            if client.type & socket.SOCK_DGRAM:
                await loop.sock_sendall(client, b"anybody?")
                await loop.sock_recv(client, 64)
        except OSError:
            return False
    return True


async def open_pairs(networks: dict[str, pod_network.PodNetwork], port: int, protocol: str) -> list[str]:
    attempts = {}
    for caller, network in networks.items():
        called = [name for name in networks if name != caller]
        for name, client in zip(called, await sockets(network, len(called), KINDS[protocol]), strict=True):
            attempts[f"{caller} > {name}"] = reaches(client, networks[name].address, port)
    results = await asyncio.gather(*attempts.values())
    return [pair for pair, is_open in zip(attempts, results, strict=True) if is_open]


async def main(nft: str, order: dict[str, Any]) -> list[list[list[str]]]:
    uplink = pod_network.Uplink(BRIDGE, GATEWAY)
    await pod_network.check(uplink)
    networks = {}
    for number, (name, address) in enumerate(order["pods"].items()):
        networks[name] = await pod_network.create(uplink, f"pod{number}", address, {})
        await listen(networks[name])
    seen = []
    for step in order["steps"]:
        subprocess.run([nft, "-f", "-"], input=step["rules"].encode(), check=True)
        seen.append([await open_pairs(networks, port, protocol) for port, protocol in step["tries"]])
    return seen


if __name__ == "__main__":
    make_node()  # before there is an event loop: the netlink library runs one of its own
    print(json.dumps(asyncio.run(main(sys.argv[1], json.load(sys.stdin)))))
