"""connect.py UID HOST:PORT...: try all TCP connections at once, as this user; print {"HOST:PORT": "open" | reason}.

Run inside a network namespace; stdlib only. A time-out of 2 s: on these bridges an open port answers in under 1 ms.
"""

# All modules are loaded before the user changes, who may not be able to read this interpreter's library.
import encodings.idna  # noqa: F401 (what the socket module loads at the first name)
import json
import os
import socket
import sys
from concurrent.futures import ThreadPoolExecutor


def attempt(target: str) -> str:
    host, port = target.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), timeout=2).close()
    except TimeoutError:
        return "timed out"
    except OSError as error:
        return error.strerror or type(error).__name__
    return "open"


uid, targets = int(sys.argv[1]), sys.argv[2:]
if uid != os.getuid():
    os.setgid(uid)
    os.setuid(uid)
with ThreadPoolExecutor(max_workers=max(len(targets), 1)) as pool:
    print(json.dumps(dict(zip(targets, pool.map(attempt, targets), strict=True))))
