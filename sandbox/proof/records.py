"""The values in one record of an API server's etcd, each by itself. Pure.

Most kinds are stored as protobuf, with lengths and tags between values. Some decoders recognise a stream only by its
first bytes, and in a whole record these are in the middle.
"""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

_MAGIC = b"k8s\0"  # then one message, k8s.io/apimachinery's runtime.Unknown
_BYTES, _GROUP = 2, 3
_DEEPEST = 32
_PRINTABLE = bytes(range(0x20, 0x7F)) + b"\t\r\n"


def values(stored: bytes) -> list[bytes]:
    """Every bytes or string value of a protobuf record; none for other bytes."""
    return list(_leaves(stored.removeprefix(_MAGIC), 0)) if stored.startswith(_MAGIC) else []


def _leaves(message: bytes, depth: int) -> Iterator[bytes]:
    """The values that are not messages. A text never counts as one, though its bytes may form one by chance."""
    for field in _fields(message) or ():
        if depth < _DEEPEST and not _is_text(field) and _fields(field) is not None:
            yield from _leaves(field, depth + 1)
        elif field:
            yield field


def _is_text(field: bytes) -> bool:
    return not field.translate(None, _PRINTABLE)


def _fields(data: bytes) -> list[bytes] | None:
    """The length-delimited values of a message; None unless the bytes are one whole message."""
    message = Empty()
    try:
        message.ParseFromString(data)
    except DecodeError:
        return None
    found = UnknownFieldSet(message)
    fields = [found[place] for place in range(len(found))]
    # Kubernetes has no groups: an apparent one is a value that looks like a message by chance.
    if not fields or any(one.wire_type == _GROUP for one in fields):
        return None
    return [one.data for one in fields if one.wire_type == _BYTES]
