"""Certificate authorities made for a test."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

SPIFFE = "spiffe://mesh.test/ns/bookshop/sa/frontend"
NOW = datetime.datetime.now(datetime.UTC)
DAY = datetime.timedelta(days=1)


class Authority:
    """A key with a certificate for it, signed by `by` (default: by itself). below: the number of authorities below it.

    permitted: the names that it may sign for; default: all.
    """

    def __init__(
        self,
        name: str,
        by: Authority | None = None,
        *,
        ca: bool = True,
        ends: datetime.datetime = NOW + DAY,
        below: int | None = None,
        permitted: Sequence[x509.GeneralName] = (),
    ):
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        self.certificate = (by or self).sign(
            self.name, self.key.public_key(), ca=ca, ends=ends, below=below, permitted=permitted
        )

    def sign(
        self, subject, public, *, ca=False, ends=NOW + DAY, names=(), below=None, permitted=()
    ) -> x509.Certificate:
        builder = x509.CertificateBuilder(issuer_name=self.name, subject_name=subject, public_key=public)
        builder = builder.serial_number(x509.random_serial_number()).not_valid_before(NOW - 2 * DAY)
        builder = builder.not_valid_after(ends).add_extension(x509.BasicConstraints(ca, below), critical=True)
        if permitted:
            builder = builder.add_extension(x509.NameConstraints(permitted, None), critical=True)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=True)
        return builder.sign(self.key, hashes.SHA256())

    def workload(self, *spiffes: str, ends: datetime.datetime = NOW + DAY) -> x509.Certificate:
        names = [x509.UniformResourceIdentifier(one) for one in spiffes or (SPIFFE,)]
        return self.sign(x509.Name([]), ec.generate_private_key(ec.SECP256R1()).public_key(), names=names, ends=ends)


def constrained_certificate(domain: str, host: str) -> str:
    """Of an intermediate that may sign for this trust domain and this host alone, PEM."""
    permitted = [x509.UniformResourceIdentifier(domain), x509.DNSName(host)]
    return pem(Authority("intermediate", Authority("root"), permitted=permitted).certificate).decode()


def pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
