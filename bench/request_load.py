"""Sends requests by kept connections: `request_load.py PORT SECONDS PATHS`. Standard library only, for a quick start.

Each connection has one request on its way; the paths /0/, /1/ and so on take turns. Prints the number and the seconds.
"""

from __future__ import annotations

import socket
import sys
import time

CONNECTIONS = 8
port, seconds, paths = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
connections = [socket.create_connection(("127.0.0.1", port)) for _ in range(CONNECTIONS)]
texts = [f"GET /{number}/ HTTP/1.1\r\nhost: backend\r\n\r\n".encode() for number in range(paths)]
number, began = 0, time.monotonic()
while time.monotonic() < began + seconds:
    for one in connections:
        one.sendall(texts[number % paths])
        number += 1
    for one in connections:
        if not one.recv(4096).startswith(b"HTTP/1.1 200"):
            raise SystemExit("a request failed")
print(number, time.monotonic() - began)
