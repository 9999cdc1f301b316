"""Ways to wrap a text, each undone by a standard decoder; and disguises that no decoder undoes."""

from __future__ import annotations

import base64
import binascii
import bz2
import gzip
import html
import io
import json
import lzma
import tarfile
import urllib.parse
import zipfile
import zlib
from collections.abc import Callable, Mapping

import yaml

Wrapping = Callable[[bytes], bytes]


def _folded(text: bytes, width: int) -> bytes:
    return b"\n".join(text[i : i + width] for i in range(0, len(text), width))


def _json(data: bytes) -> bytes:
    return json.dumps({"kind": "x", "items": [{"value": data.decode("latin-1")}]}).encode()


def _yaml(data: bytes) -> bytes:
    return yaml.safe_dump({"a": {"b": [{"value": data.decode("latin-1")}]}}).encode()


def _deflated(data: bytes, window: int) -> bytes:
    packer = zlib.compressobj(wbits=window)
    return packer.compress(data) + packer.flush()


def _zipped(data: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", data)
    return made.getvalue()


def _tarred(data: bytes) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        info = tarfile.TarInfo("a.txt")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


WRAPPINGS: Mapping[str, Wrapping] = {
    "base64": base64.b64encode,
    "URL base64": base64.urlsafe_b64encode,
    "unpadded base64": lambda d: base64.urlsafe_b64encode(d).rstrip(b"="),
    "base64 in a word": lambda d: b"prefixed" + base64.b64encode(b"x" + d) + b"suffix",
    "base64 at odd alignment": lambda d: b"z" + base64.b64encode(d),
    "folded base64": lambda d: _folded(base64.b64encode(d), 76),
    "indented base64": lambda d: b"data: |\n" + _folded(base64.b64encode(d), 40).replace(b"\n", b"\n    "),
    "folded gzip": lambda d: _folded(base64.b64encode(gzip.compress(d)), 60),
    "base32": base64.b32encode,
    "hex": lambda d: d.hex().encode(),
    "hex with colons": lambda d: d.hex(":").encode(),
    "gzip": lambda d: base64.b64encode(gzip.compress(d)),
    "zlib": lambda d: base64.b64encode(zlib.compress(d)),
    "bzip2": lambda d: base64.b64encode(bz2.compress(d)),
    "xz": lambda d: base64.b64encode(lzma.compress(d)),
    "URL-encoding": lambda d: urllib.parse.quote_from_bytes(d, safe="").encode(),
    "every byte URL-encoded": lambda d: "".join(f"%{byte:02x}" for byte in d).encode(),
    "JSON": _json,
    "JSON in JSON": lambda d: _json(_json(d)),
    "escaped letters": lambda d: "".join(f"\\u{byte:04x}" for byte in d).encode(),
    "YAML": _yaml,
    "HTML entities": lambda d: "".join(f"&#{byte};" for byte in d).encode(),
    "HTML": lambda d: html.escape(d.decode("latin-1")).encode(),
    "UTF-16": lambda d: base64.b64encode(d.decode("latin-1").encode("utf-16-le")),
    "JSON in YAML in base64": lambda d: base64.b64encode(_yaml(_json(d))),
    "base64 four times": lambda d: base64.b64encode(base64.b64encode(base64.b64encode(base64.b64encode(d)))),
    "base64 of gzip of base64": lambda d: base64.b64encode(gzip.compress(base64.b64encode(d))),
    "hex of zlib": lambda d: zlib.compress(d).hex().encode(),
    "base32 in small letters": lambda d: base64.b32encode(d).lower(),
    "zlib with a small window": lambda d: base64.b64encode(_deflated(d, 9)),
    "zip": lambda d: base64.b64encode(_zipped(d)),
    "tar": lambda d: base64.b64encode(_tarred(d)),
    "tar under gzip": lambda d: base64.b64encode(gzip.compress(_tarred(d))),
    "UTF-32": lambda d: base64.b64encode(d.decode("latin-1").encode("utf-32-le")),
    "list of numbers": lambda d: ", ".join(map(str, d)).encode(),
}


def _between(pieces: bytes, joint: bytes) -> bytes:
    return joint.join(pieces[at : at + 6] for at in range(0, len(pieces), 6))


ONCE: Mapping[str, Wrapping] = {
    "base64 that a script joins": lambda d: b"up = '%s'" % _between(base64.b64encode(d), b"' + '"),
}
"""Undone where it is the only one: joints are those of one text."""
DISGUISES: Mapping[str, Wrapping] = {
    "reversed": lambda d: d[::-1],
    "every byte shifted": lambda d: base64.b64encode(bytes((byte + 13) % 256 for byte in d)),
    "exclusive-or": lambda d: bytes(byte ^ 0x5A for byte in d).hex().encode(),
    "every second byte": lambda d: d[::2],
    "base85": base64.b85encode,
    "uuencode": lambda d: b"".join(binascii.b2a_uu(d[i : i + 45]) for i in range(0, len(d), 45)),
    "every byte quoted-printable": lambda d: "".join(f"={byte:02X}" for byte in d).encode(),
    "lzma": lambda d: base64.b64encode(lzma.compress(d, lzma.FORMAT_ALONE)),
}
"""Not undone by a decoder of the pack: only the flow shows these, and `hosted-mesh prove`."""


def wrap(name: str, text: str) -> str:
    """The text under a wrapping or disguise."""
    return ({**WRAPPINGS, **ONCE, **DISGUISES})[name](text.encode()).decode("latin-1")
