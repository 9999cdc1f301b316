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
    ResourceReference,
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


def test_what_components_get_is_read() -> None:
    signature = "4dabf18193072939515e22adb298388d"
    output = {signature: "d0e6a833031e9bbcd3f4e8bde6ca49a4", "value": 1, "secret": True, "dependencies": ["urn"]}
    unknown = {signature: "d0e6a833031e9bbcd3f4e8bde6ca49a4"}
    assert _there_and_back({"output": output, "unknown": unknown}) == {"output": Secret(1), "unknown": UNKNOWN}


@pytest.mark.parametrize("kind", ["c44067f5952c0a294b673a41bacd8c17", "0def7320c3a5731c473e5ecbe6d01bc7"])
def test_assets_and_archives_are_refused(kind: str) -> None:
    with pytest.raises(NotImplementedHere, match="assets and archives"):
        _there_and_back({"values": {"4dabf18193072939515e22adb298388d": kind, "path": "/values.yaml"}})


def test_a_reference_is_written() -> None:
    reference = ResourceReference("urn:x", "id", "1.2.3")
    assert _there_and_back({"a": [reference]}) == {"a": [reference]}


def test_an_unknown_signature_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="feedfeed"):
        _there_and_back({"a": {"4dabf18193072939515e22adb298388d": "feedfeed"}})


def test_secrets_are_found_at_any_depth_and_never_shown() -> None:
    values = {"a": [{"b": Secret("hunter2")}]}
    assert contains_secret(values)
    assert not contains_secret(plain(values))
    assert "hunter2" not in repr(values)
