"""Whose root certificate a ConfigMap holds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from pulumi_hosted_mesh.operations.leftovers import roots_in


def authority(common_name: str, organization: str = "hosted-mesh", began_days_ago: int = 1) -> str:
    """A self-signed authority that is valid for ten days, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization),
            x509.NameAttribute(NameOID.COMMON_NAME, common_name),
        ]
    )
    began = datetime.now(UTC) - timedelta(days=began_days_ago)
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(began)
        .not_valid_after(began + timedelta(days=10))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


@pytest.mark.parametrize(
    ("pem", "names"),
    [
        pytest.param(authority("demo root"), {"demo"}, id="one"),
        pytest.param(authority("demo root") + authority("shared root"), {"demo", "shared"}, id="a bundle"),
        pytest.param(authority("demo root", began_days_ago=100), {"demo"}, id="one that has expired"),
        pytest.param(authority("demo intermediate"), set(), id="no root"),
        pytest.param(authority("demo root", organization="cluster.local"), set(), id="another's of that name"),
        pytest.param("", set(), id="nothing"),
        pytest.param("-----BEGIN CERTIFICATE-----\n%%\n-----END CERTIFICATE-----\n", set(), id="no certificate"),
        pytest.param(f"# für alle\n{authority('demo root')}", {"demo"}, id="a comment that is not ASCII"),
        pytest.param("für alle", set(), id="no PEM"),
    ],
)
def test_roots(pem: str, names: set[str]) -> None:
    assert roots_in(pem) == names
