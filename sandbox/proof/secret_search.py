"""A search for secrets in stored bytes, plain or encoded. It shares no code with the policies that it checks.

`views` undoes encodings: base64 at each offset, base32, hex, percent-encoding, JSON and YAML escapes, UTF-16, gzip,
zlib and bzip2, in any order. PEM without line breaks is base64. `parts` finds the secret parts of a value: the private
numbers of a key, the signature of a token, an opaque text.
"""

from __future__ import annotations

import base64
import binascii
import bz2
import itertools
import json
import re
import urllib.parse
import zlib
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    load_ssh_private_key,
)

LEAST: Final = 8  # bytes; a shorter text occurs in others by chance
_MOST_BYTES: Final = 64 * 2**20
_MOST_LAYERS: Final = 6
_BREAK: Final = b"\xff\0\xff"
_BASE64 = re.compile(rb"(?:[A-Za-z0-9+/]{60,76}[ \t\r\n]+)+[A-Za-z0-9+/]{1,76}|[A-Za-z0-9+/]{11,}")
_BASE64_URL = re.compile(rb"[A-Za-z0-9_-]{11,}")
_BASE32 = re.compile(rb"[A-Z2-7]{16,}")
_HEX = re.compile(rb"[0-9A-Fa-f]{16,}")
_UTF16 = re.compile(rb"(?:[\t\n\r -~]\0){8,}|(?:\0[\t\n\r -~]){8,}")
_ESCAPE = re.compile(rb'\\(?:u00([0-9a-fA-F]{2})|x([0-9a-fA-F]{2})|([nrt"/\\]))')
_LETTERS: Final = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_COMPRESSED = re.compile(rb"(\x1f\x8b\x08)|\x78[\x01\x5e\x9c\xda]|(BZh[1-9]1AY&SY)")
_PEM = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----.*?-----END \1-----", re.DOTALL)
_TOKEN = re.compile(rb"eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.([A-Za-z0-9_-]{16,})")
_WORD = re.compile(rb"[^\s\"',:;<>()\[\]{}]{12,}")
_OPAQUE = re.compile(rb"[A-Za-z0-9+/=_!@#$%^&*~-]{12,}")
_HEX_KEY = re.compile(rb"(?=[0-9a-f]*[a-f])(?=[a-f0-9]*[0-9])(?:[0-9a-f]{2}){12,}|(?:[0-9A-F]{2}){12,}")
_DIGEST = re.compile(rb"[0-9a-f-]{32,64}|[0-9]+")
_SECRET_MARK: Final = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 the engine's own mark
_MARK: Final = "4dabf18193072939515e22adb298388d"
_GENERATED: Final = frozenset({"result", "base64", "b64Std", "hex"})


class Search:
    """Finds secrets. names: of objects, which occur in secrets and elsewhere and are public."""

    def __init__(self, names: Collection[str] = ()) -> None:
        self._names = frozenset(name.encode() for name in names)
        self._secrets: dict[bytes, str] = {}
        self._public: set[bytes] = set()

    def __len__(self) -> int:
        """The number of searched parts."""
        return len(self._secrets)

    def leave_out(self, value: bytes) -> None:
        """Excludes the secret parts of this value from the search. Call it before `add`."""
        self._public |= set(parts(value))

    def add(self, name: str, value: bytes, *, certain: bool = False) -> bool:
        """Adds the secret parts of a value. Returns False for a value without any, such as a certificate.

        certain: the whole value is secret, in any form.
        """
        found = [one for one in parts(value) if one not in self._public and one not in self._names]
        if certain and len(value.strip()) >= LEAST:
            found.append(value.strip())
        for one in found:
            self._secrets.setdefault(one, name)
        return bool(found)

    def add_bytes(self, name: str, value: bytes) -> None:
        """Adds these very bytes."""
        self._secrets[value] = name

    def standing_in(self, stored: bytes) -> set[str]:
        """Names of the secrets that occur in these bytes unencoded."""
        return {name for one, name in self._secrets.items() if one in stored}

    def find(self, *pieces: bytes) -> set[str]:
        """Names of the secrets in these bytes or in their decodings.

        Raises ValueError for bytes that decode to more than 64 MB.
        """
        return self.standing_in(_BREAK.join(view for piece in pieces for view in views(piece)))


