"""Values that are public by their structure: certificates, public keys, JWKS, known_hosts, digests, UUIDs, host names,
numbers, words."""

from __future__ import annotations

import base64
import re
from collections.abc import Collection
from functools import lru_cache
from typing import Final

from ..keys.der import is_public_der
from ..keys.keystores import is_trust_store
from .randomness import are_words, is_random, is_scrambled
from .spelled_bytes import is_spelled

UUID: Final = rb"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
"""A pattern of a UUID, without its surroundings."""

_ESCAPED_BREAK: Final = re.compile(rb"\\+[nr]")

_BLOCK = re.compile(
    rb"-----BEGIN ((?:[A-Z0-9]+ )*(?:CERTIFICATE|CERTIFICATE REQUEST|PUBLIC KEY|CRL|PARAMETERS|PKCS7|CMS))-----"
    rb"([^-]*)-----END \1-----(?:\\+[nr])*"
)
_BASE64_DER = re.compile(rb"(?<![A-Za-z0-9+/])(?:MI[A-Za-z0-9+/]{20}|MFkw|MHYw|MCow)[A-Za-z0-9+/]{42,}={0,2}")
"""The beginning of DER of more than 255 bytes, and of public keys on the curves P-256, P-384 and 25519."""
_DER_BEGINS: Final = (b"MI", b"MFkw", b"MHYw", b"MCow")
_BASE64_PEM = re.compile(rb"(?<![A-Za-z0-9+/])LS0tLS1CRUdJTi[A-Za-z0-9+/]{62,}={0,2}")
_SSH = re.compile(rb"(ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-[a-z0-9-]+|sk-[a-z0-9@.-]+) (AAAA[0-9A-Za-z+/]{40,}={0,2})")
_STRUCTURE = re.compile(
    rb"(?i:\b(?:sha(?:1|224|256|384|512)|md5)[:-][0-9a-f]{32,128}\b|\bSHA256:[A-Za-z0-9+/]{43}=?)"
    rb"|(?<![0-9A-Fa-f-])" + UUID + rb"(?![0-9A-Fa-f-])"
    rb"|\b(?:ami|eipalloc|eni|i|igw|lt|nat|rtb|sg|snap|subnet|tgw|vol|vpc|vpce)-[0-9a-f]{17}\b"
    rb"|\bsha256/[A-Za-z0-9+/]{43}=|\bZ0\d{6,8}[A-Z0-9]{12,13}\b"  # a pin of a key; a zone of Route 53
    rb"|\bsha(?:256|384|512)-[A-Za-z0-9+/]{43,86}={0,2}|\bage1[02-9ac-hj-np-z]{58}\b"
    rb"|\bv=DKIM1;[ a-z0-9=;]{0,32}p=MI[A-Za-z0-9+/]{4}ANBgkqhkiG9w0BAQEFAAO[A-Za-z0-9+/]{42,}={0,2}"
    rb"|\bgoogle-site-verification=[\w-]{43}(?![\w-])"
    rb"|(?i:\bserial(?:[ _]?number)?[:=]\s*(?:0x[0-9a-f]{8,40}|(?:[0-9a-f]{2}:){7,19}[0-9a-f]{2})(?![0-9a-f:]))"
    rb"|https?://[0-9a-f]{32}@[\w.-]+/\d+\b"  # the public address of an error reporting service
    rb"|(?<![\w.])\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?"
)


def without_public(value: bytes) -> bytes:
    """The value without its public parts: certificates, public keys, trust stores, digests, UUIDs, dates, names from a
    cloud."""
    if b"-----BEGIN" in value:
        value = _BLOCK.sub(lambda found: b"" if is_public_der(_decoded(found.group(2))) else found.group(), value)
    if any(sign in value for sign in _DER_BEGINS):
        value = _BASE64_DER.sub(lambda found: b"" if _is_public_der(_decoded(found.group())) else found.group(), value)
    if b"LS0tLS1CRUdJTi" in value:
        value = _BASE64_PEM.sub(lambda found: b"" if _is_public_pem(found.group()) else found.group(), value)
    if b"AAAA" in value:
        value = _SSH.sub(lambda found: b"" if _is_ssh(found.group(1), found.group(2)) else found.group(), value)
    return _STRUCTURE.sub(b"", value)


def _is_public_pem(coded: bytes) -> bool:
    decoded = _decoded(_padded(coded))
    return bool(decoded) and not without_public(decoded).strip()


def _is_public_der(der: bytes) -> bool:
    return is_public_der(der) or is_trust_store(der)


def _decoded(block: bytes) -> bytes:
    """A block's content. In JSON its line breaks are escaped, in JSON in JSON twice."""
    if b"\\" in block:
        block = _ESCAPED_BREAK.sub(b"", block)
    try:
        return base64.b64decode(block.translate(None, b" \t\r\n"), validate=True)
    except ValueError:
        return b""


def _padded(coded: bytes) -> bytes:
    coded = coded.rstrip(b"=")
    return coded + b"=" * (-len(coded) % 4)


def _is_ssh(kind: bytes, blob: bytes) -> bool:
    return _decoded(blob + b"=" * (-len(blob) % 4))[4 : 4 + len(kind)] == kind


