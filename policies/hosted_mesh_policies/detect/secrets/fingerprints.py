"""From a secret to its fingerprints: its parts that give power, without its public parts.

A private key's public half, a kubeconfig's server and a token's header occur in certificates, host names and other
tokens, and would cause false alarms. Every fitting parser is applied, and the results are united: a settings file with
a token has the token's fingerprint and those of its passwords.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import itertools
import re
from collections.abc import Callable, Collection, Generator, Iterator
from functools import lru_cache
from typing import Any, Final

from ..decoders.alphabets import whole_base64
from ..decoders.compression import COMPRESSED, compressed
from ..decoders.text import TooMuchError
from ..keys.der import begins_as_certificates_do, is_keystore, is_public_der, openssh_numbers, private_numbers
from ..leaf.document import as_document
from ..leaf.level import LEAST_SECRET, Level, level_of
from ..leaf.names import is_identifiers_name, names_credential
from ..leaf.placeholders import after_reference, default_in, is_example, is_reference
from ..leaf.public_structure import UUID, is_binary, is_public, unfolded, without_public
from ..leaf.randomness import is_random

MOST_DEPTH: Final = 8
MOST_PARTS: Final = 20_000
"""Most fingerprints of one value; the first secrets of a larger file are enough."""
LEAST_PART: Final = 12
"""Shortest random part of a text that is a fingerprint by itself."""
LEAST_OF_ONE_CASE: Final = 24
_DIGESTS: Final = ("sha256", "sha1", "md5")
_FRAMED = re.compile(rb"://|</[A-Za-z]|[;&?][A-Za-z][\w .-]*=|:\$?[0-9]\$|@(?:[a-z]+\(|[\w-]+[.:/])|^\$\d[a-z]?\$")
_IN_PAIRS = re.compile(rb"(?<=[\w.])=(?=\w)|[:@$]+")
_IN_ADDRESS = re.compile(rb"[/=:@$.]+")


_FIELDS = re.compile(rb"[^:;,|&<>\"'=@$\s]+")


class Whole(bytes):
    """A fingerprint that counts only alone: too similar to a word inside another text."""


_PEM = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----((?:(?!-----).)*)-----END \1-----", re.DOTALL)
_LABELLED_PUBLIC = re.compile(rb"CERTIFICATE|PUBLIC KEY|CRL$")
_PGP_PUBLIC: Final = frozenset({b"\x98", b"\x99", b"\xb8", b"\xb9", b"\xc6", b"\xce"})
"""First bytes of packets of public keys (RFC 4880, 4.2 and 4.3)."""
_JWT = re.compile(rb"(?<![A-Za-z0-9_-])(eyJ[A-Za-z0-9_-]{10,})\.([A-Za-z0-9_-]{10,})\.([A-Za-z0-9_-]{16,})")
_USER_INFO = re.compile(rb"(?<=://)[^/@:\s\"']{0,256}:([^/@\s\"']{4,256})@", re.IGNORECASE)
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]+={0,2}")
_HEX = re.compile(rb"[0-9a-fA-F]{16,}")
_ASSIGNMENT = re.compile(
    rb"(?:^|[\n;,{&?]|\bexport[ \t]+)[ \t]*[\"']?([A-Za-z_][\w.-]{0,127})[\"']?"
    rb"(?:[ \t]*(?:=|:=?(?!//))[ \t]*|[ \t]+(?=[\"']))(\"[^\"\n]*\"|'[^'\n]*'|[^\s;,&\"'][^\n;,&]*)"
)
_SPACED = re.compile(rb"(?<=[ \t])([A-Za-z_][\w.-]{0,127})=(\S{4,256})")
_LOGIN = re.compile(rb"(?<![\w/.])[\w.-]{1,64}[:/]([^/@:\s\"'()]{8,256})@(?:[a-z]+\(|[\w.-]+\.[\w.-]+[:/])")
_CODED_JSON = re.compile(rb"(?:(?<=[a-z\d]_)|(?<=[a-z\d]-))eyJ[A-Za-z0-9+/]{16,}={0,2}(?![A-Za-z0-9+/.])")
_ELEMENT = re.compile(rb"<([A-Za-z_][\w:.-]{0,127})(?:\s[^<>]{0,512})?>([^<>]{8,4096})</\1>")
_UUID = re.compile(UUID)
_HEAD = re.compile(rb"^(?:k8s-aws-v1\.|AGE-SECRET-KEY-1|(?i:bearer|basic|apikey|token)[ \t]+(?=\S+$))")
"""The common beginning of such tokens."""
_TEXT_HEAD = re.compile(rb"[\x20-\x7e]{32,}")
_ID_AND_KEY = re.compile(rb"(?<![\w:/-])([A-Za-z0-9_-]{8,24}):(?=([A-Za-z0-9_-]{16,128})(?![\w:@-]))")
_HTPASSWD = re.compile(rb"^[^\s:]+:(?:\$[^\s:]{1,40}\$([^\s:$]{16,})(?::\S*)?|(\{S?SHA\}\S+))$", re.MULTILINE)
_TOKEN = re.compile(rb"[A-Za-z0-9+/=_.~!@#$%^*-]{12,}")


def fingerprints(
    value: bytes, *, certain: bool = False, name: str = "", names: frozenset[str] = frozenset()
) -> tuple[bytes, ...]:
    """The fingerprints of a secret, `Whole` ones among them.

    `certain`: the value is secret as a whole in any form (a generated password). `name` is its key's name, `names` are
    the names of objects in the plan.
    """
    return _remembered(value, certain, name, names)


@lru_cache(maxsize=1024)
def _remembered(value: bytes, certain: bool, name: str, names: frozenset[str]) -> tuple[bytes, ...]:
    """Cached: a secret is in inputs and outputs, and is used before the write and at the end."""
    return tuple(_found(value, certain=certain, name=name, names=names))


def _found(
    value: bytes, *, certain: bool = False, name: str = "", names: Collection[str] = (), depth: int = 0
) -> Iterator[bytes]:
    value = default_in(_HEAD.sub(b"", unfolded(value.strip())))
    if len(value) < LEAST_SECRET or depth > MOST_DEPTH:
        return
    if not certain and tells_nothing(value):
        return
    if numbers := private_numbers(value) or openssh_numbers(value):
        yield from numbers
        return
    if is_public_der(value):
        return
    if _UUID.fullmatch(value) and names_credential(name):
        yield value
        return
    if is_keystore(value):
        yield value[32:]  # the part before it is the same in every keystore
        return
    if value.startswith(COMPRESSED) and (unpacked := _unpacked(value)):
        yield from _found(unpacked, name=name, names=names, depth=depth + 1)
        return
    if value[:1] in b"{[" and (tree := as_document(value)) is not None:
        yield from _of_structure(tree, names, depth)
        return
    for found in _PEM.finditer(value):
        yield from _of_pem(found.group(1), found.group(2))
    rest = without_public(_PEM.sub(lambda found: b"" if _is_done(found[1], found[2]) else found[0], value))
    if b"=" in value or b":" in value:
        yield from _of_named_uuids(value)
    rest = _ID_AND_KEY.sub(lambda found: b"" if all(map(_is_drawn, found.groups())) else found[0], rest)
    if b"eyJ" in rest:
        rest = yield from _of_coded_json(rest, names, depth)
    for sign, pattern, secret in _PARTS:
        if sign in rest:
            yield from itertools.filterfalse(tells_nothing, map(secret, pattern.finditer(rest)))
            rest = pattern.sub(b"", rest)
    yield from _of_login(rest)
    rest = rest.strip()
    if len(rest) < LEAST_SECRET:
        return
    if (tree := as_document(rest)) is not None:
        yield from _of_structure(tree, names, depth)
        return
    if (decoded := _decoded(rest)) is not None:
        if _is_text(decoded) or decoded[:1] == b"\x30" or decoded.startswith(COMPRESSED):
            # The same in other letters, which searches decode.
            yield from _found(decoded, certain=certain, name=name, names=names, depth=depth + 1)
            return
        if (head := _TEXT_HEAD.match(decoded)) and len(decoded) - head.end() >= LEAST_PART:
            yield from _found(head.group(), name=name, names=names, depth=depth + 1)
            yield decoded[head.end() :]
            return
        if len(decoded) >= LEAST_PART and (certain or level_of(rest, name, names) is not Level.PUBLIC):
            yield decoded
    if b"</" in rest:
        for tag, text in itertools.islice(_ELEMENT.findall(rest), MOST_PARTS):
            yield from _found(text, name=tag.decode(), names=names, depth=depth + 1)
    searched = rest
    if b"\n" in rest or (b"=" in rest and b";" in rest) or b'"' in rest or b"&" in rest or b" " in rest:
        searched = yield from _of_settings(rest, names, depth)
    yield from _of_text(rest, searched, certain=certain, name=name, names=names)


def tells_nothing(value: bytes) -> bool:
    """True for a placeholder of a credential."""
    return is_example(value) or (is_reference(value) and is_public(value.lstrip(b"?")))


def digests(values: Collection[bytes]) -> frozenset[bytes]:
    """Common digests of values, by which people detect changes."""
    return frozenset(hashlib.new(kind, one).hexdigest().encode() for one in values for kind in _DIGESTS)


def _of_text(text: bytes, searched: bytes, *, certain: bool, name: str, names: Collection[str]) -> Iterator[bytes]:
    """A text without a parser: as a whole, and by the random parts of `searched` in it."""
    level = Level.SECRET if certain else level_of(text, name, names)
    if level is Level.PUBLIC:
        return
    shown = text.decode("utf-8", "replace")
    binary = is_binary(text)
    alone = binary or (b"\n" not in text and b" " not in text)
    framed = not (certain or binary) and bool(_FRAMED.search(text))
    core = searched if certain or binary or framed or not alone else _core(searched)
    framed = framed or core != searched
    named = level is Level.SECRET and not is_public(text, names)
    strong = certain or binary or (alone and not framed and (is_random(shown) or named))
    if alone or certain or (level is Level.SECRET and b"\n" not in text):
        yield text if strong else Whole(text)
    if core != searched:
        yield core
    if not alone or framed:
        for part in itertools.islice(_random_parts(searched), MOST_PARTS):
            yield part if len(part) >= LEAST_PART else Whole(part)


def _core(text: bytes) -> bytes:
    """A line of fields without the names, hosts and words around its random part: other lines share those. The whole
    line if these are few."""
    odd = [field for field in _FIELDS.finditer(text) if len(field[0]) >= LEAST_PART and is_random(field[0].decode())]
    if not odd:
        return text
    core = text[odd[0].start() : odd[-1].end()]
    return core if len(text) - len(core) >= LEAST_PART else text


def _random_parts(text: bytes) -> Iterator[bytes]:
    """The random parts of a text, without the names, hosts and words between them, which others share."""
    for token in _TOKEN.findall(text):
        between = _IN_ADDRESS if b"//" in token else _IN_PAIRS
        for part in between.split(token.strip(b"=.")):
            if is_random(part.decode()):
                yield part


def _of_pem(label: bytes, body: bytes) -> Iterator[bytes]:
    if b"PRIVATE KEY" not in label:
        return
    blob = _unarmoured(body)
    if not blob:
        return
    numbers = private_numbers(blob) or openssh_numbers(blob)
    yield from numbers or [blob[32:]]  # an older encrypted key is ciphertext only


def _unarmoured(body: bytes) -> bytes:
    lines = [line for line in body.split(b"\n") if b":" not in line and not line.startswith(b"=")]
    try:
        return base64.b64decode(b"".join(lines))
    except ValueError:
        return b""


def _is_done(label: bytes, body: bytes) -> bool:
    """True for a complete block of PEM: a private key, by its numbers, and a public block, such as a certificate or an
    unknown kind of key, without a private key in it."""
    if b"PRIVATE KEY" in label:
        return True
    if not _LABELLED_PUBLIC.search(label):
        return False
    blob = _unarmoured(body)
    if b"PGP" in label:
        return blob[:1] in _PGP_PUBLIC
    return begins_as_certificates_do(blob) and not private_numbers(blob) and not is_keystore(blob)


def _is_drawn(text: bytes) -> bool:
    return is_random(text.decode("latin-1"))


def _password(found: re.Match[bytes]) -> bytes:
    return found[1] if is_random(found[1].decode("utf-8", "replace")) else Whole(found[1])


_PARTS: Final[tuple[tuple[bytes, re.Pattern[bytes], Callable[[re.Match[bytes]], bytes]], ...]] = (
    (b"eyJ", _JWT, lambda found: found[3]),  # a signature: header and claims are public
    (b"://", _USER_INFO, _password),
    (b":", _HTPASSWD, lambda found: found[1] or found[2]),
)
"""Credentials in a text: a telltale sign, the pattern, and its secret."""


def _of_named_uuids(text: bytes) -> Iterator[bytes]:
    for key, found in _ASSIGNMENT.findall(text) if _UUID.search(text) else ():
        value = found.strip().strip(b"\"'")
        if _UUID.fullmatch(value) and names_credential(key.decode()):
            yield value


def _of_coded_json(text: bytes, names: Collection[str], depth: int) -> Generator[bytes, None, bytes]:
    """JSON in base64 between signs, the claims of some services' tokens, with a secret at times. Returns the text
    without it. JWTs are separate."""
    for found in _CODED_JSON.findall(text):
        decoded = _decoded(found) or b""
        tree = as_document(decoded) if decoded[:1] == b"{" else None
        if isinstance(tree, dict):
            yield from _of_structure(tree, names, depth)
            text = text.replace(found, b"")
    return text


def _of_login(text: bytes) -> Iterator[bytes]:
    """The password of an address that is no URL: `mesh:...@tcp(db:3306)`, `mesh/...@db.example.com:1521`."""
    for found in _LOGIN.finditer(text) if b"@" in text else ():
        if is_random(found[1].decode("utf-8", "replace")):
            yield found[1]


def _of_settings(text: bytes, names: Collection[str], depth: int) -> Generator[bytes, None, bytes]:
    """Lines or pairs of a name and a value: dotenv, ini, connection strings, named.conf. Returns the text without
    values under public names."""
    for number, (key, found) in enumerate([*_ASSIGNMENT.findall(text), *_SPACED.findall(text)]):
        value = found.strip().strip(b"\"'").strip()
        if command := after_reference(value):
            key, value = b"", command
        if number < MOST_PARTS and value != text:
            yield from _found(value, name=key.decode(), names=names, depth=depth + 1)
    return _ASSIGNMENT.sub(lambda found: b"" if _is_public_pair(found) else found.group(), text)


def _is_public_pair(found: re.Match[bytes]) -> bool:
    name = found[1].decode()
    return is_identifiers_name(name) and level_of(found[2].strip(b" \t\"'"), name) is Level.PUBLIC


def _unpacked(value: bytes) -> bytes:
    """The text in a compressed value, which compression may spell differently; else empty."""
    try:
        found = next(compressed(value), b"")
    except TooMuchError:
        return b""
    return b"" if is_binary(found) else found


PUBLIC_IN_JWK: Final = frozenset({"kty", "crv", "n", "e", "x", "y", "kid", "alg", "use", "x5c", "x5t", "x5t#S256"})


def _of_structure(tree: Any, names: Collection[str], depth: int) -> Iterator[bytes]:
    todo, seen = [("", tree)], set[int]()
    while todo and len(seen) < MOST_PARTS:
        key, node = todo.pop()
        if isinstance(node, dict | list):  # an alias may repeat a node without end
            if id(node) in seen:
                continue
            seen.add(id(node))
        if isinstance(node, dict):
            public = PUBLIC_IN_JWK if "kty" in node else frozenset[str]()
            # `name` and `value` side by side are a name and its value.
            named = node.get("name") if isinstance(node.get("name"), str) and "value" in node else None
            todo.extend((str(named if k == "value" and named else k), v) for k, v in node.items() if k not in public)
        elif isinstance(node, list):
            todo.extend((key, v) for v in node)
        elif isinstance(node, str | bytes):
            data = node.encode("utf-8", "surrogatepass") if isinstance(node, str) else node
            yield from _found(data, name=key, names=names, depth=depth + 1)


def _decoded(value: bytes) -> bytes | None:
    try:
        if _HEX.fullmatch(value) and len(value) % 2 == 0:
            return binascii.unhexlify(value)
        whole = len(value) >= 16 and _BASE64.fullmatch(value) and len(value.rstrip(b"=")) % 4 != 1
        if whole and not _is_of_one_case(value):
            return whole_base64(value)
    except ValueError:
        pass
    return None


def _is_of_one_case(value: bytes) -> bool:
    """True for an id in groups, too long for base64 in one case."""
    return len(value) >= LEAST_OF_ONE_CASE and b"-" in value and value in {value.lower(), value.upper()}


def _is_text(value: bytes) -> bool:
    return all(0x20 <= byte < 0x7F or byte in b"\t\r\n" for byte in value[:4096])
