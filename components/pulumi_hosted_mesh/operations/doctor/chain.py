"""Whether an authority's certificate leads to a root: by signatures, as istiod and proxies follow them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from cryptography import x509

from pulumi_hosted_mesh.boundary.signatures import is_signed


class BrokenChainError(ValueError):
    """A broken chain. The message names the place."""


def certificates(pem: str) -> list[x509.Certificate]:
    """The certificates of a PEM text, at least one. Raises: ValueError."""
    return x509.load_pem_x509_certificates(pem.encode())


def name_of(certificate: x509.Certificate) -> str:
    """A certificate's subject, like CN=root,O=Shop."""
    return certificate.subject.rfc4514_string() or "an authority without a name"


def chain(
    own: x509.Certificate, between: Sequence[x509.Certificate], roots: Sequence[x509.Certificate]
) -> list[x509.Certificate]:
    """From an authority's own certificate to a root's. between: intermediates, in any order. Raises: BrokenChainError.

    Validity periods are not checked.
    """
    found = [own]
    while found[-1] not in roots:
        last = found[-1]
        issuer = next((one for one in (*roots, *between) if one not in found and is_signed(last, one)), None)
        if issuer is None:
            signer = last.issuer.rfc4514_string() or "an authority without a name"
            is_there = any(one.subject == last.issuer for one in (*roots, *between) if one != last)
            why = "has one of that name that did not sign it" if is_there else "lacks that one"
            raise BrokenChainError(
                f"{name_of(last)} was issued by {signer}, but cert-chain.pem with root-cert.pem {why}"
            )
        found.append(issuer)
    for below, one in enumerate(found):
        if not _may_issue(one, below):
            raise BrokenChainError(
                f"{name_of(one)} may not sign for {'an authority below it' if below else 'workloads'}"
            )
    return found


def _may_issue(certificate: x509.Certificate, below: int) -> bool:
    """Whether a certificate is an authority's. below: number of authorities between it and workloads."""
    try:
        basic = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
    except (x509.ExtensionNotFound, ValueError):
        return False
    return basic.ca and (basic.path_length is None or basic.path_length >= below)
