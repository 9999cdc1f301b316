"""A machine on a cluster's bridge or on a link of the wan's router, for tests of who reaches whom with real sockets.

    peer.py BRIDGE ADDRESS GATEWAY serve PORT     answers each connection with the address that it came from
    peer.py BRIDGE ADDRESS GATEWAY connect TARGET...
    peer.py - - - connect TARGET...                      from the namespace that it is started in

It lives in a network namespace of its own, and goes with it. BRIDGE may be `wan`: then the router sends what comes from
this machine to GATEWAY, whatever it is for. A TARGET is HOST:PORT; the answer is JSON:
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
ROUTER = "10.90.0.1"
TABLE = 100  # routes of the wan for strangers


def join(bridge: str, address: str, gateway: str) -> None:
    """Moves this process to a new network namespace with one link to the bridge or router."""
    outside = os.open("/proc/self/ns/net", os.O_RDONLY)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    inside = os.open("/proc/self/ns/net", os.O_RDONLY)
    name = f"t{os.getpid()}"
    libc.setns(outside, CLONE_NEWNET)
    with IPRoute() as ip:
        ip.link("add", ifname=name, kind="veth", peer={"ifname": "eth0", "net_ns_fd": inside})
        (link,) = ip.link_lookup(ifname=name)
        ip.link("set", index=link, state="up")
        if bridge == "wan":
            ip.addr("add", index=link, address=ROUTER, prefixlen=32)
            ip.route("add", dst=f"{address}/32", oif=link, scope="link")
            ip.flush_rules(table=TABLE)
            if gateway != ROUTER:
                ip.route("replace", table=TABLE, dst="default", gateway=gateway)
                ip.rule("add", src=address, src_len=32, table=TABLE)
            gateway = ROUTER
        else:
            ip.link("set", index=link, master=ip.link_lookup(ifname=bridge)[0])
    libc.setns(inside, CLONE_NEWNET)
    with IPRoute() as ip:
        for own in ("lo", "eth0"):
            ip.link("set", index=ip.link_lookup(ifname=own)[0], state="up")
        (link,) = ip.link_lookup(ifname="eth0")
        ip.addr("add", index=link, address=address, prefixlen=32)
        ip.route("add", dst=f"{gateway}/32", oif=link, scope="link")
        ip.route("add", dst="default", gateway=gateway, oif=link)


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
