"""Asks a name server for an address: ask_dns.py SERVER NAME. No library: the system resolver takes no server to ask."""

from __future__ import annotations

import socket
import struct
import sys

if __name__ == "__main__":
    server, name = sys.argv[1:]
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        asker.settimeout(3)
        asker.sendto(struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + labels + struct.pack(">x2H", 1, 1), (server, 53))
        answer = asker.recv(512)
    if struct.unpack(">H", answer[6:8])[0]:  # CoreDNS puts nothing after its one record, so its address comes last
        print(socket.inet_ntoa(answer[-4:]))
