"""Prints an etcd's keys and values below a prefix, as JSON, by etcd's own HTTP gateway: ask_keys.py URL PREFIX.

Prints {"revision": how often anything was ever written there, "values": the values by key}.
"""

from __future__ import annotations

import base64
import json
import sys
import urllib.request


def main() -> None:
    url, prefix = sys.argv[1:]
    after = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    asked = {name: base64.b64encode(key.encode()).decode() for name, key in (("key", prefix), ("range_end", after))}
    request = urllib.request.Request(f"{url}/v3/kv/range", json.dumps(asked).encode())
    with urllib.request.urlopen(request, timeout=10) as answer:
        found = json.load(answer)
    pairs = found.get("kvs", [])
    values = {base64.b64decode(one["key"]).decode(): json.loads(base64.b64decode(one["value"])) for one in pairs}
    print(json.dumps({"revision": int(found["header"]["revision"]), "values": values}))


main()