def views(data: bytes) -> list[bytes]:
    """The bytes and all their decodings, in any order of encodings. Raises ValueError above 64 MB."""
    found, layer, size = {data: None}, [data], len(data)
    for _ in range(_MOST_LAYERS):
        inner: list[bytes] = []
        for one in layer:
            for decoded in _decoded(one):
                if len(decoded) >= LEAST and decoded not in found:
                    found[decoded] = None
                    inner.append(decoded)
                    if (size := size + len(decoded)) > _MOST_BYTES:
                        raise ValueError("it decodes to more than 64 MB")
        layer = inner
    return list(found)


def _decoded(data: bytes) -> Iterator[bytes]:
    """The decodings of all parts of the bytes, one layer deep."""
    for run in _BASE64.findall(data):
        yield from _from_base64(run.translate(None, b" \t\r\n"))
    for run in _BASE64_URL.findall(data) if b"-" in data or b"_" in data else ():
        if b"-" in run or b"_" in run:
            yield from _from_base64(run.replace(b"-", b"+").replace(b"_", b"/"))
    for run in _BASE32.findall(data):
        yield from _from_base32(run)
    for run in _HEX.findall(data):
        for start in (0, 1):
            yield binascii.unhexlify(run[start : len(run) - (len(run) - start) % 2])
    for run in _UTF16.findall(data):
        yield run.replace(b"\0", b"")
    if b"%" in data:
        yield urllib.parse.unquote_to_bytes(data)
    if b"\\" in data:
        yield _ESCAPE.sub(_unescaped, data)
    for stream in _COMPRESSED.finditer(data):
        yield _decompressed(data[stream.start() :], stream)


def _from_base64(run: bytes) -> Iterator[bytes]:
    """A run decoded from each of four offsets: letters of base64 may precede it by chance."""
    for start in range(4):
        part = run[start:]
        part = part[:-1] if len(part) % 4 == 1 else part
        yield binascii.a2b_base64(part + b"=" * (-len(part) % 4))


def _from_base32(run: bytes) -> Iterator[bytes]:
    """A run decoded from each of eight offsets."""
    for start in range(8):
        part = run[start:]
        part = part[: len(part) - {1: 1, 3: 1, 6: 1}.get(len(part) % 8, 0)]
        yield base64.b32decode(part + b"=" * (-len(part) % 8))


def _unescaped(found: re.Match[bytes]) -> bytes:
    number = found[1] or found[2]
    return bytes([int(number, 16)]) if number else _LETTERS.get(found[3], found[3])


def _decompressed(data: bytes, start: re.Match[bytes]) -> bytes:
    """The content of a compressed stream as far as it can be read."""
    try:
        if start[2]:
            return bz2.BZ2Decompressor().decompress(data, _MOST_BYTES + 1)
        return zlib.decompressobj(31 if start[1] else 15).decompress(data, _MOST_BYTES + 1)
    except (OSError, zlib.error):
        return b""


# Secret parts of a value --------------------------------------------------------------------------------------------


def parts(value: bytes) -> list[bytes]:
    """The secret parts of a value: private keys, tokens, opaque texts, also in base64 inside of it."""
    seen = [value.strip()]
    seen += [one for one in views(seen[0]) if b"-----BEGIN" in one or b"eyJ" in one]
    found = [part for one in seen for part in _known_forms(one)]
    if _HEX_KEY.fullmatch(seen[0]):
        found += [seen[0], binascii.unhexlify(seen[0])]  # alone in its value it is a key; in a text it may be a digest
    rest = _TOKEN.sub(b"", _PEM.sub(b"", seen[0]))
    found += [part for word in _WORD.findall(rest) for part in _opaque(word)]
    return list(dict.fromkeys(found))


