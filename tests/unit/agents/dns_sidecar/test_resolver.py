"""DNS lookups against a name server on the loopback that returns prepared responses."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from agents.dns_sidecar import resolver
from agents.dns_sidecar.resolver import AAAA, CNAME, A, Resolver, decode_name, decode_response, encode_query

POINTER = b"\xc0\x0c"  # to the name in the question
FOUR, SIX = socket.inet_aton("192.0.2.1"), socket.inet_pton(socket.AF_INET6, "2001:db8::1")


def test_a_name_server_with_an_ipv6_address() -> None:
    """By UDP, and by TCP after a truncated answer."""

    def whole(question: bytes) -> bytes:
        return answer(question, record(A, FOUR)) if asked_kind(question) == A else answer(question)

    with serving(lambda question: answer(question, flags=0x8380), whole, "::1") as port:
        assert Resolver(["::1"], port).addresses("web.north.example.com") == {"192.0.2.1"}


def record(kind: int, data: bytes) -> bytes:
    return POINTER + struct.pack(">2HIH", kind, 1, 60, len(data)) + data


def answer(question: bytes, *records: bytes, flags: int = 0x8180) -> bytes:
    return question[:2] + struct.pack(">5H", flags, 1, len(records), 0, 0) + question[12:] + b"".join(records)


def asked_kind(question: bytes) -> int:
    return int(struct.unpack(">H", question[-4:-2])[0])


@contextmanager
def serving(
    reply: Callable[[bytes], bytes | None],
    whole: Callable[[bytes], bytes] | None = None,
    address: str = "127.0.0.1",
) -> Iterator[int]:
    """A port where UDP is answered so, and TCP by `whole`. No reply is silence."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with ExitStack() as stack:
        stream = stack.enter_context(socket.create_server((address, 0), family=family))
        port = int(stream.getsockname()[1])
        datagrams = stack.enter_context(socket.socket(family, socket.SOCK_DGRAM))
        datagrams.bind((address, port))

        def by_datagrams() -> None:
            while len(question := (got := datagrams.recvfrom(512))[0]) > 1:
                if (said := reply(question)) is not None:
                    datagrams.sendto(said, got[1])

        def by_stream() -> None:
            while True:
                connection, _ = stream.accept()
                with connection, connection.makefile("rb") as asked:
                    length = asked.read(2)
                    if not length:
                        return
                    assert whole is not None
                    said = whole(asked.read(struct.unpack(">H", length)[0]))
                    connection.sendall(struct.pack(">H", len(said)) + said)

        threads = [threading.Thread(target=one) for one in (by_datagrams, by_stream)]
        for one in threads:
            one.start()
        try:
            yield port
        finally:
            datagrams.sendto(b"x", (address, port))
            socket.create_connection((address, port)).close()
            for one in threads:
                one.join()


def test_addresses_of_both_kinds_and_the_alias() -> None:
    target = b"\x02lb\x07example\x03net\x00"

    def reply(question: bytes) -> bytes:
        found = {A: record(A, FOUR), AAAA: record(AAAA, SIX)}[asked_kind(question)]
        return answer(question, record(CNAME, target), found)

    with serving(reply) as port:
        found = Resolver(["127.0.0.1"], port).addresses("web.north.example.com")
    assert found == {"192.0.2.1", "2001:db8::1", "lb.example.net"}


def test_a_long_answer_is_asked_for_again_over_tcp() -> None:
    many = [record(A, bytes([192, 0, 2, number])) for number in range(1, 255)]

    def whole(question: bytes) -> bytes:
        return answer(question, *(many if asked_kind(question) == A else []))

    with serving(lambda question: answer(question, flags=0x8380), whole) as port:
        assert len(Resolver(["127.0.0.1"], port).addresses("many.north.example.com")) == 254


@pytest.mark.parametrize(
    "reply",
    [
        lambda _: b"",
        lambda _: b"no answer at all",
        lambda question: answer(question, record(A, FOUR), flags=0x8182),
        lambda question: answer(question, record(A, FOUR), flags=0x8185),
        lambda question: answer(b"xx" + question[2:], record(A, FOUR)),
        lambda question: answer(question, record(A, FOUR)[:-2]),
        lambda question: answer(question, record(CNAME, b"\xc0\xff")),
    ],
    ids=["nothing", "text", "it failed", "it refuses", "another question", "half of it", "a name that is nowhere"],
)
def test_what_is_no_answer_tells_nothing(reply: Callable[[bytes], bytes]) -> None:
    with serving(reply) as port:
        assert Resolver(["127.0.0.1"], port).addresses("web.north.example.com") == set()


def test_the_next_one_is_asked() -> None:
    """127.0.0.2 is this machine too, and nobody listens there on the other's port."""

    def reply(question: bytes) -> bytes:
        return answer(question, *([record(A, FOUR)] if asked_kind(question) == A else []))

    with serving(reply) as port:
        assert Resolver(["127.0.0.2", "127.0.0.1"], port).addresses("web.north.example.com") == {"192.0.2.1"}


def test_silence_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolver, "TIMEOUT_SECONDS", 0.01)
    with serving(lambda _: None) as port:
        assert Resolver(["127.0.0.1"], port).addresses("web.north.example.com") == set()


def test_a_name_that_there_is_not_has_no_address() -> None:
    with serving(lambda question: answer(question, flags=0x8183)) as port:
        assert Resolver(["127.0.0.1"], port).addresses("web.north.example.com") == set()


def test_without_servers_the_pods_own_resolver_is_asked() -> None:
    assert Resolver([]).addresses("localhost") & {"127.0.0.1", "::1"}
    assert Resolver([]).addresses(f"{'x' * 64}.example.invalid") == set()


@pytest.mark.parametrize("name", ["a..example.com", f"{'x' * 64}.example.com", "wéb.example.com"])
def test_a_name_that_cannot_be_asked_for_has_no_address(name: str) -> None:
    assert Resolver(["127.0.0.1"], 9).addresses(name) == set()


def test_a_name_that_refers_to_itself_ends() -> None:
    question: Any = encode_query("web.example.com", A)
    with pytest.raises(ValueError, match="no valid response"):
        list(decode_response(answer(question)[:12] + b"\xc0\x0c" + b"\0" * 8, question))
    assert decode_name(question, 12) == ("web.example.com", len(question) - 4)
