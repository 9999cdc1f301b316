"""routes.py add|del LINK GATEWAY CIDR...: adds or removes routes, also present or missing ones; prints null."""

import sys
from contextlib import suppress

from pyroute2 import IPRoute  # type: ignore[import-untyped]
from pyroute2.netlink.exceptions import NetlinkError  # type: ignore[import-untyped]

command, link, gateway, *ranges = sys.argv[1:]
with IPRoute() as ip:
    (index,) = ip.link_lookup(ifname=link)
    for one in ranges:
        if command == "add":
            ip.route("replace", dst=one, gateway=gateway, oif=index)
        else:
            with suppress(NetlinkError):
                ip.route("del", dst=one, gateway=gateway, oif=index)
print("null")
