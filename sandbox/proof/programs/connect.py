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
        with socket.socket() as connection:
            if mark:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, mark)
            connection.settimeout(2)
            connection.connect((host, int(port)))
    except TimeoutError:
        return "timed out"
    except OSError as error:
        return error.strerror or type(error).__name__
    return "open"


uid, targets, mark = int(sys.argv[1]), sys.argv[2:], 0
if uid != os.getuid():
    try:
        os.setgid(uid)
        os.setuid(uid)
    except OSError:  # a sandbox with one user: there the node tells the proxy's traffic by a mark of the same number
        mark = uid
with ThreadPoolExecutor(max_workers=max(len(targets), 1)) as pool:
    print(json.dumps(dict(zip(targets, pool.map(attempt, targets), strict=True))))
