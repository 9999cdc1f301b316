"""A real Envoy holds an intermediate to its name constraints, as docs/components/trust.md says."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from sandbox.toolchain import Tools
from tests.support.authorities import DAY, NOW, Authority, pem
from tests.support.waiting import eventually

OWN, FOREIGN = "spiffe://east.mesh.local/ns/shop/sa/page", "spiffe://west.mesh.local/ns/shop/sa/page"
TYPES = "type.googleapis.com/envoy.extensions"
CONSTRAINTS = {"none": None, "critical": True, "not critical": False}


def private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def intermediate(root: Authority, critical: bool | None) -> Authority:
    """East's authority: constrained to its trust domain, or not."""
    made = Authority("intermediate of east", root)
    builder = x509.CertificateBuilder(root.name, made.name, made.key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(NOW - DAY).not_valid_after(NOW + DAY)
    builder = builder.add_extension(x509.BasicConstraints(True, 0), critical=True)
    if critical is not None:
        names = [x509.UniformResourceIdentifier("east.mesh.local")]
        builder = builder.add_extension(x509.NameConstraints(names, None), critical=critical)
    made.certificate = builder.sign(root.key, hashes.SHA256())
    return made


@pytest.fixture(scope="module")
def root() -> Authority:
    return Authority("the shared root")


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, tools: Tools, root: Authority) -> Iterator[Path]:
    """An Envoy on a socket that answers whoever the root's authorities signed."""
    directory = tmp_path_factory.mktemp("envoy")
    server = Authority("gateway", root, ca=False)
    tls = {
        "@type": f"{TYPES}.transport_sockets.tls.v3.DownstreamTlsContext",
        "require_client_certificate": True,
        "common_tls_context": {
            "tls_certificates": [
                {
                    "certificate_chain": {"inline_string": pem(server.certificate).decode()},
                    "private_key": {"inline_string": private(server.key).decode()},
                }
            ],
            "validation_context": {"trusted_ca": {"inline_string": pem(root.certificate).decode()}},
        },
    }
    answer = {"match": {"prefix": "/"}, "direct_response": {"status": 200}}
    manager = {
        "@type": f"{TYPES}.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "it",
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [answer]}]},
        "http_filters": [
            {
                "name": "router",
                "typed_config": {"@type": f"{TYPES}.filters.http.router.v3.Router"},
            }
        ],
    }
    listener = {
        "name": "it",
        "address": {"pipe": {"path": str(directory / "socket")}},
        "filter_chains": [
            {
                "filters": [{"name": "http", "typed_config": manager}],
                "transport_socket": {"name": "tls", "typed_config": tls},
            }
        ],
    }
    file = directory / "envoy.json"
    file.write_text(json.dumps({"static_resources": {"listeners": [listener]}}))
    command = [str(tools["envoy"]), "--config-path", str(file), "--disable-hot-restart", "--concurrency", "1"]
    with (directory / "log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as envoy:
        try:
            eventually(lambda: (directory / "socket").exists() or envoy.poll() is not None, "Envoy's socket")
            assert envoy.poll() is None, (directory / "log").read_text()
            yield directory / "socket"
        finally:
            envoy.terminate()


def is_let_in(gateway: Path, directory: Path, authority: Authority, spiffe: str) -> bool:
    """Whether a workload with a certificate of this authority gets an answer."""
    key = ec.generate_private_key(ec.SECP256R1())
    leaf = authority.sign(x509.Name([]), key.public_key(), names=[x509.UniformResourceIdentifier(spiffe)])
    chain = directory / "chain.pem"
    chain.write_bytes(pem(leaf) + pem(authority.certificate) + private(key))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    # In TLS 1.3 a client learns after the handshake alone that it was refused, if the connection is not gone by then.
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(chain)
    with socket.socket(socket.AF_UNIX) as plain:
        plain.connect(str(gateway))
        try:
            connection = context.wrap_socket(plain)
        except ssl.SSLError as error:
            assert "ALERT" in str(error.reason), error
            return False
        with connection:
            connection.sendall(b"GET / HTTP/1.1\r\nhost: it\r\nconnection: close\r\n\r\n")
            return connection.recv(64).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("case", CONSTRAINTS)
def test_an_authority_signs_for_its_own_trust_domain_alone_if_constrained(
    case: str, gateway: Path, root: Authority, tmp_path: Path
) -> None:
    authority = intermediate(root, CONSTRAINTS[case])
    assert is_let_in(gateway, tmp_path, authority, OWN)
    # Without constraints, whoever holds east's authority passes for west's workloads.
    assert is_let_in(gateway, tmp_path, authority, FOREIGN) is (CONSTRAINTS[case] is None)
