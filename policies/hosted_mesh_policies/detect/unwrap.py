"""Everything that a value turns into under the standard decoders, layer by layer.

base64 (standard, URL, without padding, at any alignment inside other text, folded over lines), base32 (both alphabets),
base58, base36, decimal, base85 (both) and Z85, uuencode, hex, gzip, zlib with any window, raw deflate, bzip2, xz, raw
LZMA2, lzma, zip (tar needs nothing), URL-encoding, JSON and YAML escapes, HTML entities, quoted-printable, UTF-7,
UTF-16, UTF-32, ciphers with a known key (`obscured`), texts that a program puts together. Layers nest in any order.
`letters` gives the innermost: what is there when no sign is looked at.

The work is linear in the bytes: a decoded piece is unwrapped further only where it holds printable text or a compressed
stream, which a decoding at the wrong alignment never does.
"""

from __future__ import annotations

import base64
import binascii
import bz2
import contextlib
import html
import itertools
import lzma
import re
import string
import urllib.parse
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Final, NamedTuple

from .obscured import plain

_Decoder = Callable[[bytes], Iterator[bytes]]
MOST_LAYERS: Final = 24
MOST_UNPACKED: Final = 64 * 1024 * 1024
"""A value that unpacks to more bytes than this is refused: nobody can say what is in it."""
MOST_WORK: Final = 96
"""Most bytes to look at, as a multiple of the value's own size (plus `MOST_WORK_EXTRA`)."""
MOST_WORK_EXTRA: Final = 32 * 1024 * 1024
GAP: Final = b"\0\2\0"
"""Stands between the values of one text (`places`); in no encoding's alphabet."""
BETWEEN: Final = b"\1\0\3\0\4\0"
"""Stands between pieces that were decoded apart. It does not end as it begins: after a piece that ends like its
beginning it would be found too early."""
LEAST_RAW: Final = 8
SHORT: Final = 1024
"""Pieces of at most so many bytes, of one decoder, are looked at together: a look costs more than such a piece."""


class View(NamedTuple):
    """One reading of a value: its bytes and the decoders that gave them, outermost first."""

    data: bytes
    layers: tuple[str, ...]


class TooMuchError(Exception):
    """The value unpacks to more than `MOST_UNPACKED` or `MOST_WORK` allow."""


def views(data: bytes) -> Iterator[View]:
    """The value itself, then each thing that it decodes to. Raises TooMuchError."""
    budget = len(data) * MOST_WORK + MOST_WORK_EXTRA
    seen = {hash(data)}
    todo = [View(data, ())]
    while todo:
        view = todo.pop()
        yield view
        if len(view.layers) >= MOST_LAYERS:
            continue
        short: dict[tuple[str, bool], list[bytes]] = {}
        for name, piece in _decoded(view):
            budget -= len(piece)
            if budget < 0:
                raise TooMuchError
            if len(piece) >= 4 and (key := hash(piece)) not in seen:
                seen.add(key)
                if len(piece) > SHORT:
                    todo.append(View(piece, (*view.layers, name)))
                else:
                    short.setdefault((name, printable(piece) is piece), []).append(piece)
        todo += [View(BETWEEN.join(pieces), (*view.layers, name)) for (name, _), pieces in short.items()]


def _runs(members: bytes, shape: bytes) -> Callable[[bytes], bool]:
    """A fast "is there a run of ...?": bytes of `members` become M, other bytes of `shape` stay, then one search.
    Regular expressions are ten times slower at saying no, and no is the usual answer."""
    kept = shape.replace(b"M", b"")
    table = bytes(ord("M") if byte in members else byte if byte in kept else 0 for byte in range(256))
    return lambda data: shape in data.translate(table)


