"""Name constraints of a mesh's intermediate: the only names that it may sign. Pure.

Under one root, any intermediate without them could sign for any mesh. Pulumi's `tls` provider has no field for them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import HashAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.trust import NameConstraints

CERTIFICATE: Final = "ca-cert.pem"
_SERIAL_BYTES: Final = 19  # below the 20 octets of RFC 5280, and positive


def name_constraints(mesh: Mesh) -> NameConstraints:
    """The names that a mesh's intermediate signs: identities of its trust domain, and istiod's own certificate
    (`getDNSNames`, pilot/pkg/bootstrap/server.go), with `trust.dnsNames`."""
    hosts = [host for one in mesh.revisions for host in (mesh.host_of(one), one.exposure.address.webhook_host) if host]
    names = dict.fromkeys([*hosts, f"{mesh.namespace}.svc", *mesh.trust.dns_names])
    return NameConstraints(uri_domains=(mesh.domain,), dns_domains=tuple(names))


def constrained(certificate: str, root_key: str, constraints: NameConstraints) -> str:
    """An intermediate's certificate with critical name constraints, signed again with the root's key. PEM.

    Everything else stays as it is, but the serial number: it follows from the former one and the constraints. The same
    input always has the same result (ECDSA by RFC 6979), so a run without a change changes no certificate.
    """
    given, key = x509.load_pem_x509_certificate(certificate.encode()), load_pem_private_key(root_key.encode(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey)  # the algorithms of `trust.algorithm`
    permitted = [
        *(x509.UniformResourceIdentifier(one) for one in constraints.uri_domains),
        *(x509.DNSName(one) for one in constraints.dns_domains),
    ]
    builder = (
        x509.CertificateBuilder()
        .subject_name(given.subject)
        .issuer_name(given.issuer)
        .public_key(given.public_key())
        .serial_number(_serial(given, constraints))
        .not_valid_before(given.not_valid_before_utc)
        .not_valid_after(given.not_valid_after_utc)
    )
    for one in given.extensions:
        builder = builder.add_extension(one.value, critical=one.critical)
    builder = builder.add_extension(x509.NameConstraints(permitted, excluded_subtrees=None), critical=True)
    algorithm = given.signature_hash_algorithm
    assert isinstance(algorithm, HashAlgorithm)
    deterministic = True if isinstance(key, ec.EllipticCurvePrivateKey) else None
    signed = builder.sign(key, algorithm, ecdsa_deterministic=deterministic)  # type: ignore[arg-type]
    return signed.public_bytes(Encoding.PEM).decode()


def _serial(certificate: x509.Certificate, constraints: NameConstraints) -> int:
    text = f"{certificate.serial_number} {constraints.model_dump_json()}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:_SERIAL_BYTES]) or 1


def require_permitted(
    files: Mapping[str, str], source: str, *, domain: str | None = None, hosts: Iterable[str] = ()
) -> Mapping[str, str]:
    """The files of `cacerts`. Their certificate must permit these names: proxies and API servers reject all others.

    domain: the trust domain. source: the document in errors. Raises: InvalidInputError.
    """
    if missing := list(_missing(files[CERTIFICATE], domain, hosts)):
        rule = f"has a certificate whose name constraints exclude {', '.join(missing)}"
        fix = "Run `pulumi up` of `trust`, then of `root`; a host that is not istiod's belongs in trust.dnsNames there"
        raise InvalidInputError([Problem("cacerts", rule, fix)], source)
    return files


def _missing(certificate: str, domain: str | None, hosts: Iterable[str]) -> Iterator[str]:
    own = x509.load_pem_x509_certificates(certificate.encode())[0]
    try:
        permitted = own.extensions.get_extension_for_class(x509.NameConstraints).value.permitted_subtrees or ()
    except x509.ExtensionNotFound:
        return
    domains = [one.value for one in permitted if isinstance(one, x509.UniformResourceIdentifier)]
    names = [one.value for one in permitted if isinstance(one, x509.DNSName)]
    # RFC 5280, 4.2.1.10: without a name of a kind, all of that kind are permitted. A URI's domain is exact, unless it
    # begins with a dot.
    if domain and domains and not any(domain == one or (one[0] == "." and domain.endswith(one)) for one in domains):
        yield f"the trust domain {domain}"
    for host in hosts:
        if names and not any(host == one or host.endswith(f".{one.lstrip('.')}") for one in names):
            yield host
