"""Try TCP connections to each HOST:PORT given, all at once; print {"HOST:PORT": "open" | reason} as JSON.

Run inside a network namespace; stdlib only. A time-out of 2 s: on these bridges an open port answers in under 1 ms.
"""

import concurrent.futures
import json
import socket
import sys


def attempt(target: str) -> str:
    host, port = target.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), timeout=2).close()
    except TimeoutError:
        return "timed out"
    except OSError as error:
        return error.strerror or type(error).__name__
    return "open"


targets = sys.argv[1:]
with concurrent.futures.ThreadPoolExecutor(max_workers=max(len(targets), 1)) as pool:
    print(json.dumps(dict(zip(targets, pool.map(attempt, targets), strict=True))))
