"""Queries a name server for IPv4 addresses: ask_addresses.py SERVER NAME...; prints JSON, a list for each name.

It fails after a server failure or a time-out: that is no proof of a missing name.

No library: the system's resolver cannot query a chosen server, and follows its own cache.
"""

from __future__ import annotations

import json
import socket
import struct
import sys

A, IN = 1, 1
NO_ERROR, NO_SUCH_NAME = 0, 3


def ask(server: str, name: str) -> list[str]:
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        asker.settimeout(3)
        asker.sendto(struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + labels + struct.pack(">x2H", A, IN), (server, 53))
        return addresses(asker.recv(4096))


def addresses(answer: bytes) -> list[str]:
    code = answer[3] & 0xF
    if code not in (NO_ERROR, NO_SUCH_NAME):
        raise OSError(f"the name server answered with code {code}")
    place, found = after_name(answer, 12) + 4, []
    for _ in range(struct.unpack(">H", answer[6:8])[0]):
        place = after_name(answer, place)
        kind, _, _, length = struct.unpack(">2HIH", answer[place : place + 10])
        if kind == A:
            found.append(socket.inet_ntoa(answer[place + 10 : place + 14]))
        place += 10 + length
    return sorted(found)


def after_name(answer: bytes, place: int) -> int:
    while length := answer[place]:
        if length >= 0xC0:  # the rest stands elsewhere in the answer
            return place + 2
        place += length + 1
    return place + 1


if __name__ == "__main__":
    print(json.dumps([ask(sys.argv[1], name) for name in sys.argv[2:]]))
