"""What one value is by itself: public by its structure, secret, or undecided.

Public is what can be parsed as something that is made to be shown: certificates, public keys, JWKS, known_hosts,
digests, UUIDs, host names, numbers, words. Secret is what its name says so about, and what is too random to be a word.
Everything else is undecided: it is looked for as a whole and never by a part.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Callable, Collection
from enum import IntEnum
from functools import lru_cache
from itertools import pairwise
from typing import Final

from .der import is_public_der
from .keystores import is_trust_store
from .names import is_identifiers_name, is_secrets_name, names_issuer, names_public_half

_ESCAPED_BREAK: Final = re.compile(rb"\\+[nr]")


class Level(IntEnum):
    """The lattice: a value made from several is at the highest level of any of them."""

    PUBLIC = 0
    MAYBE = 1
    SECRET = 2


LEAST_SECRET: Final = 8
"""A shorter value cannot be told from chance: "admin", "5432"."""
LEAST_RANDOM: Final = 10
LEAST_MIXED: Final = 16
"""A run this long with digits between its letters twice is no word."""
LONGEST_WORD: Final = 24
"""A run of letters longer than this is not a word."""

_BLOCK = re.compile(
    rb"-----BEGIN ((?:[A-Z0-9]+ )*(?:CERTIFICATE|CERTIFICATE REQUEST|PUBLIC KEY|CRL|PARAMETERS|PKCS7|CMS))-----"
    rb"([^-]*)-----END \1-----(?:\\+[nr])*"
)
_BASE64_DER = re.compile(rb"(?<![A-Za-z0-9+/])(?:MI[A-Za-z0-9+/]{20}|MFkw|MHYw|MCow)[A-Za-z0-9+/]{42,}={0,2}")
"""As DER begins: what is longer than 255 bytes, and public keys on the curves P-256, P-384 and 25519."""
_DER_BEGINS: Final = (b"MI", b"MFkw", b"MHYw", b"MCow")
_BASE64_PEM = re.compile(rb"(?<![A-Za-z0-9+/])LS0tLS1CRUdJTi[A-Za-z0-9+/]{62,}={0,2}")
_SSH = re.compile(rb"(ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-[a-z0-9-]+|sk-[a-z0-9@.-]+) (AAAA[0-9A-Za-z+/]{40,}={0,2})")
_STRUCTURE = re.compile(
    rb"(?i:\b(?:sha(?:1|224|256|384|512)|md5)[:-][0-9a-f]{32,128}\b|\bSHA256:[A-Za-z0-9+/]{43}=?)"
    rb"|(?<![0-9A-Fa-f-])[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}(?![0-9A-Fa-f-])"
    rb"|\b(?:ami|eipalloc|eni|i|igw|lt|nat|rtb|sg|snap|subnet|tgw|vol|vpc|vpce)-[0-9a-f]{17}\b"
    rb"|\bsha256/[A-Za-z0-9+/]{43}=|\bZ0\d{6,8}[A-Z0-9]{12,13}\b"  # a pin of a key; a zone of Route 53
    rb"|\bsha(?:256|384|512)-[A-Za-z0-9+/]{43,86}={0,2}|\bage1[02-9ac-hj-np-z]{58}\b"
    rb"|\bv=DKIM1;[ a-z0-9=;]{0,32}p=MI[A-Za-z0-9+/]{4}ANBgkqhkiG9w0BAQEFAAO[A-Za-z0-9+/]{42,}={0,2}"
    rb"|\bgoogle-site-verification=[\w-]{43}(?![\w-])"
    rb"|(?i:\bserial(?:[ _]?number)?[:=]\s*(?:0x[0-9a-f]{8,40}|(?:[0-9a-f]{2}:){7,19}[0-9a-f]{2})(?![0-9a-f:]))"
    rb"|https?://[0-9a-f]{32}@[\w.-]+/\d+\b"  # where errors are reported to, as every page shows it
    rb"|(?<![\w.])\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?"
)


def without_public(value: bytes) -> bytes:
    """The value without the parts that parse as public: certificates, public keys, trust stores, digests, UUIDs,
    dates, names that a cloud gives."""
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
    """What a block holds. In JSON its line breaks are escaped, in JSON in JSON twice."""
    if b"\\" in block:
        block = _ESCAPED_BREAK.sub(b"", block)
    try:
        return base64.b64decode(block.translate(None, b" \t\r\n"), validate=True)
    except ValueError:
        return b""


def _padded(coded: bytes) -> bytes:
    """Base64 with as many signs at its end as its length wants."""
    coded = coded.rstrip(b"=")
    return coded + b"=" * (-len(coded) % 4)


def _is_ssh(kind: bytes, blob: bytes) -> bool:
    return _decoded(blob + b"=" * (-len(blob) % 4))[4 : 4 + len(kind)] == kind


_BYTES_OF_DIGESTS: Final = frozenset({20, 28, 32, 48, 64})
_BARE_DIGEST: Final = re.compile(rb"([0-9a-f]+|[0-9A-F]+)|[A-Za-z0-9+/]+={0,2}")


def is_bare_digest(value: bytes) -> bool:
    """True for what is in its form a digest and nothing else, in hex or base64. So is a key: a name has to say more."""
    if not (found := _BARE_DIGEST.fullmatch(value)):
        return False
    sizes = {len(_decoded(_padded(value))), len(value) / 2 if found[1] else 0}
    return not sizes.isdisjoint(_BYTES_OF_DIGESTS)


_SEPARATORS: Final = re.compile(r"[^A-Za-z0-9]+")
SEGMENTS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_HEX: Final = re.compile(r"[0-9a-f]+|[0-9A-F]+")
_CONSONANTS: Final = re.compile(r"[bcdfghjklmnpqrstvwxz]{6,}", re.IGNORECASE)


@lru_cache(maxsize=16384)
def is_random(token: str) -> bool:
    """True for letters and digits that make no words: keys, tokens, generated passwords. Hash suffixes are short."""
    return any(map(_is_random_run, _SEPARATORS.split(token)))


def _is_random_run(run: str) -> bool:
    if len(run) < LEAST_RANDOM:
        return False
    segments = SEGMENTS.findall(run)
    if run.isdigit():
        return len(run) > LONGEST_WORD
    if run.isalpha():
        return bool(_CONSONANTS.search(run)) or len(run) < 2.6 * len(segments) or max(map(len, segments)) > LONGEST_WORD
    if len(run) >= 20 and _HEX.fullmatch(run):
        return True
    if any(_CONSONANTS.search(segment) for segment in segments):
        return True
    between = sum(segment.isdigit() for segment in segments[1:-1])
    return len(segments) >= 5 and (len(run) < 5 * len(segments) or (between >= 2 and len(run) >= LEAST_MIXED))


_WORD_RUN: Final = re.compile(r"[A-Za-z]+\d{0,4}|\d+[A-Za-z]{0,3}|[A-Za-z0-9]{1,10}")


def _is_word_run(run: str) -> bool:
    return not run or (bool(_WORD_RUN.fullmatch(run)) and not _is_random_run(run))


_ALNUM: Final = re.compile(r"[A-Za-z0-9]+")
# Alone or joined: words, abbreviations, numbers with a unit, versions.
_REGULAR: Final = re.compile(
    r"[A-Z]?[a-z]{2,}\d{0,4}|[a-zA-Z]|[A-Z]+\d{0,4}|\d+[a-zA-Z]{0,3}|v\d+(?:(?:alpha|beta)\d+)?|[A-Za-z]\d[a-z]"
    r"|(?:[a-z]{2,}|[A-Z])?(?:[A-Z][a-z]{2,}\d{0,2}|[A-Z]{2,4}\d{0,2})+"
)
_RANGES: Final = re.compile(r"a-z|A-Z|0-9|a-f|A-F")  # of a regular expression
_OF_NAMES: Final = frozenset("._/:-,'\"\\`")
LEAST_SCRAMBLED: Final = 12


def is_scrambled(chunk: str) -> bool:
    """True for a generated password whose punctuation cuts it into pieces so short that each could be a word.

    chunk: text without blanks. Either two of the pieces are none that people write, or capitals, small letters, digits
    and punctuation follow each other as by chance.
    """
    chunk = _RANGES.sub("", chunk)
    if len(chunk) < LEAST_SCRAMBLED:
        return False
    odd = {one for one in chunk if not one.isalnum()} - _OF_NAMES
    if len(odd) >= 2 and sum(not _REGULAR.fullmatch(run) for run in _ALNUM.findall(chunk)) >= 2:
        return True
    kinds = ["A" if one.isupper() else "a" if one.isalpha() else "0" if one.isdigit() else "." for one in chunk]
    if kinds.count("A") < 2 or kinds.count("a") < 2 or "0" not in kinds:
        return False
    changes = sum(one != next_ and (one, next_) != ("A", "a") for one, next_ in pairwise(kinds))
    return changes > 0.42 * len(chunk)


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
    """True for what is no text in UTF-8."""
    try:
        value.decode()
    except UnicodeDecodeError:
        return True
    return bool(_CONTROL.search(value))


_DIGEST_BYTES: Final = frozenset({16, 20, 28, 32, 48, 64})
_SPELLED: Final[tuple[tuple[re.Pattern[bytes], Callable[[re.Match[bytes]], bool]], ...]] = (
    (
        re.compile(rb"(?<![\w.])\d{1,4}([\s,;.+-]{1,2})(?:\d{1,4}\1){10,}\d{1,4}(?![\w.])"),
        lambda found: _are_bytes(_pieces(found)),
    ),
    (
        re.compile(
            rb"(?<![\w.])(?:0x)?[0-9A-Fa-f]{2}([\s,;:]{1,2})(?:(?:0x)?[0-9A-Fa-f]{2}\1){10,}(?:0x)?[0-9A-Fa-f]{2}(?!\w)"
        ),
        lambda found: len(_pieces(found)) not in _DIGEST_BYTES or found[1] != b":",
    ),
    (
        re.compile(rb"(?:%[0-9A-Fa-f]{2}){8,}|(?:=[0-9A-F]{2}(?:=\n)?){8,}"),
        lambda found: not _is_foreign_text(found.group()),
    ),
    (
        re.compile(rb"(?:&#(?:[0-9]{1,3}|[xX][0-9A-Fa-f]{1,4});|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\\[0-7]{3}){8,}"),
        lambda found: _read(found.group()).isascii(),
    ),
    (
        re.compile(rb"(?<!\w)[A-Za-z0-9]([^A-Za-z0-9.]{1,4})(?:[A-Za-z0-9]\1){10,}[A-Za-z0-9](?!\w)"),
        lambda found: _are_drawn(_pieces(found)),
    ),
    (re.compile(rb"(?:[01]{8}[\s,]{1,2}){7,}[01]{8}"), bool),
    (re.compile(rb"(?m)^([!-M])([!-`]{16,60})[ `]?$"), lambda found: _is_uuencoded(found)),
)
"""Bytes one by one, as numbers, in hex, escaped (in a URL, a mail, a language or HTML), as letters apart, as bits, or
in lines of uuencode: each piece is a number or a word, and all of them may be anything. With each pattern what tells
such bytes from what only looks like them."""


def is_spelled(value: bytes) -> bool:
    """True where a value has bytes written one by one. A fingerprint in hex with colons is none, nor are numbers in
    order, letters that a URL cannot have, nor flags."""
    return any(are_bytes(found) for pattern, are_bytes in _SPELLED for found in pattern.finditer(value))


def _pieces(found: re.Match[bytes]) -> list[bytes]:
    """What stands between the separators, the pattern's first group."""
    return found.group().split(found[1])


