"""Exchanges bytes over TCP: `exchange_bytes.py ADDRESS PORT SIZES HELD`.

SIZES: JSON, a list of numbers. For each it opens a connection and sends a request with so many bytes of content, to an
HTTP server that answers and closes. HELD: as many connections stay half sent until standard input ends; before, it
prints `held`. Then it prints the bytes sent and received, as JSON. Standard library only.
"""

import json
import socket
import sys

address, port, sizes, held = sys.argv[1:]
totals = [0, 0]


def request(size: int) -> bytes:
    head = f"POST / HTTP/1.1\r\nHost: ledger\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n"
    return head.encode() + b"x" * size


def connect() -> socket.socket:
    return socket.create_connection((address, int(port)), timeout=10)


def send(connection: socket.socket, data: bytes) -> None:
    connection.sendall(data)
    totals[0] += len(data)


def finish(connection: socket.socket) -> None:
    while data := connection.recv(65536):
        totals[1] += len(data)
    connection.close()


for size in json.loads(sizes):
    one = connect()
    send(one, request(size))
    finish(one)
open_ones = [connect() for _ in range(int(held))]
for one in open_ones:
    send(one, request(0)[:20])
if open_ones:
    print("held", flush=True)
    sys.stdin.read()
for one in open_ones:
    send(one, request(0)[20:])
    finish(one)
print(json.dumps(totals))
