"""Stands in front of a tenant's API server, and is hostile on request: api_server.py FOLDER PORT BAIT UPSTREAM.

FOLDER has `mode`, a word that may change, and the server's `apiserver.crt`, `apiserver.key` and `cluster.crt`. Each
request is a line of JSON in FOLDER/requests. UPSTREAM: port of the real API server on this machine. A change of the
mode closes all connections. Standard library only.

forward    pass everything on
identity   answer each TokenReview with an identity of another tenant's istiod
redirects  redirect each request to a next path, and at the end to BAIT, a plain server here
objects    answer lists and watches with objects of 200 kB without an end
hang       never answer
"""

import http.client
import itertools
import json
import re
import socket
import ssl
import sys
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

folder, port, bait, upstream = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
TOKEN = re.compile(rb"eyJ[\w-]+\.[\w-]+\.[\w-]+")
"""In a TokenReview, which may be in Kubernetes' binary form."""
OTHER = "system:serviceaccount:tenant-bank--store:istiod"
GROUPS = ["system:masters", "system:serviceaccounts", "system:serviceaccounts:tenant-bank--store"]
MOST = 400_000_000
"""Bytes of objects in all, for the machine's sake."""
LARGE = "a" * 200_000
own_lock, connections, sent = threading.Lock(), set[socket.socket](), itertools.count()
inside = ssl.create_default_context()
inside.check_hostname, inside.verify_mode = False, ssl.CERT_NONE


def mode() -> str:
    return (folder / "mode").read_text().strip()


def record(place: str, handler: BaseHTTPRequestHandler, body: bytes, certificate: bytes | None) -> None:
    entry = {
        "place": place,
        "mode": mode(),
        "method": handler.command,
        "path": handler.path,
        "authorization": handler.headers.get("Authorization"),
        "certificate": bool(certificate),
        "tokens": [found.decode() for found in TOKEN.findall(body)] if "tokenreviews" in handler.path else [],
    }
    with own_lock, (folder / "requests").open("a") as file:
        file.write(json.dumps(entry) + "\n")


class Api(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        with own_lock:
            connections.add(self.connection)

    def finish(self) -> None:
        with own_lock:
            connections.discard(self.connection)
        with suppress(OSError):
            super().finish()

    def log_message(self, *_: object) -> None:
        pass

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        record("api", self, body, self.connection.getpeercert(binary_form=True))
        now = mode()
        if now == "hang":
            time.sleep(600)
        elif now == "redirects":
            self.redirect()
        elif now == "objects" and self.command == "GET" and self.path.startswith("/api"):
            self.objects()
        elif now == "identity" and "tokenreviews" in self.path:
            self.identity()
        else:
            self.forward(body)

    def __getattr__(self, name: str) -> Any:
        """`do_GET` and all others."""
        if name.startswith("do_"):
            return self.answer
        raise AttributeError(name)

    def whole(self, status: int, content: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def identity(self) -> None:
        status = {
            "authenticated": True,
            "audiences": ["istio-ca"],
            "user": {"username": OTHER, "groups": GROUPS},
        }
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {}, "status": status}
        self.whole(201, json.dumps(review).encode())

    def redirect(self) -> None:
        turn = int(self.path.rpartition("turn=")[2]) if "turn=" in self.path else 0
        target = bait if turn >= 5 else f"{urlsplit(self.path).path}?turn={turn + 1}"
        self.whole(307, b"", Location=target)

    def objects(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        is_watch = "watch=" in self.path
        if not is_watch:
            self.chunk(b'{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[')
        comma = b""
        while (number := next(sent)) * len(LARGE) < MOST:
            metadata = {
                "name": f"s-{number}",
                "namespace": "default",
                "resourceVersion": str(number + 2),
                "uid": str(number),
                "annotations": {"large": LARGE},
            }
            made = {"metadata": metadata, "spec": {"ports": [{"port": 80}], "clusterIP": "10.0.0.1"}}
            if is_watch:
                event = {"type": "ADDED", "object": {"kind": "Service", "apiVersion": "v1", **made}}
                self.chunk(json.dumps(event).encode() + b"\n")
            else:
                self.chunk(comma + json.dumps(made).encode())
                comma = b","
        time.sleep(600)

    def chunk(self, content: bytes) -> None:
        self.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
        self.wfile.flush()

    def forward(self, body: bytes) -> None:
        there = http.client.HTTPSConnection("127.0.0.1", upstream, context=inside, timeout=600)
        own = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
        with suppress(OSError, http.client.HTTPException):
            there.request(self.command, self.path, body=body or None, headers=own)
            found = there.getresponse()
            self.send_response(found.status)
            left_out = ("transfer-encoding", "connection", "content-length", "date")
            for name, value in found.getheaders():
                if name.lower() not in left_out:
                    self.send_header(name, value)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            while content := found.read1(65536):
                self.chunk(content)
            self.wfile.write(b"0\r\n\r\n")
        there.close()


class Bait(BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        record("bait", self, b"", None)
        self.send_response(404)
        self.end_headers()

    def do_POST(self) -> None:
        self.do_GET()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        pass


class Secured(Server):
    def finish_request(self, request: Any, client_address: Any) -> None:
        secured = context.wrap_socket(request, server_side=True)
        super().finish_request(secured, client_address)
        with suppress(OSError):
            secured.close()


def close_on_change() -> None:
    last = mode()
    while True:
        time.sleep(0.1)
        if (now := mode()) and now != last:
            last = now
            with own_lock:
                for one in list(connections):
                    with suppress(OSError):
                        one.shutdown(socket.SHUT_RDWR)


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(folder / "apiserver.crt", folder / "apiserver.key")
# A client with a certificate would show it.
context.load_verify_locations(folder / "cluster.crt")
context.verify_mode = ssl.CERT_OPTIONAL
threading.Thread(target=close_on_change, daemon=True).start()
baited = Server(("", urlsplit(bait).port or 80), Bait)
threading.Thread(target=baited.serve_forever, daemon=True).start()
Secured(("", port), Api).serve_forever()
