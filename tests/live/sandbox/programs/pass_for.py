"""Tries a connection under an address that is not this node's: pass_for.py ADDRESS HOST:PORT. Needs root there."""

from __future__ import annotations

import socket
import sys

from pyroute2 import IPRoute  # type: ignore[import-untyped]

if __name__ == "__main__":
    address, target = sys.argv[1:]
    host, _, port = target.rpartition(":")
    with IPRoute() as ip:
        (link,) = ip.link_lookup(ifname="wan0")
        ip.addr("add", index=link, address=address, prefixlen=32)
        try:
            with socket.socket() as connection:
                connection.settimeout(2)
                connection.bind((address, 0))
                connection.connect((host, int(port)))
                print("open")
        except TimeoutError:
            print("timeout")
        finally:
            ip.addr("del", index=link, address=address, prefixlen=32)
