"""A real Envoy verifies peers with roots of their own as the EnvoyFilters of trust `partial` tell it to."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from pulumi_hosted_mesh.charts.merge import merged
from pulumi_hosted_mesh.federation.exports import with_declared
from pulumi_hosted_mesh.federation.manifests import objects
from pulumi_hosted_mesh.spec.federation import Federation
from pulumi_hosted_mesh.spec.load import read_document

from sandbox.toolchain import Tools
from tests.support.authorities import Authority, pem
from tests.support.envoys import TYPES, answer_to, http, running, shown_by

ROOTS = {name: Authority(f"root of {name}") for name in ("east", "new east", "west", "new west", "north", "nobody")}
AUTHORITIES = {name: Authority(f"intermediate of {name}", root) for name, root in ROOTS.items()}
BUNDLES = {"east": ("east", "new east"), "west": ("west", "new west"), "north": ("north",)}
PAGE, OF_NORTH = "spiffe://east.mesh.local/ns/books/sa/page", "spiffe://north.mesh.local/ns/books/sa/page"
GATEWAY, OF_WEST = "spiffe://west.mesh.local/ns/mesh-west/sa/eastwest", "spiffe://west.mesh.local/ns/books/sa/page"


def bundle(*names: str) -> str:
    return "".join(pem(ROOTS[name].certificate).decode() for name in names)


def patch(mesh: str, applied_to: str) -> Any:
    """What a mesh's EnvoyFilter adds to a TLS context."""
    to = [{"mesh": name, "identities": ["books/page"]} for name in ("east", "north")]
    reviews = {"namespace": "books", "service": "reviews", "port": 9080, "to": to}
    parts: dict[str, dict[str, Any]] = {
        "east": {"imports": [{"meshes": ["west"]}]},
        "west": {"exports": [reviews]},
        "north": {},
    }
    peers = [
        {
            "mesh": name,
            "gateway": {"address": f"eastwest.{name}.example.com"},
            "rootCertificate": bundle(*BUNDLES[name]),
            **part,
        }
        for name, part in parts.items()
    ]
    document = {"name": "shops", "domain": "shops.example.com", "trust": "partial", "peers": peers}
    federation = read_document(Federation, document, "the federation")
    made = [one for one in objects(federation, mesh, with_declared(federation, [])) if one["kind"] == "EnvoyFilter"]
    ((found,),) = (one["spec"]["configPatches"] for one in made)
    assert found["applyTo"] == applied_to
    return found["patch"]["value"]["transport_socket"]["typed_config"]


def as_istiod_makes_it(kind: str, directory: Path, mesh: str, spiffe: str, *identities: str) -> dict[str, Any]:
    """A TLS context with a mesh's own bundle, which the agent gives over SDS. identities: that are asked for.

    buildUpstreamClusterTLSContext in cluster_tls.go and ApplyToCommonTLSContext in authentication.go of Istio.
    """
    own = directory / f"{mesh}.pem"
    own.write_bytes(shown_by(AUTHORITIES[mesh], spiffe))
    secret = {
        "@type": f"{TYPES}.transport_sockets.tls.v3.Secret",
        "name": "ROOTCA",
        "validation_context": {"trusted_ca": {"inline_string": bundle(mesh)}},
    }
    file = directory / f"root-of-{mesh}.json"
    file.write_text(json.dumps({"resources": [secret]}))
    sds = {"path_config_source": {"path": str(file)}, "resource_api_version": "V3"}
    names = [{"exact": one} for one in identities]
    common = {
        "tls_certificates": [{"certificate_chain": {"filename": str(own)}, "private_key": {"filename": str(own)}}],
        "combined_validation_context": {
            "default_validation_context": {"match_subject_alt_names": names} if names else {},
            "validation_context_sds_secret_config": {"name": "ROOTCA", "sds_config": sds},
        },
    }
    return {"@type": f"{TYPES}.transport_sockets.tls.v3.{kind}", "common_tls_context": common}


