"""The program that asks a name server: what it is answered, and that a server's failure is no answer."""

from __future__ import annotations

import socket
import struct

import pytest

from sandbox.proof.programs.ask_addresses import addresses

QUESTION = b"\x06istiod\x04test\x00" + struct.pack(">2H", 1, 1)
SERVER_FAILURE, NO_SUCH_NAME = 2, 3


def answer(code: int, *found: str) -> bytes:
    header = struct.pack(">6H", 7, 0x8180 | code, 1, len(found), 0, 0)
    records = (b"\xc0\x0c" + struct.pack(">2HIH", 1, 1, 5, 4) + socket.inet_aton(one) for one in found)
    return header + QUESTION + b"".join(records)


def test_addresses_are_sorted() -> None:
    assert addresses(answer(0, "192.0.2.2", "192.0.2.1")) == ["192.0.2.1", "192.0.2.2"]


@pytest.mark.parametrize("code", [0, NO_SUCH_NAME])
def test_a_name_may_have_no_address(code: int) -> None:
    assert addresses(answer(code)) == []


def test_a_servers_failure_is_not_the_answer_that_there_is_none() -> None:
    with pytest.raises(OSError, match="code 2"):
        addresses(answer(SERVER_FAILURE))
