"""A real Envoy on sockets of a test, and certificates of workloads."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from sandbox.toolchain import Tools
from tests.support.authorities import DAY, NOW, Authority, pem
from tests.support.waiting import eventually

TYPES = "type.googleapis.com/envoy.extensions"


def private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def shown_by(authority: Authority, *names: str) -> bytes:
    """Certificate, chain and key of a workload, as istiod issues them: its certificate may sign no other.

    names: SPIFFE ids or DNS names.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    builder = x509.CertificateBuilder(authority.name, x509.Name([]), key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(NOW - DAY).not_valid_after(NOW + DAY)
    usage = x509.KeyUsage(True, False, True, False, False, False, False, False, False)
    kinds = {True: x509.UniformResourceIdentifier, False: x509.DNSName}
    alternative = x509.SubjectAlternativeName([kinds[name.startswith("spiffe://")](name) for name in names])
    for extension in (x509.BasicConstraints(ca=False, path_length=None), usage, alternative):
        builder = builder.add_extension(extension, critical=True)
    return pem(builder.sign(authority.key, hashes.SHA256())) + pem(authority.certificate) + private(key)


@contextmanager
def running(tools: Tools, directory: Path, resources: Mapping[str, Any]) -> Iterator[None]:
    """Envoy with these static resources, once it listens at each pipe."""
    file = directory / "envoy.json"
    file.write_text(json.dumps({"node": {"id": "it", "cluster": "it"}, "static_resources": resources}))
    pipes = [Path(one["address"]["pipe"]["path"]) for one in resources["listeners"]]
    command = [str(tools["envoy"]), "--config-path", str(file), "--disable-hot-restart", "--concurrency", "1"]
    with (directory / "log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as envoy:
        try:
            listens = lambda: all(map(_is_answered, pipes)) or envoy.poll() is not None  # noqa: E731
            eventually(listens, "Envoy's sockets")
            assert envoy.poll() is None, (directory / "log").read_text()
            yield
        finally:
            envoy.terminate()


def _is_answered(pipe: Path) -> bool:
    """Whether a process listens there: the file appears a moment before."""
    with socket.socket(socket.AF_UNIX) as one:
        return one.connect_ex(str(pipe)) == 0


def http(action: Mapping[str, Any], path: Path, tls: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A listener on a pipe with one action for each request. tls: the context of its transport socket."""
    route = {"match": {"prefix": "/"}, **action}
    manager = {
        "@type": f"{TYPES}.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "it",
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [route]}]},
        "http_filters": [{"name": "router", "typed_config": {"@type": f"{TYPES}.filters.http.router.v3.Router"}}],
    }
    chain: dict[str, Any] = {"filters": [{"name": "http", "typed_config": manager}]}
    if tls:
        chain["transport_socket"] = {"name": "envoy.transport_sockets.tls", "typed_config": tls}
    return {"name": path.name, "address": {"pipe": {"path": str(path)}}, "filter_chains": [chain]}


def answer_to(path: Path, secured: Path | None = None) -> bytes | None:
    """The answer to a request at a pipe; None if TLS is refused. secured: the file with the workload's certificate."""
    with socket.socket(socket.AF_UNIX) as plain:
        plain.connect(str(path))
        if secured is None:
            return _asked(plain)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        # In TLS 1.3 the refusal reaches the client only after the handshake, if the connection still exists then.
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(secured)
        try:
            connection = context.wrap_socket(plain)
        except ssl.SSLError as error:
            assert "ALERT" in str(error.reason), error
            return None
        with connection:
            return _asked(connection)


def _asked(connection: socket.socket) -> bytes:
    connection.sendall(b"GET / HTTP/1.1\r\nhost: it\r\nconnection: close\r\n\r\n")
    return b"".join(iter(lambda: connection.recv(4096), b""))
