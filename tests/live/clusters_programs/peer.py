"""A machine on one of the sandbox's bridges, for tests of who reaches whom with real sockets.

    peer.py BRIDGE ADDRESS/PREFIX GATEWAY serve PORT     answers each connection with the address that it came from
    peer.py BRIDGE ADDRESS/PREFIX GATEWAY connect TARGET...
    peer.py - - - connect TARGET...                      from the namespace that it is started in

It lives in a network namespace of its own on the bridge, and goes with it. A TARGET is HOST:PORT; the answer is JSON:
what the server sent, "open", "refused", "timeout" or the error.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from pyroute2 import IPRoute  # type: ignore[import-untyped]

CLONE_NEWNET = 0x40000000
TIMEOUT = 1.5  # seconds


def join(bridge: str, address: str, gateway: str) -> None:
    """Moves this process to a new network namespace with one link on the bridge."""
    outside = os.open("/proc/self/ns/net", os.O_RDONLY)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    inside = os.open("/proc/self/ns/net", os.O_RDONLY)
    name = f"t{os.getpid()}"
    libc.setns(outside, CLONE_NEWNET)
    with IPRoute() as ip:
        ip.link("add", ifname=name, kind="veth", peer={"ifname": "eth0", "net_ns_fd": inside})
        ip.link("set", index=ip.link_lookup(ifname=name)[0], master=ip.link_lookup(ifname=bridge)[0], state="up")
    libc.setns(inside, CLONE_NEWNET)
    host, _, prefix = address.partition("/")
    with IPRoute() as ip:
        for link in ("lo", "eth0"):
            ip.link("set", index=ip.link_lookup(ifname=link)[0], state="up")
        ip.addr("add", index=ip.link_lookup(ifname="eth0")[0], address=host, prefixlen=int(prefix))
        ip.route("add", dst="default", gateway=gateway)


def end_with_stdin() -> None:
    sys.stdin.read()
    os._exit(0)


def serve(port: int) -> None:
    """Until standard input ends: a signal would only reach the nsenter that started this."""
    threading.Thread(target=end_with_stdin, daemon=True).start()
    with socket.create_server(("", port)) as listener:
        print("listening", flush=True)
        while True:
            connection, (address, _) = listener.accept()
            with connection:
                connection.sendall(address.encode())


def connect(target: str) -> str:
    host, _, port = target.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=TIMEOUT) as connection:
            connection.settimeout(TIMEOUT)
            try:
                return connection.recv(100).decode() or "open"
            except TimeoutError:
                return "open"
    except TimeoutError:
        return "timeout"
    except ConnectionRefusedError:
        return "refused"
    except OSError as error:
        return str(error)


if __name__ == "__main__":
    bridge, address, gateway, command, *rest = sys.argv[1:]
    if bridge != "-":
        join(bridge, address, gateway)
    if command == "serve":
        serve(int(rest[0]))
    with ThreadPoolExecutor(16) as pool:
        print(json.dumps(dict(zip(rest, pool.map(connect, rest), strict=True))))
