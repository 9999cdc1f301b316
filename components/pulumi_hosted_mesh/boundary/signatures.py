"""Whether one certificate signed another. Pure."""

from __future__ import annotations

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm


def is_signed(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    """True if the issuer's key made the certificate's signature, under the issuer's name. Validity is not checked."""
    try:
        certificate.verify_directly_issued_by(issuer)
    except (InvalidSignature, UnsupportedAlgorithm, TypeError, ValueError):
        return False
    return True
