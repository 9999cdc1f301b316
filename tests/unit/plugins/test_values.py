"""Property values on the wire and back."""

from __future__ import annotations

import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.plugins.protocol.errors import NotImplementedHere
from sandbox.plugins.protocol.stubs import struct_pb2
from sandbox.plugins.protocol.values import (
    UNKNOWN,
    Secret,
    contains_secret,
    plain,
    read_struct,
    write_struct,
)


def _there_and_back(values: dict[str, Any]) -> dict[str, Any]:
    wire = write_struct(values, struct_pb2.Struct()).SerializeToString()
    return read_struct(struct_pb2.Struct.FromString(wire))


_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(string.printable)
    | st.just(UNKNOWN)
)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(string.ascii_letters, max_size=3), inner, max_size=3)
        | st.builds(Secret, inner)
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.text(string.ascii_letters, max_size=5), _VALUES, max_size=4))
def test_everything_survives_the_wire(values: dict[str, Any]) -> None:
    assert _there_and_back(values) == values


def test_whole_numbers_come_back_whole() -> None:
    back = _there_and_back({"a": 3, "b": 3.0, "c": 2.5})
    assert [type(back[key]) for key in "abc"] == [int, int, float]


def test_the_empty_object_is_sent() -> None:
    """The engine takes a missing object for a fault."""
    message = struct_pb2.Value()
    write_struct({}, message.struct_value)
    assert message.HasField("struct_value")


@pytest.mark.parametrize(
    ("signature", "word"),
    [
        ("c44067f5952c0a294b673a41bacd8c17", "assets"),
        ("0def7320c3a5731c473e5ecbe6d01bc7", "archives"),
        ("5cf8f73096256a8f31e491e813e4eb8e", "resources"),
    ],
)
def test_what_no_input_here_takes_is_refused(signature: str, word: str) -> None:
    with pytest.raises(NotImplementedHere, match=word):
        _there_and_back({"keepers": {"a": {"4dabf18193072939515e22adb298388d": signature}}})


def test_an_unknown_signature_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="feedfeed"):
        _there_and_back({"a": {"4dabf18193072939515e22adb298388d": "feedfeed"}})


def test_secrets_are_found_at_any_depth_and_never_shown() -> None:
    values = {"a": [{"b": Secret("hunter2")}]}
    assert contains_secret(values)
    assert not contains_secret(plain(values))
    assert "hunter2" not in repr(values)
