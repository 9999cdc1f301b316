"""An intermediate that is signed again keeps everything but its names, and a run without a change signs the same."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from pulumi_hosted_mesh import InvalidInputError, Mesh, name_constraints, read_document
from pulumi_hosted_mesh.boundary.name_constraints import constrained, require_permitted
from pulumi_hosted_mesh.boundary.signatures import is_signed
from pulumi_hosted_mesh.spec.trust import NameConstraints

from tests.support.authorities import DAY, NOW, Authority, pem
from tests.support.envoys import private
from tests.unit.library.documents import document

EAST = NameConstraints(uri_domains=("east.mesh.local",), dns_domains=("istiod.east.example.com", "mesh-east.svc"))


def mesh(**changes: Any) -> Mesh:
    return read_document(Mesh, document(changes))


@pytest.mark.parametrize("kind", ["ecdsa", "rsa"])
def test_the_same_certificate_with_constraints_every_time(kind: str) -> None:
    root, made = Authority("root"), Authority("intermediate", Authority("root"))
    if kind == "rsa":
        key: Any = rsa.generate_private_key(65537, 2048)
    else:
        key = ec.generate_private_key(ec.SECP384R1())
    builder = x509.CertificateBuilder(root.name, made.name, made.key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(NOW - DAY).not_valid_after(NOW + DAY)
    builder = builder.add_extension(x509.BasicConstraints(True, 0), critical=True)
    own = x509.CertificateBuilder(root.name, root.name, key.public_key(), x509.random_serial_number())
    signer = own.not_valid_before(NOW - DAY).not_valid_after(NOW + DAY).sign(key, hashes.SHA256())
    before = builder.sign(key, hashes.SHA256())

    first, again = (constrained(pem(before).decode(), private(key).decode(), EAST) for _ in range(2))
    assert first == again
    after = x509.load_pem_x509_certificate(first.encode())
    assert is_signed(after, signer)
    for part in ("subject", "issuer", "not_valid_before_utc", "not_valid_after_utc"):
        assert getattr(after, part) == getattr(before, part)
    assert after.public_key() == before.public_key()
    assert [*after.extensions][:-1] == [*before.extensions]
    found = after.extensions.get_extension_for_class(x509.NameConstraints)
    assert found.critical
    names = [one.value for one in found.value.permitted_subtrees or ()]
    assert names == ["east.mesh.local", "istiod.east.example.com", "mesh-east.svc"]
    # One issuer has each serial number once, and other constraints are another certificate.
    other = x509.load_pem_x509_certificate(
        constrained(
            pem(before).decode(), private(key).decode(), EAST.model_copy(update={"dns_domains": ("a.example.com",)})
        ).encode()
    )
    assert len({before.serial_number, after.serial_number, other.serial_number}) == 3


def test_names_are_those_that_istiod_signs() -> None:
    found = name_constraints(mesh(trust={"dnsNames": ["collector.demo.example.com"]}))
    assert found.uri_domains == ("demo.mesh.local",)
    assert found.dns_domains == ("istiod.demo.example.com", "mesh-demo.svc", "collector.demo.example.com")


def files(constraints: NameConstraints | None) -> dict[str, str]:
    root = Authority("root")
    given = pem(Authority("intermediate", root).certificate).decode()
    return {"ca-cert.pem": constrained(given, private(root.key).decode(), constraints) if constraints else given}


@pytest.mark.parametrize("constraints", [None, EAST])
def test_permitted_names_pass(constraints: NameConstraints | None) -> None:
    given = files(constraints)
    hosts = ("istiod.east.example.com", "webhooks.istiod.east.example.com", "istiod.mesh-east.svc")
    assert require_permitted(given, "the document", domain="east.mesh.local", hosts=hosts) == given


@pytest.mark.parametrize(
    ("domain", "host", "named"),
    [
        ("west.mesh.local", "mesh-east.svc", "the trust domain west.mesh.local"),
        # A URI's domain has no subdomains, unlike a DNS name.
        ("a.east.mesh.local", "mesh-east.svc", "the trust domain a.east.mesh.local"),
        ("east.mesh.local", "istiod2.east.example.com", "istiod2.east.example.com"),
        ("east.mesh.local", "x-mesh-east.svc", "x-mesh-east.svc"),
    ],
)
def test_other_names_are_rejected(domain: str, host: str, named: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        require_permitted(files(EAST), "the document", domain=domain, hosts=[host])
    (problem,) = refused.value.problems
    assert (problem.field, problem.rule) == ("cacerts", f"has a certificate whose name constraints exclude {named}")
    assert "`trust`, then of `root`" in problem.fix