_STRETCH = re.compile(rb"[\t\n\r\x20-\x7e]{8,}")
_PRINTABLE: Final = bytes(range(0x20, 0x7F)) + b"\t\n\r"
_HEX_DIGITS: Final = b"0123456789abcdefABCDEF"
_has_stretch = _runs(_PRINTABLE, b"M" * 8)
_has_base32 = _runs(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", b"M" * 16)
_has_base32_hex = _runs(b"0123456789ABCDEFGHIJKLMNOPQRSTUV", b"M" * 16)
MOST_BINARY: Final = 0.1
"""Share of unprintable bytes above which only the printable stretches are unwrapped further."""


def printable(data: bytes) -> bytes:
    """The data itself when it is text; else only its printable stretches, end to end but for `BETWEEN`. A text in the
    wrong alignment has next to none, so that whoever looks for text is done with it at once."""
    odd = len(data.translate(None, _PRINTABLE))
    if odd <= MOST_BINARY * len(data) or odd - _marks(data) <= MOST_BINARY * len(data):
        return data
    return BETWEEN.join(_STRETCH.findall(data)) if _has_stretch(data) else b""


def _marks(data: bytes) -> int:
    """Bytes that stand between values and pieces."""
    return len(GAP) * data.count(GAP) + len(BETWEEN) * data.count(BETWEEN)


def _decoded(view: View) -> Iterator[tuple[str, bytes]]:
    text = printable(view.data)
    if text is not view.data:
        for name, decoder in BINARY_DECODERS:
            for piece in decoder(view.data):
                yield name, piece
    if not text:
        return
    for name, decoder in TEXT_DECODERS:
        if not (view.layers and name == view.layers[-1] == "folding"):
            for piece in decoder(text):
                yield name, piece


def _values_with(data: bytes, concerned: Callable[[bytes], object]) -> bytes:
    """Of the values in a text, those that a decoder concerns: what a decoder leaves as it is has been looked at."""
    return GAP.join(value for value in data.split(GAP) if concerned(value)) if GAP in data else data


LEAST_BASE64: Final = 11
"""Letters of a base64 text of the shortest fingerprint."""
_BASE64 = re.compile(rb"[A-Za-z0-9+/]{11,}")
_PADDED_APART = re.compile(rb"(?<![A-Za-z0-9+/])(?:[A-Za-z0-9+/]{2,}={1,2}){2,}[A-Za-z0-9+/]*")
"""Pieces of which each was encoded and padded by itself, end to end."""
_UNDER_A_PATH = re.compile(rb"(?<![A-Za-z0-9+/])/{0,2}(?:[a-z0-9+]+/){1,8}(?=([A-Za-z0-9+/]{11,}))")
"""What stands at a path's end: its slash is a letter of base64 as well."""
_URL_ALPHABET = bytes.maketrans(b"-_", b"+/")
_ENCODED_BETWEEN: Final = binascii.b2a_base64(BETWEEN, newline=False)
_FILL: Final = (b"", b"", b"AA", b"A")
"""By the letters that are over after whole groups of four: what makes the last group whole. One letter is no byte."""


def _base64(data: bytes) -> Iterator[bytes]:
    """Each run of letters at each alignment. All runs are decoded in one call: one call for each costs three times as
    much."""
    data = data.translate(_URL_ALPHABET)
    for padded in _PADDED_APART.findall(data) if b"=" in data else ():
        yield b"".join(_whole_quads(piece) for piece in padded.split(b"=") if piece)
    runs = list(dict.fromkeys([*_BASE64.findall(data), *(_UNDER_A_PATH.findall(data) if b"/" in data else ())]))
    for shift in range(4):
        runs = [run for run in runs if len(run) >= LEAST_BASE64 + shift]
        over = [(len(run) - shift) % 4 for run in runs]
        whole = [run[shift : len(run) - (left == 1)] + _FILL[left] for run, left in zip(runs, over, strict=True)]
        pieces = binascii.a2b_base64(_ENCODED_BETWEEN.join(whole)).split(BETWEEN)
        if len(pieces) == len(over):
            yield BETWEEN.join(
                [piece[: left - 4] if left > 1 else piece for piece, left in zip(pieces, over, strict=True)]
            )
        else:  # the separator was in a piece by chance
            yield BETWEEN.join(_whole_quads(run[shift:]) for run in runs)


def _whole_quads(run: bytes) -> bytes:
    run = run[: len(run) - (len(run) % 4 == 1)]
    return binascii.a2b_base64(run + b"=" * (-len(run) % 4))


_FOLDS: Final = b" \t\r\n\"',\\|>"
_FOLD = re.compile(rb"[ \t\r\n\"',\\|>]")
_COMMENT = re.compile(rb"(?<![^\s\0])(?:#|//|;|--(?=[ \t]))[^\n\0\1]*")
"""To a line's end, as scripts, settings and SQL have them. No comment goes on into another value."""


def _folding(data: bytes) -> Iterator[bytes]:
    """What a text holds when its line breaks, indents and list quotes are taken out; then without its comments too."""
    folded = _values_with(data, _FOLD.search)
    squeezed = _squeezed(folded)
    if len(squeezed) < len(folded):
        yield squeezed
    if b"\n" in folded and _COMMENT.search(folded):
        yield _squeezed(_COMMENT.sub(b"", _values_with(folded, _COMMENT.search)))


def _squeezed(text: bytes) -> bytes:
    return text.replace(b"\\r", b"").replace(b"\\n", b"").translate(None, _FOLDS)


_SUM: Final = rb"\s*(?:[+.&~]|\|\||\.\.|<>|<<)\s*"
_JOINT = re.compile(
    rb"[\"'`]" + _SUM + rb"[\"'`]"  # texts that a program puts together
    rb"|<(?<=[\w+/]<)/?[A-Za-z][^<>\0]{0,80}>(?:</?[A-Za-z][^<>\0]{0,80}>){0,3}(?=[\w+/])"  # a tag inside of a word
)
_JOINTS = re.compile(
    rb"([\"'`])[\w+/=-]{1,80}\1" + _SUM + rb"\1[\w+/=-]{1,80}\1" + _SUM + rb"\1[\w+/=-]"
    rb"|<(?<=[\w+/]<)(?:/?[A-Za-z][^<>\0]{0,80}><?){1,4}(?<=>)[\w+/=-]{1,80}</?[A-Za-z][^<>\0]{0,80}>"
)
"""Several of them in a row."""
_UNSEEN = re.compile(rb"\xc2\xad|\xe2\x80[\x8b-\x8f]|\xe2\x81[\xa0-\xa4]|\xef\xbb\xbf")


def _invisible(data: bytes) -> Iterator[bytes]:
    """What a text holds without letters that nobody sees: soft hyphens, joiners, marks of the byte order."""
    if _UNSEEN.search(data):
        seen = _UNSEEN.sub(b"", _values_with(data, _UNSEEN.search))
        if printable(seen) is seen:  # in what is no text they are there by chance
            yield seen


_HEX_FORMS: Final = (
    (_runs(_HEX_DIGITS, b"M" * 16), re.compile(rb"[0-9a-fA-F]{16,}"), b" "),
    (_runs(_HEX_DIGITS, b"MM:MM:MM:MM"), re.compile(rb"(?:[0-9a-fA-F]{2}:){7,}[0-9a-fA-F]{2}"), b":"),
    (_runs(_HEX_DIGITS, b"\\xMM\\xMM"), re.compile(rb"(?:\\x[0-9a-fA-F]{2}){4,}"), b"\\x"),
)
"""Whether it is worth looking, how it looks, and the sign between the digits, if there is one."""


def _hex(data: bytes) -> Iterator[bytes]:
    runs = [run.replace(sign, b"") for has, form, sign in _HEX_FORMS if has(data) for run in form.findall(data)]
    for shift in (0, 1) if runs else ():
        yield BETWEEN.join(binascii.unhexlify(run[shift : len(run) - (len(run) - shift) % 2]) for run in runs)


_BASE32 = re.compile(rb"[A-Z2-7]{16,}|[a-z2-7]{20,}")
_BASE32_HEX = re.compile(rb"[0-9A-V]{16,}")
_TO_HEX_ALPHABET: Final = bytes.maketrans(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567abcdefghijklmnopqrstuvwxyz",
    b"0123456789ABCDEFGHIJKLMNOPQRSTUV0123456789ABCDEFGHIJKLMNOP",
)


def _base32(data: bytes) -> Iterator[bytes]:
    """Each run of letters at each alignment: a letter that stands before it by chance moves all that follow. As one
    large number a run is decoded once, and moved by bits."""
    runs = [run.translate(_TO_HEX_ALPHABET) for run in _BASE32.findall(data)] if _has_base32(data.upper()) else []
    if _has_base32_hex(data):
        runs += _BASE32_HEX.findall(data)
    numbers = [(5 * len(run), int(run, 32)) for run in runs]
    for shift in range(8) if runs else ():
        yield BETWEEN.join(_octets(number, bits - shift) for bits, number in numbers)


def _octets(number: int, bits: int) -> bytes:
    """The whole bytes among the last bits of a number, from the first of these on."""
    size = bits // 8
    return (number >> bits % 8).to_bytes(size + 1, "big")[-size:]


_FROM_BASE58: Final = {byte: n for n, byte in enumerate(b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz")}
MOST_OF_NUMBERS: Final = 64 * 1024
"""Letters of one value to decode: the work grows with the square of a run's length, so that only short ones are."""


def _whole_numbers(
    base: int, longest: int, pattern: re.Pattern[bytes], has: Callable[[bytes], object] = bool
) -> _Decoder:
    """Reads runs of letters as whole numbers; another letter before one makes it another number."""

    def decoder(data: bytes) -> Iterator[bytes]:
        left, pieces = MOST_OF_NUMBERS, []
        for run in dict.fromkeys(pattern.findall(data)) if has(data) else ():
            if len(run) <= min(longest, left):
                left -= len(run)
                number = _of_base58(run) if base == 58 else int(run, base)
                pieces.append(number.to_bytes((number.bit_length() + 7) // 8, "big"))
        if pieces:
            yield BETWEEN.join(pieces)

    return decoder


def _of_base58(run: bytes) -> int:
    number = 0
    for byte in run:
        number = number * 58 + _FROM_BASE58[byte]
    return number


_has_letters = _runs(string.ascii_letters.encode() + string.digits.encode(), b"M" * 16)
_base58 = _whole_numbers(58, 512, re.compile(rb"[1-9A-HJ-NP-Za-km-z]{16,}"), _has_letters)
_base36 = _whole_numbers(
    36, 512, re.compile(rb"(?<![0-9A-Za-z])(?:[0-9a-z]{16,}|[0-9A-Z]{16,})(?![0-9A-Za-z])"), _has_letters
)
_decimal = _whole_numbers(
    10, 2560, re.compile(rb"(?<![0-9A-Za-z])[0-9]{24,}(?![0-9A-Za-z])"), _runs(b"0123456789", b"M" * 24)
)
"""As programs print the numbers of an RSA key. Words and hexadecimal digits look alike."""

_NUMBERS = re.compile(rb"(?:(?:0x|0o|\\x|\\)?[0-9a-fA-F]{1,4}[\s,;:]+){7,}(?:0x|0o|\\x|\\)?[0-9a-fA-F]{1,4}")
_NUMBER = re.compile(rb"[0-9a-fA-F]+(?![0-9a-fA-Fxo])")
_ESCAPED_NUMBERS = re.compile(rb"(?:\\\d{1,3}){8,}")
_BITS = re.compile(rb"[01]{8}(?:[\s,]*[01]{8}){7,}")
_BASES: Final = (10, 16, 8)
_LEAST_NUMBERS: Final = 8
_OF_NUMBERS: Final = _HEX_DIGITS + b"xo\\"
_SEPARATED: Final = bytes(ord(" ") if byte in b" \t\n\r\v\f,;:" else 0 for byte in range(256))


def _numbers(data: bytes) -> Iterator[bytes]:
    """Lists of bytes as numbers, and bytes as bits."""
    # Without the digits their separators are next to each other.
    separators = data.translate(_SEPARATED, _OF_NUMBERS)
    runs = _NUMBERS.findall(data) if b" " * (_LEAST_NUMBERS - 1) in separators else []
    if b"\\" in data:  # as Lua has them, in decimal
        runs += _ESCAPED_NUMBERS.findall(data)
    for run in runs:
        words = _NUMBER.findall(run)
        for base in _BASES:
            # What stands around a list may look like one more of it: `value: 48, 49` begins with an `e` for base 16.
            for is_byte, stretch in itertools.groupby(_read(words, base), lambda number: number < 256):
                if is_byte and len(found := bytes(stretch)) >= _LEAST_NUMBERS:
                    yield found
    for run in _BITS.findall(data):
        digits = run.translate(None, b" \t\r\n,")
        yield int(digits, 2).to_bytes(len(digits) // 8, "big")


def _read(words: list[bytes], base: int) -> Iterator[int]:
    """The words' numbers; 256 for what are no digits of this base."""
    for word in words:
        try:
            yield int(word, base)
        except ValueError:
            yield 256


_ESCAPE = re.compile(rb"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|[0-3][0-7]{2}|\r?\n[ \t]*|.)", re.DOTALL)
_NAMED: Final = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"b": b"\b", b"f": b"\f", b"0": b"\0", b"e": b"\x1b"}


def _one_escape(found: re.Match[bytes]) -> bytes:
    code = found.group(1)
    if code[:1] in b"uU" and len(code) > 1:
        number = int(code[1:], 16)
        return chr(number).encode("utf-8", "surrogatepass") if number < 0x110000 else found.group()
    if code[:1] == b"x" and len(code) == 3:
        return bytes([int(code[1:], 16)])
    if len(code) == 3 and code.isdigit():
        return bytes([int(code, 8)])
    if code.strip() == b"":
        return b""
    return _NAMED.get(code, code)


_HEX_ESCAPE = re.compile(rb"\\([0-9a-fA-F]{2}) ?")
"""In LDAP and CSS."""
_DECIMAL_ESCAPE = re.compile(rb"\\(\d{2,3})")
"""In Lua and zone files."""


def _decimal_escape(found: re.Match[bytes]) -> bytes:
    return bytes([min(int(found[1]), 255)])


_WIDE = re.compile(rb"(?:[\t\n\r\x20-\x7e]\0){8,}|(?:\0[\t\n\r\x20-\x7e]){8,}")
_ZERO_OR_LETTER: Final = bytes(0 if byte == 0 else 77 if byte in _PRINTABLE else 1 for byte in range(256))


def _wide(data: bytes) -> Iterator[bytes]:
    if data.count(0) < 8:
        return
    shape = data.translate(_ZERO_OR_LETTER)
    if b"M\0\0\0" * 4 in shape:
        yield data.translate(None, b"\0")
    elif b"M\0" * 7 in shape:
        for found in _WIDE.finditer(data):
            yield found.group().translate(None, b"\0")


_BASE85 = re.compile(rb"[0-9A-Za-z!#$%&()*+;<=>?@^_`{|}~-]{15,}")
_ASCII85 = re.compile(rb"[!-uz]{15,}")
_NOT_IN_WORDS: Final = b"!#$%&()*+;<>?@^`{|}~\"',[]\\"
LEAST_ODD: Final = 0.08
"""Share of signs in a text of base85; of its 85 letters 23 are signs."""
LONGEST_UNJUDGED: Final = 128
LONGEST_AT_ANY_START: Final = 4096
_Z85 = re.compile(rb"[0-9A-Za-z.:+=^!/*?&<>()\[\]{}@%$#-]{15,}")
_FROM_Z85: Final = bytes.maketrans(
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#",
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~",
)


def _of_z85(data: bytes) -> bytes:
    return base64.b85decode(data.translate(_FROM_Z85))


_BASE85_DECODERS: Final = ((_BASE85, base64.b85decode), (_ASCII85, base64.a85decode), (_Z85, _of_z85))


def _base85(data: bytes) -> Iterator[bytes]:
    """A short text of it may have no sign at all, or only such as words have too; letters of all sorts tell it then."""
    if not _signs(data) and not _mixed(data):
        return
    for pattern, decode in _BASE85_DECODERS:
        for run in dict.fromkeys(pattern.findall(data)):
            signs = _signs(run)
            if len(run) > LONGEST_UNJUDGED and signs < LEAST_ODD * len(run):
                continue
            if not signs:
                if pattern is not _ASCII85 and _mixed(run):
                    yield from _of_85(decode, run)
                continue
            for shift in range(5 if len(run) <= LONGEST_AT_ANY_START else 1):
                yield from _of_85(decode, run[shift:].removeprefix(b"<~").removesuffix(b"~>"))


def _signs(data: bytes) -> int:
    return len(data) - len(data.translate(None, _NOT_IN_WORDS))


def _mixed(data: bytes) -> bool:
    return not data.islower() and not data.isupper() and len(data) != len(data.translate(None, b"0123456789"))


@lru_cache(maxsize=16 * 1024)  # the readings of a text have most of their runs in common
def _of_85(decode: Callable[[bytes], bytes], whole: bytes) -> tuple[bytes, ...]:
    for end in (len(whole), len(whole) - len(whole) % 5):
        with contextlib.suppress(ValueError):  # not base85, or cut short
            return (decode(whole[:end]),)
    return ()


_UU = re.compile(rb"(?:(?<![!-`])|(?<=[:=\"'/?&#,;(>@]))(?=([!-M])([ -`]{4,60})[ \t]*\r?$)", re.MULTILINE)


_ENDS_OF_LINES: Final = bytes(
    ord("M") if byte in range(0x20, 0x61) else ord("\n") if byte in b"\t\r\n" else 0 for byte in range(256)
)


def _uu(data: bytes) -> Iterator[bytes]:
    """Lines that begin with the number of their bytes."""
    if b"MMMMM\n" not in data.translate(_ENDS_OF_LINES) + b"\n":
        return
    pieces: dict[int, bytes] = {}
    for found in _UU.finditer(data):
        length = found.group(1)[0] - 32
        line = found.group(2).ljust(-(-length // 3) * 4)
        if -(-length // 3) * 4 <= len(line) <= -(-length // 3) * 4 + 1:
            try:
                pieces.setdefault(found.end(2), binascii.a2b_uu(found.group(1) + line))
            except ValueError:
                continue
    if pieces:
        yield b"".join(pieces.values())


_Step = Callable[[bytes, int], bytes]
MOST_LZMA_MEMORY: Final = 128 * 1024 * 1024


def _lzma() -> _Step:
    return lzma.LZMADecompressor(memlimit=MOST_LZMA_MEMORY).decompress


def _lzma2(size: int) -> _Step:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": max(4096, min(size, MOST_UNPACKED))}]
    return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters).decompress


def _lzma2_size(data: bytes) -> int:
    """How much an xz stream without its header and checksums unpacks to; 0 for anything else. It has no magic bytes,
    but each of its chunks tells its size, and so where the next one begins. Its first one needs no other."""
    unpacked, packed, at = 0, False, 0
    while at + 3 <= len(data) and (control := data[at]):
        size = int.from_bytes(data[at + 1 : at + 3], "big") + 1
        if 2 < control < 0x80:
            return 0
        if control <= 2:
            at += 3 + size
        else:
            packed = True
            size += (control & 0x1F) << 16
            at += 5 + (control >= 0xC0) + int.from_bytes(data[at + 3 : at + 5], "big") + 1
        unpacked += size
    return unpacked if packed and data[at : at + 1] == b"\0" else 0


def _bz2() -> _Step:
    return bz2.BZ2Decompressor().decompress


def _zip_lzma() -> _Step:
    decompress = zipfile.LZMADecompressor().decompress  # type: ignore[attr-defined]
    return lambda data, _: bytes(decompress(data))


_STREAMS: Final[tuple[tuple[bytes, bool, Callable[[], _Step]], ...]] = (
    (b"\x1f\x8b\x08", True, lambda: zlib.decompressobj(wbits=31).decompress),
    (b"BZh", False, _bz2),
    (b"\xfd7zXZ\0", True, _lzma),
    (b"\x5d\0\0", False, _lzma),
)
"""Magic bytes; whether they are telling enough to be looked for anywhere, or only where a piece begins; the decoder."""
COMPRESSED: Final = (b"\x1f\x8b\x08", b"\xfd7zXZ\0", b"BZh9")
"""Magic bytes that tell by themselves that a value is compressed."""
_ZIP: Final = b"PK\3\4"
_ZIP_METHODS: Final[dict[int, Callable[[], _Step]]] = {
    8: lambda: zlib.decompressobj(wbits=-15).decompress,
    12: _bz2,
    14: _zip_lzma,
}
MOST_STREAMS: Final = 1024
"""Most compressed streams to open in one value; more is refused."""
MOST_RAW: Final = 16
"""Pieces of a value that are tried as deflate without a header, whatever they begin with: nothing tells it but that it
unpacks. Of further ones those that could be of one block are."""
LEAST_PACKED: Final = 10
_ONE_BLOCK: Final = frozenset(bytes([byte]) for byte in range(256) if byte & 0b111 in {0b011, 0b101})


def _packed(data: bytes) -> Iterator[bytes]:
    for opened, (step, start) in enumerate(_streams(data)):
        if opened >= MOST_STREAMS:
            raise TooMuchError
        yield from _inflate(step, data, start)
    unpacked = 0
    for number, start in enumerate(_starts(data, b"", anywhere=False)):
        if number >= MOST_RAW and data[start : start + 1] not in _ONE_BLOCK:
            continue
        rest = _piece_at(data, start)
        if len(rest) < LEAST_PACKED or (len(rest) <= SHORT and not _may_be_deflate(rest)):
            continue
        # Text is no deflate: its first bits are those of a block type that there is not, or of none that is useful.
        for piece in _inflate(zlib.decompressobj(wbits=-15).decompress, rest, 0):
            unpacked += len(piece)
            if unpacked > MOST_UNPACKED:
                raise TooMuchError
            if len(piece) >= LEAST_RAW and len(piece.translate(None, _PRINTABLE)) <= MOST_BINARY * len(piece):
                yield piece


@lru_cache(maxsize=16 * 1024)
def _may_be_deflate(piece: bytes) -> bool:
    try:
        return bool(zlib.decompressobj(wbits=-15).decompress(piece, LEAST_RAW))
    except zlib.error:
        return False


def compressed(data: bytes) -> Iterator[bytes]:
    """What a value that is one compressed stream unpacks to. Raises TooMuchError."""
    for magic, _, opener in _STREAMS:
        if data.startswith(magic):
            yield from _inflate(opener(), data, 0)


def _streams(data: bytes) -> Iterator[tuple[_Step, int]]:
    for magic, anywhere, opener in _STREAMS:
        yield from ((opener(), start) for start in _starts(data, magic, anywhere=anywhere))
    for start in _starts(data, b"", anywhere=False):
        head = data[start : start + 2]
        if len(head) == 2 and head[0] & 0x8F == 8 and int.from_bytes(head, "big") % 31 == 0:
            yield zlib.decompressobj().decompress, start
        if (head[:1] == b"\1" or head >= b"\xe0") and (size := _lzma2_size(_piece_at(data, start))):
            yield _lzma2(size), start
    for start in _starts(data, _ZIP, anywhere=True):
        method, name, extra = (int.from_bytes(data[start + at : start + at + 2], "little") for at in (8, 26, 28))
        if method in _ZIP_METHODS:
            yield _ZIP_METHODS[method](), start + 30 + name + extra


def _piece_at(data: bytes, start: int) -> bytes:
    end = data.find(BETWEEN, start)
    return data[start : end if end >= 0 else len(data)]


def _starts(data: bytes, magic: bytes, *, anywhere: bool) -> Iterator[int]:
    """Where magic bytes stand: anywhere, or only where a piece begins."""
    before = b"" if anywhere else BETWEEN
    if before and data.startswith(magic):
        yield 0
    start = data.find(before + magic)
    while start >= 0:
        yield start + len(before)
        start = data.find(before + magic, start + 1)


def _inflate(step: _Step, data: bytes, start: int) -> Iterator[bytes]:
    """Unpacked in small steps, so that a stream that is cut short still gives what it holds."""
    pieces: list[bytes] = []
    total = 0
    try:
        for place in range(start, len(data), 4096):
            piece = step(data[place : place + 4096], MOST_UNPACKED + 1 - total)
            total += len(piece)
            pieces.append(piece)
            if total > MOST_UNPACKED:
                raise TooMuchError
    except (zlib.error, OSError, EOFError, lzma.LZMAError, ValueError, MemoryError):
        pass
    if total:
        yield b"".join(pieces)


def _in_place(pattern: re.Pattern[bytes], decode: Callable[[bytes], bytes], *signs: bytes) -> _Decoder:
    """Decodes what stands between other text, in the values where `pattern` finds it; one of `signs` must be there."""

    def decoder(data: bytes) -> Iterator[bytes]:
        if any(sign in data for sign in signs) and pattern.search(data):
            yield decode(_values_with(data, pattern.search))

    return decoder


def _of_entities(text: bytes) -> bytes:
    return html.unescape(text.decode("latin-1")).encode("utf-8", "surrogatepass")


_QUOTED = re.compile(
    rb"=\r?\n|=3D|(?:=[0-9A-F]{2}){2}|=20[A-Za-z]+=20"
    rb"|(?<=[\w])=(?:0[9A]|2[1-7]|3[C-F]|40|5[B-F]|60|7[B-E]|[89A-F][0-9A-F])(?=\w)"
)
"""A line's end, the sign itself, several bytes, a word between two blanks, a letter that is no digit nor letter:
`timeout=12` is none of them."""
_UTF_7 = re.compile(rb"\+A[A-H][A-Za-z0-9+/]")
"""Letters of ASCII. A plus alone, `+-`, is left as it is: `[+-]` is in every other expression."""


def _of_utf_7(text: bytes) -> bytes:
    return text.decode("utf-7", "ignore").encode("utf-8", "surrogatepass")


TEXT_DECODERS: Final[tuple[tuple[str, _Decoder], ...]] = (
    ("base64", _base64),
    ("folding", _folding),
    ("joints", _in_place(_JOINTS, partial(_JOINT.sub, b""), b"")),
    ("invisible letters", _invisible),
    ("hex", _hex),
    ("base32", _base32),
    ("base58", _base58),
    ("a number", _base36),
    ("a number", _decimal),
    ("URL-encoding", _in_place(re.compile(rb"%[0-9a-fA-F]{2}"), urllib.parse.unquote_to_bytes, b"%")),
    ("escapes", _in_place(re.compile(rb"\\"), partial(_ESCAPE.sub, _one_escape), b"\\")),
    ("escapes", _in_place(_HEX_ESCAPE, partial(_HEX_ESCAPE.sub, lambda found: bytes([int(found[1], 16)])), b"\\")),
    ("escapes", _in_place(_DECIMAL_ESCAPE, partial(_DECIMAL_ESCAPE.sub, _decimal_escape), b"\\")),
    ("entities", _in_place(re.compile(rb"&(?:#\d+|#x[0-9a-fA-F]+|amp|lt|gt|quot|apos);"), _of_entities, b"&")),
    ("quoted-printable", _in_place(_QUOTED, binascii.a2b_qp, b"=")),
    ("numbers", _numbers),
    ("base85", _base85),
    ("uuencode", _uu),
    ("UTF-7", _in_place(_UTF_7, _of_utf_7, b"+A")),
    ("a cipher with a known key", plain),
    ("compression", _packed),  # zlib's first byte is a letter, and a short stream may be mostly printable
    ("UTF-16", _wide),  # beside so much text that it is a small part
)
_NO_PIECE = re.compile(rb"(?<![\w$])[A-Za-z_][\w.-]{0,40}[\"']?[ \t]*:?=|</?[A-Za-z][^<>\0]{0,80}>")
_NO_LETTER: Final = bytes(
    byte for byte in range(5, 256) if byte not in b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)


def letters(data: bytes) -> Iterator[bytes]:
    """A text's letters and digits alone, value by value; then without tags and the names that something is given to. So
    a secret is in one piece whatever stands between its pieces, and however its signs are escaped."""
    text = printable(data)
    alone = text.translate(None, _NO_LETTER)
    if len(alone) == len(text):
        return
    yield alone
    if (b"=" in text or b"<" in text) and (unnamed := _NO_PIECE.sub(b"", text)) != text:
        yield unnamed.translate(None, _NO_LETTER)


BINARY_DECODERS: Final[tuple[tuple[str, _Decoder], ...]] = (
    ("compression", _packed),
    ("UTF-16", _wide),
    ("invisible letters", _invisible),  # so many that they are not few beside the others
)
