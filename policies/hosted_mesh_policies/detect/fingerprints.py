"""From a secret to its fingerprints: the parts of it that give power, without the parts that are public.

A private key's public half, a kubeconfig's server, a token's header are in certificates, host names and other tokens,
so they make false alarms. A fingerprint is what must not be found elsewhere, byte for byte.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from ..plan.decode import YAML_LOADER
from .der import openssh_numbers, private_numbers

LEAST_FINGERPRINT: Final = 8
"""A shorter value cannot be told from chance: "admin", "5432"."""
MOST_DEPTH: Final = 8

_PEM = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
_JWT = re.compile(rb"(eyJ[A-Za-z0-9_-]{10,})\.([A-Za-z0-9_-]{10,})\.([A-Za-z0-9_-]{16,})")
_USER_INFO = re.compile(rb"^[a-z][a-z0-9+.-]*://[^/@:\s]*:([^/@\s]+)@", re.IGNORECASE)
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]+={0,2}")
_HEX = re.compile(rb"[0-9a-fA-F]{16,}")
_ASSIGNMENTS = re.compile(rb"^\s*(?:export\s+)?[A-Za-z_][\w.-]*\s*[=:]\s*(\S.*?)\s*$", re.MULTILINE)
_HTPASSWD = re.compile(rb"^[^\s:]+:(\$\S{20,}|\{SHA\}\S+)$", re.MULTILINE)

_PUBLIC = re.compile(
    r"""^(
      [a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9-]+)+\.?(:\d+)?              # a host name
    | [a-z]+(-[a-z0-9]{1,12}){1,12}                                       # words joined by dashes
    | [a-z][a-z0-9+.-]*://[^@\s?]*                                        # a URL that carries no credential
    | [A-Za-z]+([ ,.:]+[A-Za-z]+)*[.!]?                                   # words: a name, a sentence
    | /[\w./-]*                                                           # a path
    | [\d.,:/+eE-]+[A-Za-z%]{0,3}                                         # a number, date, address or quantity
    | v\d[\w.+-]*                                                         # a version
    | [\w.+-]+@[\w-]+(\.[\w-]+)+                                          # an e-mail address
    | [0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}                           # a UUID
    | (sha256|sha512|md5):[0-9a-f]+                                       # a digest
    | [a-z0-9.-]+/[\w./@:-]+                                              # an image, a label's name
    )$""",
    re.VERBOSE,
)
LONGEST_WORD: Final = 24
"""A run of letters longer than this is not a word."""


def is_public_looking(text: str) -> bool:
    """True for a host name, URL, number, word and the like: values that say nothing, even inside a Secret."""
    if any(len(word) > LONGEST_WORD for word in re.findall(r"[A-Za-z0-9]+", text)) and not re.match(r"sha\d+:", text):
        return False
    return bool(_PUBLIC.match(text))


def fingerprints(value: bytes, *, certain: bool = False, depth: int = 0) -> Iterator[bytes]:
    """The fingerprints of a secret.

    `certain` says that the value is known to be secret as a whole (a generated password), so that even a value that
    looks like a word is one. Otherwise values that look public are left out.
    """
    value = value.strip()
    if len(value) < LEAST_FINGERPRINT or depth > MOST_DEPTH:
        return
    if b"-----BEGIN" in value:
        yield from _of_pem(value)
        value = _PEM.sub(b"", value).strip()
        if len(value) < LEAST_FINGERPRINT:
            return
    if (numbers := private_numbers(value) or openssh_numbers(value)) or (value[:1] == b"\x30" and not _is_text(value)):
        yield from numbers  # DER: a key has private numbers, a certificate has none
        return
    if (structure := _structure(value)) is not None:
        yield from _of_structure(structure, depth)
        return
    if found := _JWT.search(value):
        yield found.group(3)
        return
    if found := _USER_INFO.match(value):
        yield from fingerprints(found.group(1), certain=certain, depth=depth + 1)
        return
    if lines := _HTPASSWD.findall(value):
        yield from (line for line in lines if len(line) >= LEAST_FINGERPRINT)
        return
    if b"\n" in value and (parts := _ASSIGNMENTS.findall(value)):
        for part in parts:
            yield from fingerprints(part.strip(b"\"'"), depth=depth + 1)
        return
    inner = list(_of_encoded(value, depth))
    yield from inner
    if inner and value not in inner and depth < MOST_DEPTH and _decodes_to_text(value):
        return  # the same secret in other letters; whoever searches decodes them
    text = value.decode("utf-8", "replace")
    if certain or not is_public_looking(text):
        yield value


def _is_text(value: bytes) -> bool:
    return all(0x20 <= byte < 0x7F or byte in b"\t\r\n" for byte in value[:64])


def _of_pem(value: bytes) -> Iterator[bytes]:
    for found in _PEM.finditer(value):
        if b"PRIVATE KEY" not in found.group(1):
            continue
        lines = [line for line in found.group(2).split(b"\n") if b":" not in line]
        try:
            blob = base64.b64decode(b"".join(lines))
        except binascii.Error:
            continue
        numbers = private_numbers(blob) or openssh_numbers(blob)
        yield from numbers or [blob[32:]]  # an older encrypted key is ciphertext only


def _structure(value: bytes) -> Any:
    """The value as JSON or YAML, when it is a mapping or a list. Else None."""
    try:
        if value[:1] in b"{[":
            return json.loads(value)
        if b": " in value or b":\n" in value:
            loaded = yaml.load(value, Loader=YAML_LOADER)  # noqa: S506 a safe loader, in C where there is one
            return loaded if isinstance(loaded, dict | list) else None
    except (ValueError, yaml.YAMLError, RecursionError):
        pass
    return None


_PUBLIC_KEYS: Final = frozenset(
    [
        "certificate-authority-data",
        "client-certificate-data",
        "server",
        "user",
        "username",
        "name",
        "email",
        "type",
        "kind",
        "apiVersion",
        "namespace",
        "cluster",
        "context",
        "current-context",
        "host",
        "hostname",
        "url",
        "auth_uri",
        "token_uri",
        "client_email",
        "client_id",
        "project_id",
        "private_key_id",
        "client_x509_cert_url",
        "auth_provider_x509_cert_url",
        "kty",
        "crv",
        "n",
        "e",
        "x",
        "y",
        "kid",
        "alg",
        "use",
        "iss",
        "aud",
        "sub",
    ]
)
"""Keys of kubeconfigs, cloud key files and JWKs whose values are public."""


def _of_structure(tree: Any, depth: int) -> Iterator[bytes]:
    todo, seen = [("", tree)], set[int]()
    while todo:
        key, node = todo.pop()
        if isinstance(node, dict | list):  # an alias may repeat a node without end
            if id(node) in seen:
                continue
            seen.add(id(node))
        if isinstance(node, dict):
            todo.extend((str(k), v) for k, v in node.items())
        elif isinstance(node, list):
            todo.extend((key, v) for v in node)
        elif isinstance(node, str | bytes) and key not in _PUBLIC_KEYS:
            data = node.encode("utf-8", "surrogatepass") if isinstance(node, str) else node
            yield from fingerprints(data, depth=depth + 1)


def _of_encoded(value: bytes, depth: int) -> Iterator[bytes]:
    """Fingerprints of what the whole value decodes to: a base64 or hex text is the same secret in other letters."""
    try:
        if _HEX.fullmatch(value) and len(value) % 2 == 0:
            yield from _opaque(binascii.unhexlify(value), depth)
        elif len(value) >= 16 and _BASE64.fullmatch(value) and len(value.rstrip(b"=")) % 4 != 1:
            standard = value.rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
            yield from _opaque(base64.b64decode(standard + b"=" * (-len(standard) % 4)), depth)
    except binascii.Error:
        return


def _decodes_to_text(value: bytes) -> bool:
    try:
        standard = value.rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
        decoded = base64.b64decode(standard + b"=" * (-len(standard) % 4), validate=True)
    except binascii.Error:
        return False
    return _is_text(decoded) or decoded[:1] == b"\x30"


def _opaque(decoded: bytes, depth: int) -> Iterator[bytes]:
    if all(0x20 <= byte < 0x7F or byte in b"\t\r\n" for byte in decoded[:4096]) or decoded[:1] == b"\x30":
        yield from fingerprints(decoded, depth=depth + 1)
    elif len(decoded) >= 12:
        yield decoded
