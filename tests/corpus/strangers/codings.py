"""Ways to write bytes down, each with the way back: what any shell, language or archive has at hand."""

from __future__ import annotations

import base64
import binascii
import bz2
import codecs
import gzip
import io
import json
import lzma
import quopri
import tarfile
import urllib.parse
import zipfile
import zlib
from collections.abc import Callable, Mapping

import yaml

Code = Callable[[bytes], bytes]
BASE58 = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def _tar(data: bytes, mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        entry = tarfile.TarInfo("etc/mesh.conf")
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def _untar(data: bytes) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return b"".join(archive.extractfile(member).read() for member in archive)


def _zip(data: bytes, method: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr(zipfile.ZipInfo("mesh.conf"), data, method)
    return out.getvalue()


def _unzip(data: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.read("mesh.conf")


def _deflate(data: bytes, window: int) -> bytes:
    made = zlib.compressobj(9, zlib.DEFLATED, window)
    return made.compress(data) + made.flush()


def _uu(data: bytes) -> bytes:
    lines = [binascii.b2a_uu(data[at : at + 45]) for at in range(0, len(data), 45)]
    return b"begin 644 mesh.conf\n" + b"".join(lines) + b"`\nend\n"


def _unuu(data: bytes) -> bytes:
    return b"".join(binascii.a2b_uu(line) for line in data.splitlines()[1:-2])


def _base58(data: bytes) -> bytes:
    number, out = int.from_bytes(data), b""
    while number:
        number, digit = divmod(number, 58)
        out = BASE58[digit : digit + 1] + out
    return out


def _unbase58(data: bytes) -> bytes:
    number = 0
    for char in data:
        number = number * 58 + BASE58.index(char)
    return number.to_bytes((number.bit_length() + 7) // 8)


def _mime(data: bytes) -> bytes:
    head = b"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=XX\n\n--XX\nContent-Type: text/x-shellscript\n"
    return head + b"Content-Transfer-Encoding: base64\n\n" + base64.encodebytes(data) + b"\n--XX--\n"


def _unmime(data: bytes) -> bytes:
    return base64.b64decode(data.split(b"base64\n\n")[1].split(b"\n--XX")[0])


def _chain(*codes: Code) -> Code:
    def run(data: bytes) -> bytes:
        for code in codes:
            data = code(data)
        return data

    return run


def _in_json(data: bytes) -> bytes:
    return json.dumps({"files": [{"path": "/etc/mesh", "content": data.decode()}]}).encode()


def _from_json(data: bytes) -> bytes:
    return bytes(json.loads(data)["files"][0]["content"], "utf-8")


def _in_yaml(data: bytes) -> bytes:
    return yaml.safe_dump({"write_files": [{"path": "/etc/mesh", "content": data.decode()}]}).encode()


def _from_yaml(data: bytes) -> bytes:
    return bytes(yaml.safe_load(data)["write_files"][0]["content"], "utf-8")


def _numbers(form: str, join: str) -> tuple[Code, Code]:
    base = {"x": 16, "o": 8, "b": 2, "d": 10}[form[-1]]
    prefix = {16: "0x", 8: "0", 2: "", 10: ""}[base]

    def there(data: bytes) -> bytes:
        return join.join(f"{prefix}{byte:{form}}" for byte in data).encode()

    def back(data: bytes) -> bytes:
        return bytes(int(part.removeprefix(prefix) or "0", base) for part in data.decode().split(join))

    return there, back


def _text_codec(name: str) -> tuple[Code, Code]:
    return (
        lambda data: base64.b64encode(data.decode().encode(name)),
        lambda data: base64.b64decode(data).decode(name).encode(),
    )


B64: tuple[Code, Code] = (base64.b64encode, base64.b64decode)
LZMA1 = [{"id": lzma.FILTER_LZMA2, "preset": 6}]
CODINGS: Mapping[str, tuple[Code, Code]] = {
    "base85": (base64.b85encode, base64.b85decode),
    "ascii85": (base64.a85encode, base64.a85decode),
    "ascii85-adobe": (lambda d: base64.a85encode(d, adobe=True), lambda d: base64.a85decode(d, adobe=True)),
    "base32-hex": (base64.b32hexencode, base64.b32hexdecode),
    "base58": (_base58, _unbase58),
    "uuencode": (_uu, _unuu),
    "rot13": (lambda d: codecs.encode(d.decode(), "rot13").encode(), lambda d: codecs.encode(d.decode(), "rot13").encode()),
    "tar": (_chain(_tar, base64.b64encode), _chain(base64.b64decode, _untar)),
    "tar-gz": (_chain(lambda d: _tar(d, "w:gz"), base64.b64encode), _chain(base64.b64decode, _untar)),
    "tar-xz": (_chain(lambda d: _tar(d, "w:xz"), base64.b64encode), _chain(base64.b64decode, _untar)),
    "zip-stored": (_chain(lambda d: _zip(d, zipfile.ZIP_STORED), base64.b64encode), _chain(base64.b64decode, _unzip)),
    "zip-deflated": (_chain(lambda d: _zip(d, zipfile.ZIP_DEFLATED), base64.b64encode), _chain(base64.b64decode, _unzip)),
    "zip-lzma": (_chain(lambda d: _zip(d, zipfile.ZIP_LZMA), base64.b64encode), _chain(base64.b64decode, _unzip)),
    "lzma-alone": (_chain(lambda d: lzma.compress(d, lzma.FORMAT_ALONE), base64.b64encode), _chain(base64.b64decode, lzma.decompress)),
    "lzma-raw": (
        _chain(lambda d: lzma.compress(d, lzma.FORMAT_RAW, filters=LZMA1), base64.b64encode),
        _chain(base64.b64decode, lambda d: lzma.decompress(d, lzma.FORMAT_RAW, filters=LZMA1)),
    ),
    "deflate-raw": (_chain(lambda d: _deflate(d, -15), base64.b64encode), _chain(base64.b64decode, lambda d: zlib.decompress(d, -15))),
    "zlib-small-window": (_chain(lambda d: _deflate(d, 9), base64.b64encode), _chain(base64.b64decode, zlib.decompress)),
    "zlib-in-base85": (_chain(zlib.compress, base64.b85encode), _chain(base64.b85decode, zlib.decompress)),
    "bzip2-in-base32": (_chain(bz2.compress, base64.b32encode), _chain(base64.b32decode, bz2.decompress)),
    "gzip-base64-yaml-json": (
        _chain(gzip.compress, base64.b64encode, _in_yaml, _in_json),
        _chain(_from_json, _from_yaml, base64.b64decode, gzip.decompress),
    ),
    "gzip-twice": (_chain(gzip.compress, gzip.compress, base64.b64encode), _chain(base64.b64decode, gzip.decompress, gzip.decompress)),
    "helm-release-record": (
        _chain(_in_json, gzip.compress, base64.b64encode, base64.b64encode),
        _chain(base64.b64decode, base64.b64decode, gzip.decompress, _from_json),
    ),
    "mime-part": (_mime, _unmime),
    "data-url": (lambda d: b"data:text/plain;base64," + base64.b64encode(d), lambda d: base64.b64decode(d.partition(b",")[2])),
    "percent-twice": (
        lambda d: urllib.parse.quote("".join(f"%{byte:02X}" for byte in d)).encode(),
        lambda d: urllib.parse.unquote_to_bytes(urllib.parse.unquote_to_bytes(d)),
    ),
    "quoted-printable-in-json": (
        lambda d: _in_json("".join(f"={byte:02X}" for byte in d).encode()),
        lambda d: quopri.decodestring(_from_json(d)),
    ),
    "hex-list": _numbers("02x", ", "),
    "decimal-list": _numbers("d", ","),
    "octal-list": _numbers("03o", " "),
    "binary-digits": _numbers("08b", " "),
    "c-string": (
        lambda d: "".join(f"\\x{byte:02x}" for byte in d).encode(),
        lambda d: bytes.fromhex(d.decode().replace("\\x", "")),
    ),
    "shell-octal": (
        lambda d: ("$'" + "".join(f"\\{byte:03o}" for byte in d) + "'").encode(),
        lambda d: bytes(int(part, 8) for part in d.decode()[2:-1].split("\\")[1:]),
    ),
    "utf-7": _text_codec("utf-7"),
    "utf-16-be": _text_codec("utf-16-be"),
    "utf-32": _text_codec("utf-32"),
    "ebcdic": _text_codec("cp500"),
    "hex-upside-down": (lambda d: d[::-1].hex().encode(), lambda d: bytes.fromhex(d.decode())[::-1]),
    "little-endian-words": (
        lambda d: base64.b64encode(b"".join(d[at : at + 4][::-1] for at in range(0, len(d), 4))),
        lambda d: b"".join(base64.b64decode(d)[at : at + 4][::-1] for at in range(0, len(d), 4)),
    ),
    "base64-of-base85-of-gzip": (
        _chain(gzip.compress, base64.b85encode, base64.b64encode),
        _chain(base64.b64decode, base64.b85decode, gzip.decompress),
    ),
    "base64-with-a-comment-each-line": (
        lambda d: b"\n".join(base64.b64encode(d[at : at + 6]) + b"  # part" for at in range(0, len(d), 6)),
        lambda d: b"".join(base64.b64decode(line.split()[0]) for line in d.splitlines()),
    ),
}  # fmt: skip