def _are_bytes(numbers: list[bytes]) -> bool:
    values = [int(one) for one in numbers]
    octal = all(one[:1] == b"0" for one in numbers)
    return values != sorted(values) and all(value <= (377 if octal else 255) for value in values)


def _read(entities: bytes) -> str:
    return html.unescape(entities.decode("unicode_escape"))


def _are_drawn(letters: list[bytes]) -> bool:
    return letters != sorted(letters) and len(set(letters)) > 5 and not b"".join(letters).isdigit()


def _is_foreign_text(escaped: bytes) -> bool:
    try:
        text = bytes.fromhex(re.sub(rb"[%=\n]", b"", escaped).decode()).decode()
    except ValueError:
        return False
    return not text.isascii()


def _is_uuencoded(line: re.Match[bytes]) -> bool:
    return len(line[2]) == -(-(line[1][0] - 32) // 3) * 4


_ESCAPES: Final = re.compile(rb'\\+(?:(")|[nrt])')


_BASE64_TEXT: Final = re.compile(rb"(?:[A-Za-z0-9+/]{4}){6,}(?:[A-Za-z0-9+/]{2,3}={1,2})?")
"""So long that bytes by chance are no text in ASCII."""


_FOLDED: Final = re.compile(rb"[A-Za-z0-9+/]{60,76}(?:\r?\n[A-Za-z0-9+/]{60,76})*\r?\n[A-Za-z0-9+/]{1,76}={0,2}")


def unfolded(value: bytes) -> bytes:
    """A value in base64 without its line breaks; any other as it is."""
    return value.translate(None, b"\r\n") if b"\n" in value and _FOLDED.fullmatch(value.strip()) else value


def _text_in_base64(value: bytes) -> bytes:
    """The text that a value is in base64; empty when it is none."""
    if not _BASE64_TEXT.fullmatch(value := unfolded(value)):
        return b""
    decoded = _decoded(value)
    return decoded if decoded.isascii() and not _CONTROL.search(decoded) else b""


def is_public(value: bytes, names: Collection[str] = ()) -> bool:
    """True when every part of a value is public by its structure. `names` are those of objects in the plan."""
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
    return (
        len(token) <= LONGEST_PLAIN
        and bool(_PLAIN.fullmatch(token))
        and all(map(_is_word_run, _SEPARATORS.split(token)))
    )


_WITH_LOGIN: Final = re.compile(r"[@?]")
_HOSTS_KEYS: Final = re.compile(
    r"(?:\s*(?:#[^\n]*|\S+ (?:ssh|ecdsa|sk)-\S+ [A-Za-z0-9+/]{40,}={0,2}[ \w@.-]*)(?:\n|$))+"
)
"""Lines of `known_hosts`, of keys of whatever form."""
_HOST: Final = re.compile(r"(?:[a-z0-9-]{1,63}\.){2,}[a-z]{2,16}\.?(?::\d{1,5})?")
"""Of three labels and more, one of which may be drawn by a cloud."""


def level_of(value: bytes, name: str = "", names: Collection[str] = ()) -> Level:
    """Where one whole value of a control plane's Secret stands. `name` is its key's name."""
    text = value.decode("utf-8", "replace")
    if (text in names and not is_random(text)) or not without_public(value).strip() or is_public_der(value):
        return Level.PUBLIC
    if is_secrets_name(name):
        return Level.SECRET
    if names_public_half(name) and _HOSTS_KEYS.fullmatch(text):
        return Level.PUBLIC
    one_word = not any(letter.isspace() for letter in text)
    shown = "://" not in text or (names_issuer(name) and not _WITH_LOGIN.search(text))
    if is_identifiers_name(name) and one_word and shown:
        return Level.PUBLIC
    if _HOST.fullmatch(text) or is_public(value, names):
        return Level.PUBLIC
    return Level.SECRET if is_random(text) or b"\0" in value or not text.isprintable() else Level.MAYBE
