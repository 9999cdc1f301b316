"""The values in one record of an API server's etcd, each by itself. Pure.

Most kinds are stored as protobuf, where a value stands between lengths and tags: some decoders know a stream only by
its first bytes, and these are in the middle there.
"""

from __future__ import annotations

from collections.abc import Iterator

_MAGIC = b"k8s\0"  # then one message, k8s.io/apimachinery's runtime.Unknown
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_DEEPEST = 32
_PRINTABLE = bytes(range(0x20, 0x7F)) + b"\t\r\n"


def values(stored: bytes) -> list[bytes]:
    """Every bytes or string value of a protobuf record; none for anything else."""
    return list(_leaves(stored.removeprefix(_MAGIC), 0)) if stored.startswith(_MAGIC) else []


def _leaves(message: bytes, depth: int) -> Iterator[bytes]:
    """What is no message itself. A text is none, though its bytes may be one by chance."""
    for field in _fields(message) or ():
        if depth < _DEEPEST and not _is_text(field) and _fields(field) is not None:
            yield from _leaves(field, depth + 1)
        elif field:
            yield field


def _is_text(field: bytes) -> bool:
    return not field.translate(None, _PRINTABLE)


def _fields(data: bytes) -> list[bytes] | None:
    """The values of a message that have a length; None unless the bytes are one whole message."""
    found, at = [], 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        if tag >> 3 == 0 or kind not in (_VARINT, _FIXED64, _BYTES, _FIXED32):
            return None
        if kind == _VARINT:
            _, at = _varint(data, at)
        elif kind == _BYTES:
            length, at = _varint(data, at)
            found.append(data[at : at + length])
            at += length
        else:
            at += 8 if kind == _FIXED64 else 4
        if at > len(data):
            return None
    return found if data else None


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number and where it ends; beyond the end of the data when it is cut short."""
    number = shift = 0
    while at < len(data):
        number |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not data[at - 1] & 0x80:
            return number, at
        if shift > 63:
            break
    return 1 << 3, len(data) + 1
