"""An object store for Pulumi's states that answers each request after a constant time, as one in a cloud does.

It speaks the part of S3's protocol that Pulumi's backend uses. Objects are in memory, and signatures are not checked.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET: Final = "states"
ENVIRONMENT: Final = {
    "AWS_ACCESS_KEY_ID": "bench",
    "AWS_SECRET_ACCESS_KEY": "bench",
    "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_RESPONSE_CHECKSUM_VALIDATION": "when_required",
}
_NAMESPACE: Final = "http://s3.amazonaws.com/doc/2006-03-01/"


@dataclass
class ObjectStore:
    """latency: seconds before each answer. requests: their number by method."""

    port: int
    latency: float
    objects: dict[str, bytes] = field(default_factory=dict)
    requests: Counter[str] = field(default_factory=Counter)

    @property
    def url(self) -> str:
        """Of Pulumi's backend, for PULUMI_BACKEND_URL."""
        where = f"endpoint=http://127.0.0.1:{self.port}&region={ENVIRONMENT['AWS_REGION']}"
        return f"s3://{BUCKET}?{where}&s3ForcePathStyle=true&disableSSL=true"


@contextmanager
def serving(latency: float) -> Iterator[ObjectStore]:
    """A store on a free port of this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    store = ObjectStore(server.server_port, latency)
    server.store = store  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield store
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def store(self) -> ObjectStore:
        found: ObjectStore = self.server.store  # type: ignore[attr-defined]
        return found

    @property
    def key(self) -> str:
        return unquote(urlsplit(self.path).path).removeprefix(f"/{BUCKET}").removeprefix("/")

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        if not self.key:
            self._answer(200, listed(self.store.objects, parse_qs(urlsplit(self.path).query)), kind="application/xml")
        elif (found := self.store.objects.get(self.key)) is None:
            self._answer(404, _error("NoSuchKey"), kind="application/xml")
        else:
            self._answer(200, found)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if source := self.headers.get("x-amz-copy-source"):
            if (copied := self.store.objects.get(unquote(source).lstrip("/").removeprefix(f"{BUCKET}/"))) is None:
                return self._answer(404, _error("NoSuchKey"), kind="application/xml")
            self.store.objects[self.key] = copied
            done = f"<CopyObjectResult><ETag>{_tag(copied)}</ETag></CopyObjectResult>"
            return self._answer(200, done.encode(), kind="application/xml")
        if "aws-chunked" in self.headers.get("Content-Encoding", ""):
            body = unchunked(body)
        self.store.objects[self.key] = body
        return self._answer(200, b"", tag=_tag(body))

    def do_DELETE(self) -> None:
        self.store.objects.pop(self.key, None)
        self._answer(204, b"")

    def _answer(self, status: int, body: bytes, *, kind: str = "application/octet-stream", tag: str = "") -> None:
        self.store.requests[self.command] += 1
        time.sleep(self.store.latency)
        self.send_response(status)
        moment = formatdate(usegmt=True)
        for name, value in {"Content-Type": kind, "ETag": tag or _tag(body), "Last-Modified": moment}.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def listed(objects: dict[str, bytes], query: dict[str, list[str]]) -> bytes:
    """The answer to ListObjectsV2, in one page."""
    (prefix,), (delimiter,) = query.get("prefix", [""]), query.get("delimiter", [""])
    found, folders = [], set()
    for key in sorted(objects.copy()):
        if not key.startswith(prefix):
            continue
        rest = key[len(prefix) :]
        if delimiter and delimiter in rest:
            folders.add(prefix + rest.split(delimiter)[0] + delimiter)
        else:
            found.append(key)
    moment = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
    contents = "".join(
        f"<Contents><Key>{escape(key)}</Key><LastModified>{moment}</LastModified>"
        f"<ETag>{_tag(objects[key])}</ETag><Size>{len(objects[key])}</Size></Contents>"
        for key in found
    )
    common = "".join(f"<CommonPrefixes><Prefix>{escape(one)}</Prefix></CommonPrefixes>" for one in sorted(folders))
    counted = f"<KeyCount>{len(found) + len(folders)}</KeyCount><IsTruncated>false</IsTruncated>"
    return f'<ListBucketResult xmlns="{_NAMESPACE}">{counted}{contents}{common}</ListBucketResult>'.encode()


def unchunked(body: bytes) -> bytes:
    """The content of S3's own chunks: `SIZE[;signature]`, a line break, bytes, a line break, until a size of 0."""
    content, at = b"", 0
    while size := int(body[at : (end := body.index(b"\r\n", at))].split(b";")[0], 16):
        content += body[end + 2 : end + 2 + size]
        at = end + 2 + size + 2
    return content


def _tag(body: bytes) -> str:
    return f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'


def _error(code: str) -> bytes:
    return f"<Error><Code>{code}</Code></Error>".encode()
