"""What a name is answered with: by the Pod's resolver, or by name servers that are asked themselves.

The Pod's own resolver has to know other names too, API servers' and providers', so it is left as it is.
"""

from __future__ import annotations

import ipaddress
import secrets
import socket
import struct
from collections.abc import Iterator

A, CNAME, AAAA, IN = 1, 5, 28, 1
PORT = 53
ASK_RECURSION, TRUNCATED, ANSWER_CODE = 0x100, 0x200, 0xF
NO_ERROR, NO_SUCH_NAME = 0, 3
TIMEOUT_SECONDS = 2.0
LARGEST = 4096  # bytes, of an answer over UDP


class Resolver:
    """servers: addresses of those that are asked, the next one where one does not answer; none for the Pod's own."""

    def __init__(self, servers: list[str], port: int = PORT) -> None:
        self._servers, self._port = servers, port

    def addresses(self, name: str) -> set[str]:
        """The addresses of a name, and what it is an alias of; empty if it has none, or nobody answers."""
        if not self._servers:
            return by_the_system(name)
        for server in self._servers:
            try:
                return {one for kind in (A, AAAA) for one in self._ask(server, name, kind)}
            except (OSError, ValueError, IndexError, struct.error):
                continue
        return set()

    def _ask(self, server: str, name: str, kind: int) -> list[str]:
        """Raises OSError without an answer; ValueError, IndexError or struct.error for one that is no answer."""
        question = question_of(name, kind)
        family = socket.AF_INET6 if ":" in server else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as asker:
            asker.settimeout(TIMEOUT_SECONDS)
            asker.connect((server, self._port))
            asker.send(question)
            answer = asker.recv(LARGEST)
        if struct.unpack(">H", answer[2:4])[0] & TRUNCATED:
            answer = self._ask_all(server, question)
        return list(found_in(answer, question))

    def _ask_all(self, server: str, question: bytes) -> bytes:
        """Over TCP, where an answer may have any length."""
        with socket.create_connection((server, self._port), TIMEOUT_SECONDS) as asker:
            asker.sendall(struct.pack(">H", len(question)) + question)
            with asker.makefile("rb") as answers:
                return answers.read(struct.unpack(">H", answers.read(2))[0])


def by_the_system(name: str) -> set[str]:
    """As programs in this Pod would be answered."""
    try:
        return {str(found[4][0]) for found in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)}
    except (OSError, UnicodeError):
        return set()


def question_of(name: str, kind: int) -> bytes:
    """A message that asks for one type of records. Raises: ValueError for a name that no message can hold."""
    labels = [part.encode("ascii") for part in name.removesuffix(".").split(".")]
    if not all(0 < len(label) < 64 for label in labels):
        raise ValueError("no host name")
    text = b"".join(bytes([len(label)]) + label for label in labels)
    header = struct.pack(">6H", secrets.randbelow(1 << 16), ASK_RECURSION, 1, 0, 0, 0)
    return header + text + struct.pack(">x2H", kind, IN)


def found_in(answer: bytes, question: bytes) -> Iterator[str]:
    """Addresses and aliases in an answer. Raises ValueError if it is none to this question, or says that it failed."""
    number, flags, _, count = struct.unpack(">4H", answer[:8])
    if number != struct.unpack(">H", question[:2])[0] or flags & ANSWER_CODE not in (NO_ERROR, NO_SUCH_NAME):
        raise ValueError("no answer")
    place = name_at(answer, 12)[1] + 4
    for _ in range(count):
        place = name_at(answer, place)[1]
        kind, _, _, length = struct.unpack(">2HIH", answer[place : place + 10])
        place += 10
        if kind in (A, AAAA):
            yield str(ipaddress.ip_address(answer[place : place + length]))
        elif kind == CNAME:
            yield name_at(answer, place)[0]
        place += length


def name_at(answer: bytes, place: int) -> tuple[str, int]:
    """A name in a message, and where what follows it begins. Raises ValueError for one that refers to itself."""
    labels, after, seen = list[str](), 0, set[int]()
    while length := answer[place]:
        if length >= 0xC0:  # the rest stands elsewhere in the message
            after, place = after or place + 2, struct.unpack(">H", answer[place : place + 2])[0] & 0x3FFF
            if place in seen:
                raise ValueError("no answer")
            seen.add(place)
            continue
        labels.append(answer[place + 1 : place + 1 + length].decode("ascii"))
        place += length + 1
    return ".".join(labels), after or place + 1
