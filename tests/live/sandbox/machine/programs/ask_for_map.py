"""Stands for newuidmap and newgidmap: `ask_for_map.py SOCKET NAME PID [IN OUT COUNT ...]`.

Those have root's right to write a map; this asks the tests, which are root, to do it (subordinate_ids.py). Standard
library only.
"""

from __future__ import annotations

import json
import socket
import sys

if __name__ == "__main__":
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(sys.argv[1])
        connection.sendall(json.dumps(sys.argv[2:]).encode())
        connection.shutdown(socket.SHUT_WR)
        sys.exit(connection.makefile().read() or None)
