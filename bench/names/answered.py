"""Run in the DNS server's network: reports the time of a name's first answer, and the number of an etcd's keys.

`python3 -m bench.names.answered SERVER`: a line of JSON for each line of JSON. `{"name": N, "addresses": [A], "ports":
[P]}` returns the moment, of the machine's monotonic clock, when each port first returned exactly these addresses, or
null; `{"prefix": P}` returns the number of keys below it.
"""

from __future__ import annotations

import base64
import json
import sys
import time
import urllib.request
from collections.abc import Callable
from typing import Any

from agents.dns_sidecar.resolver import Resolver

LOOK_SECONDS, LIMIT_SECONDS = 0.02, 300.0
ETCD_PORT = 2379


def when(
    look: Callable[[int], set[str]], ports: list[int], wanted: set[str], limit: float = LIMIT_SECONDS
) -> dict[str, float | None]:
    """look: returns a port's present answer."""
    found: dict[str, float | None] = {str(port): None for port in ports}
    deadline = time.monotonic() + limit
    while None in found.values() and time.monotonic() < deadline:
        for port in ports:
            if found[str(port)] is None and look(port) == wanted:
                found[str(port)] = time.monotonic()
        time.sleep(LOOK_SECONDS)
    return found


def keys(server: str, prefix: str) -> int:
    """By etcd's own HTTP gateway."""
    after = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    query: dict[str, Any] = {
        name: base64.b64encode(key.encode()).decode() for name, key in (("key", prefix), ("range_end", after))
    }
    body = json.dumps({**query, "count_only": True}).encode()
    request = urllib.request.Request(f"http://{server}:{ETCD_PORT}/v3/kv/range", body)
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 (the scheme is written above)
        return int(json.load(answer).get("count", 0))


def main() -> None:
    server = sys.argv[1]
    for line in sys.stdin:
        request = json.loads(line)
        if "prefix" in request:
            answer: Any = keys(server, request["prefix"])
        else:
            resolvers = {port: Resolver([server], port) for port in request["ports"]}
            name = request["name"]
            answer = when(lambda port: resolvers[port].addresses(name), request["ports"], set(request["addresses"]))  # noqa: B023
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
