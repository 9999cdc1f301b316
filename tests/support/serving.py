"""HTTP servers of a test's own, in a thread beside it."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import TypeVar

from sandbox.clusters.credentials.certificates import Pair

S = TypeVar("S", bound=ThreadingHTTPServer)


@contextmanager
def serving(server: S) -> Iterator[S]:
    """The server while the block runs."""
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class HttpsServer(ThreadingHTTPServer):
    """On a port of 127.0.0.1, with a certificate that is written to a file in a directory."""

    def __init__(self, pair: Pair, directory: Path, handler: type) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        file = directory / f"server-{self.server_port}.pem"
        file.write_bytes(pair.certificate + pair.key)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(file)
        self.socket = self.tls.wrap_socket(self.socket, server_side=True)

    @property
    def address(self) -> str:
        return f"https://127.0.0.1:{self.server_port}"
