"""A real Envoy holds an intermediate to its name constraints, as docs/components/trust.md says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from pulumi_hosted_mesh.boundary.name_constraints import constrained
from pulumi_hosted_mesh.spec.trust import NameConstraints

from sandbox.toolchain import Tools
from tests.support.authorities import DAY, NOW, Authority, pem
from tests.support.envoys import TYPES, answer_to, http, private, running, shown_by

OWN, FOREIGN = "spiffe://east.mesh.local/ns/shop/sa/page", "spiffe://west.mesh.local/ns/shop/sa/page"
CONSTRAINTS = {"none": None, "critical": True, "not critical": False}
# As pilot/pkg/bootstrap/server.go has them (getDNSNames), of a revision `canary`.
ISTIODS = ("istiod.east.example.com", *(f"{one}.mesh-east.svc" for one in ("istiod", "istio-pilot", "istiod-canary")))
HOSTS = ("istiod.east.example.com", "mesh-east.svc")  # what docs/components/trust.md has as `permitted;DNS:`
# What a hostile API server has istiod sign, by a user name with a comma in it.
FORGED = (f"{OWN}-a", "istiod.west.example.com")


def signed_again(root: Authority) -> Authority:
    """East's authority as a shared root's stack signs it."""
    made = Authority("intermediate of east", root, below=0)
    names = NameConstraints(uri_domains=("east.mesh.local",), dns_domains=HOSTS)
    text = constrained(pem(made.certificate).decode(), private(root.key).decode(), names)
    made.certificate = x509.load_pem_x509_certificate(text.encode())
    return made


def intermediate(root: Authority, critical: bool | None, allowed: Iterable[str] = HOSTS) -> Authority:
    """East's authority: constrained to its trust domain, or not. allowed: the DNS names, if any are constrained."""
    made = Authority("intermediate of east", root)
    builder = x509.CertificateBuilder(root.name, made.name, made.key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(NOW - DAY).not_valid_after(NOW + DAY)
    builder = builder.add_extension(x509.BasicConstraints(True, 0), critical=True)
    if critical is not None:
        names: list[x509.GeneralName] = [x509.UniformResourceIdentifier("east.mesh.local")]
        names += [x509.DNSName(one) for one in allowed]
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
    path = directory / "socket"
    with running(tools, directory, {"listeners": [http({"direct_response": {"status": 200}}, path, tls)]}):
        yield path


def is_let_in(gateway: Path, directory: Path, authority: Authority, *names: str) -> bool:
    """Whether a workload with a certificate of this authority gets an answer."""
    file = directory / "workload.pem"
    file.write_bytes(shown_by(authority, *names))
    answer = answer_to(gateway, file)
    return answer is not None and answer.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("case", CONSTRAINTS)
def test_an_authority_signs_for_its_own_trust_domain_alone_if_constrained(
    case: str, gateway: Path, root: Authority, tmp_path: Path
) -> None:
    authority = intermediate(root, CONSTRAINTS[case])
    assert is_let_in(gateway, tmp_path, authority, OWN)
    # Without constraints, whoever holds east's authority passes for west's workloads.
    assert is_let_in(gateway, tmp_path, authority, FOREIGN) is (CONSTRAINTS[case] is None)


@pytest.mark.parametrize("case", CONSTRAINTS)
def test_an_authority_signs_for_its_own_istiods_names_alone_if_constrained(
    case: str, gateway: Path, root: Authority, tmp_path: Path
) -> None:
    authority = intermediate(root, CONSTRAINTS[case])
    assert is_let_in(gateway, tmp_path, authority, *ISTIODS)
    assert is_let_in(gateway, tmp_path, authority, *FORGED) is (CONSTRAINTS[case] is None)


def test_the_products_own_constraints_hold(gateway: Path, root: Authority, tmp_path: Path) -> None:
    authority = signed_again(root)
    assert is_let_in(gateway, tmp_path, authority, OWN)
    assert is_let_in(gateway, tmp_path, authority, *ISTIODS)
    assert not is_let_in(gateway, tmp_path, authority, FOREIGN)
    assert not is_let_in(gateway, tmp_path, authority, *FORGED)


def test_a_constraint_of_uris_alone_says_nothing_of_dns_names(gateway: Path, root: Authority, tmp_path: Path) -> None:
    assert is_let_in(gateway, tmp_path, intermediate(root, True, allowed=()), *FORGED)
