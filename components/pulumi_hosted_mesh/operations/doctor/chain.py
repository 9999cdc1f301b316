"""Whether an authority's certificate leads to a root: by signatures, as istiod and proxies follow them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm


class BrokenChainError(ValueError):
    """Says in words where a chain breaks."""


def certificates(pem: str) -> list[x509.Certificate]:
    """Those of a PEM text, one at least. Raises: ValueError."""
    return x509.load_pem_x509_certificates(pem.encode())


def name_of(certificate: x509.Certificate) -> str:
    """Its subject, like CN=root,O=Shop."""
    return certificate.subject.rfc4514_string() or "an authority without a name"


def chain(
    own: x509.Certificate, between: Sequence[x509.Certificate], roots: Sequence[x509.Certificate]
) -> list[x509.Certificate]:
    """From an authority's own certificate to a root's. between: intermediates, in any order. Raises: BrokenChainError.

    Nothing is said of times.
    """
    found = [own]
    while found[-1] not in roots:
        last = found[-1]
        issuer = next((one for one in (*roots, *between) if one not in found and _signed(one, last)), None)
        if issuer is None:
            who = last.issuer.rfc4514_string() or "an authority without a name"
            known = any(one.subject == last.issuer for one in (*roots, *between) if one != last)
            why = "the one of that name there did not sign it" if known else "neither has it"
            raise BrokenChainError(
                f"{name_of(last)} was issued by {who}, and of cert-chain.pem and root-cert.pem {why}"
            )
        found.append(issuer)
    for below, one in enumerate(found):
        if not _may_issue(one, below):
            raise BrokenChainError(
                f"{name_of(one)} may not sign for {'an authority below it' if below else 'workloads'}"
            )
    return found


def _signed(issuer: x509.Certificate, certificate: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (InvalidSignature, UnsupportedAlgorithm, TypeError, ValueError):
        return False
    return True


def _may_issue(certificate: x509.Certificate, below: int) -> bool:
    """Whether it is an authority's. below: how many authorities there are between it and workloads."""
    try:
        basic = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
    except (x509.ExtensionNotFound, ValueError):
        return False
    return basic.ca and (basic.path_length is None or basic.path_length >= below)
