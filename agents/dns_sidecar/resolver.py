"""DNS lookups by the Pod's resolver, or by configured name servers.

The Pod's resolver stays unchanged: it also resolves API servers and providers.
"""

from __future__ import annotations

import ipaddress
import secrets
import socket
import struct
from collections.abc import Iterator

A, CNAME, AAAA, IN = 1, 5, 28, 1
PORT = 53
RECURSION_DESIRED, TRUNCATED, RESPONSE_CODE = 0x100, 0x200, 0xF
NO_ERROR, NAME_ERROR = 0, 3
TIMEOUT_SECONDS = 2.0
MAX_UDP_RESPONSE = 4096  # bytes


class Resolver:
    """servers: addresses of name servers, tried in order; empty for the Pod's resolver."""

    def __init__(self, servers: list[str], port: int = PORT) -> None:
        self._servers, self._port = servers, port

    def addresses(self, name: str) -> set[str]:
        """The addresses and aliases of a name; empty if there are none, or no server responds."""
        if not self._servers:
            return system_addresses(name)
        for server in self._servers:
            try:
                return {one for kind in (A, AAAA) for one in self._query(server, name, kind)}
            except (OSError, ValueError, IndexError, struct.error):
                continue
        return set()

    def _query(self, server: str, name: str, kind: int) -> list[str]:
        """Raises OSError without a response; ValueError, IndexError or struct.error for a malformed one."""
        query = encode_query(name, kind)
        family = socket.AF_INET6 if ":" in server else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as connection:
            connection.settimeout(TIMEOUT_SECONDS)
            connection.connect((server, self._port))
            connection.send(query)
            response = connection.recv(MAX_UDP_RESPONSE)
        if struct.unpack(">H", response[2:4])[0] & TRUNCATED:
            response = self._query_tcp(server, query)
        return list(decode_response(response, query))

    def _query_tcp(self, server: str, query: bytes) -> bytes:
        """A query over TCP, without a limit on the response."""
        with socket.create_connection((server, self._port), TIMEOUT_SECONDS) as connection:
            connection.sendall(struct.pack(">H", len(query)) + query)
            with connection.makefile("rb") as stream:
                return stream.read(struct.unpack(">H", stream.read(2))[0])


def system_addresses(name: str) -> set[str]:
    """The addresses that the Pod's resolver returns, and the last name of a chain of aliases."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM, flags=socket.AI_CANONNAME)
    except (OSError, UnicodeError):
        return set()
    aliases = {one[3].removesuffix(".").lower() for one in found if one[3]} - {name.removesuffix(".").lower()}
    return {str(one[4][0]) for one in found} | aliases


def encode_query(name: str, kind: int) -> bytes:
    """A query for one record type. Raises ValueError for an invalid name."""
    labels = [part.encode("ascii") for part in name.removesuffix(".").split(".")]
    if not all(0 < len(label) < 64 for label in labels):
        raise ValueError("invalid host name")
    text = b"".join(bytes([len(label)]) + label for label in labels)
    header = struct.pack(">6H", secrets.randbelow(1 << 16), RECURSION_DESIRED, 1, 0, 0, 0)
    return header + text + struct.pack(">x2H", kind, IN)


def decode_response(response: bytes, query: bytes) -> Iterator[str]:
    """Addresses and aliases in a response. Raises ValueError for an error, or a response to another query."""
    number, flags, _, count = struct.unpack(">4H", response[:8])
    if number != struct.unpack(">H", query[:2])[0] or flags & RESPONSE_CODE not in (NO_ERROR, NAME_ERROR):
        raise ValueError("no valid response")
    position = decode_name(response, 12)[1] + 4
    for _ in range(count):
        position = decode_name(response, position)[1]
        kind, _, _, length = struct.unpack(">2HIH", response[position : position + 10])
        position += 10
        if kind in (A, AAAA):
            yield str(ipaddress.ip_address(response[position : position + length]))
        elif kind == CNAME:
            yield decode_name(response, position)[0].lower()
        position += length


def decode_name(response: bytes, position: int) -> tuple[str, int]:
    """A name in a message, and the position after it. Raises ValueError for a pointer loop."""
    labels, after, seen = list[str](), 0, set[int]()
    while length := response[position]:
        if length >= 0xC0:  # a pointer to the rest of the name
            after, position = after or position + 2, struct.unpack(">H", response[position : position + 2])[0] & 0x3FFF
            if position in seen:
                raise ValueError("no valid response")
            seen.add(position)
            continue
        labels.append(response[position + 1 : position + 1 + length].decode("ascii"))
        position += length + 1
    return ".".join(labels), after or position + 1