@pytest.fixture(scope="module")
def envoy(tmp_path_factory: pytest.TempPathFactory, tools: Tools) -> Iterator[Path]:
    """The directory of pipes: `west`, a gateway, and `east`, whose sidecar calls the gateway at `peer`."""
    directory = tmp_path_factory.mktemp("envoy")
    gateway = as_istiod_makes_it("DownstreamTlsContext", directory, "west", GATEWAY)
    gateway = merged({**gateway, "require_client_certificate": True}, patch("west", "FILTER_CHAIN"))
    seen = {"header": {"key": "caller", "value": "%DOWNSTREAM_PEER_URI_SAN%"}}
    answer = {"direct_response": {"status": 200}, "response_headers_to_add": [seen]}
    caller = as_istiod_makes_it("UpstreamTlsContext", directory, "east", PAGE, GATEWAY)
    caller = merged(caller, patch("east", "CLUSTER"))
    endpoint = {"endpoint": {"address": {"pipe": {"path": str(directory / "peer")}}}}
    cluster = {
        "name": "imported",
        "load_assignment": {"cluster_name": "imported", "endpoints": [{"lb_endpoints": [endpoint]}]},
        "transport_socket": {"name": "envoy.transport_sockets.tls", "typed_config": caller},
    }
    listeners = [
        http(answer, directory / "west", gateway),
        http({"route": {"cluster": "imported"}}, directory / "east"),
    ]
    with running(tools, directory, {"listeners": listeners, "clusters": [cluster]}):
        yield directory


@pytest.mark.parametrize(
    ("authority", "spiffe", "is_let_in"),
    [
        ("east", PAGE, True),
        ("new east", PAGE, True),  # it moves to another root
        ("north", OF_NORTH, True),
        ("nobody", PAGE, False),
        ("east", OF_NORTH, False),
        ("north", PAGE, False),
        ("east", OF_WEST, False),  # the trust domain of the gateway's own mesh
        ("nobody", OF_WEST, False),
        ("west", PAGE, False),
    ],
)
def test_a_gateway_lets_each_root_speak_for_its_own_trust_domain_alone(
    authority: str, spiffe: str, is_let_in: bool, envoy: Path, tmp_path: Path
) -> None:
    shown = tmp_path / "caller.pem"
    shown.write_bytes(shown_by(AUTHORITIES[authority], spiffe))
    answer = answer_to(envoy / "west", shown)
    assert (answer is not None) is is_let_in
    assert answer is None or f"caller: {spiffe}".encode() in answer


@contextmanager
def answering(path: Path, shown: Path) -> Iterator[None]:
    """A gateway that shows a certificate and answers one request."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(shown)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()

        def serve() -> None:
            plain, _ = server.accept()
            with plain, suppress(OSError), context.wrap_socket(plain, server_side=True) as connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield
        finally:
            path.unlink()
            thread.join()


@pytest.mark.parametrize(
    ("authority", "spiffe", "is_believed"),
    [
        ("west", GATEWAY, True),
        ("new west", GATEWAY, True),
        ("nobody", GATEWAY, False),
        ("north", GATEWAY, False),
        ("east", GATEWAY, False),  # the caller's own root, which it believes within its mesh
        ("west", OF_WEST, False),  # another workload of west in the gateway's place
        ("east", PAGE, False),
    ],
)
def test_a_caller_believes_the_peers_gateway_by_the_peers_root_alone(
    authority: str, spiffe: str, is_believed: bool, envoy: Path, tmp_path: Path
) -> None:
    shown = tmp_path / "gateway.pem"
    shown.write_bytes(shown_by(AUTHORITIES[authority], spiffe))
    with answering(envoy / "peer", shown):
        answer = answer_to(envoy / "east")
    assert answer is not None
    assert answer.split()[1] == (b"200" if is_believed else b"503")