def _known_forms(text: bytes) -> Iterator[bytes]:
    for found in _PEM.finditer(text):
        if b"PRIVATE KEY" in found[1]:
            yield from _numbers(found[0])
    for found in _TOKEN.finditer(text):
        yield found[1]  # the signature: header and claims are no secret


def _numbers(pem: bytes) -> list[bytes]:
    """The private numbers of a key, in DER's form."""
    load = load_ssh_private_key if b"OPENSSH" in pem else load_pem_private_key
    try:
        key: Any = load(pem, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):  # encrypted, or of an unsupported kind: only its text remains
        return [max(pem.split(b"\n"), key=len)]
    if isinstance(key, rsa.RSAPrivateKey):
        numbers = key.private_numbers()
        return [one.to_bytes((one.bit_length() + 7) // 8, "big") for one in (numbers.p, numbers.q)]
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return [key.private_numbers().private_value.to_bytes((key.key_size + 7) // 8, "big")]
    return [bytes(key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption()))]


def _opaque(word: bytes) -> Iterator[bytes]:
    """A random word, and its decoded bytes. Names, digests and public DER do not count."""
    if not _OPAQUE.fullmatch(word) or _DIGEST.fullmatch(word.lower()) or not _is_drawn(word):
        return
    try:
        decoded = base64.b64decode(word, validate=True)
    except ValueError:
        decoded = b""
    if decoded.startswith((b"\x30", b"-----BEGIN", b"{")) or _is_text(decoded):
        return  # `views` decodes it, and `parts` searches the decoding
    yield word
    if len(decoded) >= LEAST:
        yield decoded


def _is_drawn(word: bytes) -> bool:
    """True for random letters: small ones, capitals and digits that alternate. In words such as `HTTP2Options` one kind
    follows itself."""
    kinds = ["0" if one.isdigit() else "a" if one.islower() else "A" for one in word.decode() if one.isalnum()]
    changes = sum(one != two for one, two in itertools.pairwise(kinds))
    return len({*kinds}) == 3 and changes >= 0.4 * (len(kinds) - 1)


def _is_text(data: bytes) -> bool:
    return len(data) >= LEAST and not data.translate(None, bytes(range(0x20, 0x7F)) + b"\t\r\n")


# The engine's state -------------------------------------------------------------------------------------------------


def secrets_of_state(exported: Mapping[str, Any]) -> Iterator[tuple[str, bytes, bool]]:
    """Every secret of an engine's state (exported with secrets shown): name for the report, value, and True for a
    wholly secret value."""
    for resource in (exported.get("deployment") or {}).get("resources") or ():
        kind, name = str(resource.get("type", "")), str(resource.get("urn", "")).rpartition("::")[2]
        is_generated = kind.startswith("random:")
        for tree in (resource.get("inputs") or {}, resource.get("outputs") or {}):
            for path, text, is_marked in _leaves(tree, (), False):
                first = path[0] if path else ""
                if first.startswith(("__", "public")) or "hash" in first.lower():
                    continue
                if is_marked or first.startswith("privateKey") or (is_generated and first in _GENERATED):
                    yield f"{name}: {'.'.join(path)}", text.encode(), is_generated


def _leaves(tree: Any, path: tuple[str, ...], is_marked: bool) -> Iterator[tuple[tuple[str, ...], str, bool]]:
    """The texts in a tree, each with its path and whether a secret's mark encloses it."""
    if isinstance(tree, Mapping) and tree.get(_MARK) == _SECRET_MARK:
        plain = tree["plaintext"] if "plaintext" in tree else json.dumps(tree.get("value"))
        yield from _leaves(json.loads(plain), path, True)
    elif isinstance(tree, Mapping):
        for key, one in tree.items():
            yield from _leaves(one, (*path, str(key)), is_marked)
    elif isinstance(tree, list):
        for at, one in enumerate(tree):
            yield from _leaves(one, (*path, str(at)), is_marked)
    elif isinstance(tree, str):
        yield path, tree, is_marked