_BYTES_OF_DIGESTS: Final = frozenset({20, 28, 32, 48, 64})
_BARE_DIGEST: Final = re.compile(rb"([0-9a-f]+|[0-9A-F]+)|[A-Za-z0-9+/]+={0,2}")


def is_bare_digest(value: bytes) -> bool:
    """True for a mere digest in hex or base64. A key has the same form, so a name must decide."""
    if not (found := _BARE_DIGEST.fullmatch(value)):
        return False
    sizes = {len(_decoded(_padded(value))), len(value) / 2 if found[1] else 0}
    return not sizes.isdisjoint(_BYTES_OF_DIGESTS)


_SHOWN_DIGEST: Final = re.compile(rb"(?i:\b(?:sha\d+|md5)[:/-][a-z0-9+/]{32,}|\b(?:[0-9a-f]{2}:){15,}[0-9a-f]{2}\b)")


def has_shown_digest(value: bytes) -> bool:
    """True for a text with a digest in a public form. Digests of passwords have none."""
    return bool(_SHOWN_DIGEST.search(value))


_TOKENS = re.compile(rb"[^\s\"'`,;=()<>\[\]{}|&]+")
_PLAIN = re.compile(
    r"""(
      [\w.*-]+(\.[\w-]+)*\.?(:\d+)?                             # words, a host name
    | [a-zA-Z][a-zA-Z0-9+.-]*:(//)?[^@\s?]*(\?[\w=&%.-]*)?      # a URL that carries no credential, an image
    | ([~.^#!-]{0,2}/[\w./*{}$-]*)?                             # a path
      (%[A-Za-z]{1,3}(?![A-Za-z0-9])[\w./:*+-]*)*              # with what a server fills in: %u, %Y-%m-%d
    | [$%]?\{*[\w.]*\}*                                         # a placeholder
    | [\d.,:/+eExXTZ-]+[A-Za-z%]{0,3}                           # a number, date, address or quantity
    | [\w.+-]+@[\w-]+(\.[\w-]+)+                                # an e-mail address
    | [\w./@:*-]+                                               # an image, a label's name
    | \#{1,4}[\w.-]+                                            # a comment's first word: #cloud-config
    | [~^]\d[\w.+-]*                                            # a range of versions: ^1.4.0
    | [?!^]?[A-Za-z][A-Za-z_.-]*[#+$\\]{0,2}                     # a word with signs: C++, ?xml, !cancelled
    | (?:[\w./:-]|(?<![\w$])\\?\$)+                             # with variables of a shell's: $HOME/.config:$PATH
    | (?P<sign>[^\w\s\x00-\x7f])(?P=sign)*                      # a sign of typography, or a line of them
    | [-+*/\#!.:?%<>|&~^$@\\]*                                  # punctuation
    )[.,:;!?]*""",
    re.VERBOSE,
)
_TAG = re.compile(r"</?[A-Za-z][\w:.-]*/?>")
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
MOST_TOKENS: Final = 20_000
LONGEST_PLAIN: Final = 512


def is_binary(value: bytes) -> bool:
    """True for bytes that are no UTF-8 text."""
    try:
        value.decode()
    except UnicodeDecodeError:
        return True
    return bool(_CONTROL.search(value))


_ESCAPES: Final = re.compile(rb'\\+(?:(")|[nrt])')


_BASE64_TEXT: Final = re.compile(rb"(?:[A-Za-z0-9+/]{4}){6,}(?:[A-Za-z0-9+/]{2,3}={1,2})?")
"""Long enough that random bytes are no ASCII text."""


_FOLDED: Final = re.compile(rb"[A-Za-z0-9+/]{60,76}(?:\r?\n[A-Za-z0-9+/]{60,76})*\r?\n[A-Za-z0-9+/]{1,76}={0,2}")


def unfolded(value: bytes) -> bytes:
    """A value in base64 without its line breaks; any other unchanged."""
    return value.translate(None, b"\r\n") if b"\n" in value and _FOLDED.fullmatch(value.strip()) else value


def _text_in_base64(value: bytes) -> bytes:
    if not _BASE64_TEXT.fullmatch(value := unfolded(value)):
        return b""
    decoded = _decoded(value)
    return decoded if decoded.isascii() and not _CONTROL.search(decoded) else b""


def is_public(value: bytes, names: Collection[str] = ()) -> bool:
    """True if every part of a value is public by its structure. `names` are those of objects in the plan."""
    if (text_in := _text_in_base64(value)) and is_public(text_in):
        return True
    rest = without_public(value)
    if b'\\"' in rest:  # JSON in JSON
        rest = _ESCAPES.sub(lambda found: b'"' if found[1] else b" ", rest)
    try:
        text = rest.decode()
    except UnicodeDecodeError:
        return not rest.strip() or is_public_der(value)
    if (text in names and not is_random(text)) or not text.strip():
        return True
    if _CONTROL.search(rest) or is_spelled(rest):
        return False
    tokens, chunks = set(_TOKENS.findall(rest)), set((_TAG.sub(" ", text) if "</" in text else text).split())
    if max(len(tokens), len(chunks)) > MOST_TOKENS:
        return False
    return all(_is_plain(token.decode()) for token in tokens) and not any(map(is_scrambled, chunks))


@lru_cache(maxsize=16384)
def _is_plain(token: str) -> bool:
    return len(token) <= LONGEST_PLAIN and bool(_PLAIN.fullmatch(token)) and are_words(token)
