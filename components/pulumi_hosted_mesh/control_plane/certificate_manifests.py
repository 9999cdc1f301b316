"""cert-manager's Certificate of a mesh's intermediate, and the verdict on what was issued. Pure."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm

from pulumi_hosted_mesh.boundary.signatures import is_signed
from pulumi_hosted_mesh.problems import RuleBrokenError, visible
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.name_lengths import INTERMEDIATE_SUFFIX
from pulumi_hosted_mesh.spec.trust import CERT_MANAGER_GROUP, HOURS_PER_DAY, Issuer
from pulumi_hosted_mesh.vocabulary import CACERTS_SECRET, PACKAGE

API_VERSION: Final = f"{CERT_MANAGER_GROUP}/v1"
KIND: Final = "Certificate"
NAME_ANNOTATION: Final = f"{CERT_MANAGER_GROUP}/certificate-name"
REVISION_ANNOTATION: Final = f"{CERT_MANAGER_GROUP}/certificate-revision"
USAGES: Final = ("cert sign", "crl sign", "digital signature")
RETRY: Final = "Correct it. cert-manager repeats the request of {namespace} after an hour; then run `pulumi up` again"


class RefusedCertificateError(RuleBrokenError):
    """The issuer refuses, or its certificate cannot be the mesh's. rule and fix are of `trust.issuer`."""


def certificate_spec(mesh: Mesh, issuer: Issuer) -> dict[str, Any]:
    """`spec` of the Certificate. Each renewal makes a new key; istiod reads both files at once."""
    kind, size = mesh.trust.algorithm.value.split("-")
    lifetimes = mesh.trust.intermediate
    spec: dict[str, Any] = {
        "secretName": CACERTS_SECRET,
        "isCA": True,
        "commonName": f"{mesh.name}{INTERMEDIATE_SUFFIX}",
        "subject": {"organizations": [PACKAGE]},
        "usages": list(USAGES),
        "duration": f"{lifetimes.lifetime_days * HOURS_PER_DAY}h0m0s",
        "renewBefore": f"{lifetimes.renew_before_days * HOURS_PER_DAY}h0m0s",
        "privateKey": {
            "algorithm": kind.upper(),
            "size": int(size.removeprefix("p")),
            "encoding": "PKCS8",
            "rotationPolicy": "Always",
        },
        "issuerRef": {"name": issuer.name, "kind": issuer.kind, "group": issuer.group},
    }
    if issuer.name_constraints:
        permitted = {"uriDomains": [mesh.domain], "dnsDomains": istiods_names(mesh)}
        spec["nameConstraints"] = {"critical": True, "permitted": permitted}
    return spec


def istiods_names(mesh: Mesh) -> list[str]:
    """The DNS domains of istiod's own certificate (`getDNSNames`, pilot/pkg/bootstrap/server.go)."""
    hosts = [host for one in mesh.revisions for host in (mesh.host_of(one), one.exposure.address.webhook_host) if host]
    return [*dict.fromkeys(hosts), f"{mesh.namespace}.svc"]


def condition(found: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """An object's condition of a type; empty without one."""
    conditions = (found.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one.get("type") == kind), {})


def obstacle(
    certificate: Mapping[str, Any] | None, requests: Sequence[Mapping[str, Any]], *, root: str, issuer: Issuer
) -> str | None:
    """The reason to wait; None if the Certificate is issued under the root. requests: of its namespace.

    root: declared, PEM; it may be several. Raises: RefusedCertificateError.
    """
    if certificate is None:
        return "the Certificate does not exist yet"
    metadata, status = certificate["metadata"], certificate.get("status") or {}
    own = sorted(filter(_is_of(metadata), requests), key=_revision)
    ready = condition(certificate, "Ready")
    is_current = int(ready.get("observedGeneration") or 0) >= int(metadata.get("generation") or 0)
    if ready.get("status") == "True" and is_current:
        issued = [one for one in own if _revision(one) == int(status.get("revision") or 0)]
        if not issued:
            return "the CertificateRequest of its revision does not exist"
        _require(issued[-1], root, issuer, str(metadata.get("namespace")))
        return None
    if own and _revision(own[-1]) > int(status.get("revision") or 0):
        return _pending(own[-1], issuer, str(metadata.get("namespace")))
    return visible(str(ready.get("message") or "the Certificate has no condition Ready yet"))


def _pending(request: Mapping[str, Any], issuer: Issuer, namespace: str) -> str:
    """The reason of a request that is not issued. Raises: RefusedCertificateError if it never will be."""
    ready, denied = condition(request, "Ready"), condition(request, "Denied")
    message = visible(str(denied.get("message") or ready.get("message") or "the issuer has not answered"))
    if denied.get("status") == "True" or ready.get("reason") in ("Failed", "Denied"):
        rule = f"{issuer.kind} {issuer.name} refuses: {message}"
        raise RefusedCertificateError(rule, RETRY.format(namespace=namespace))
    return message


def _require(request: Mapping[str, Any], root: str, issuer: Issuer, namespace: str) -> None:
    """Raises RefusedCertificateError unless the issued certificate can be the mesh's authority under the root."""
    called, status = f"{issuer.kind} {issuer.name}", request.get("status") or {}
    try:
        own, *between = _certificates(status.get("certificate"))
        roots = _certificates(root)
        given = _certificates(status["ca"]) if status.get("ca") else []
    except (ValueError, UnsupportedAlgorithm):
        raise RefusedCertificateError(
            f"{called} issued a certificate that cannot be read", RETRY.format(namespace=namespace)
        ) from None
    if not given:
        rule = f"{called} gives no root certificate (ca.crt), which istiod requires"
        raise RefusedCertificateError(rule, "Configure the issuer to return its root")
    if not any(one in roots for one in given):
        rule = f"{called} has another root ({_name(given[0])}) than rootCertificate ({_name(roots[0])})"
        raise RefusedCertificateError(rule, "Correct rootCertificate, or the issuer's name")
    if not _is_authority(own):
        rule = f"{called} issued a certificate that may not sign: it is not of a CA"
        fix = "Let the issuer sign CA certificates; with Vault, by path: <mount>/root/sign-intermediate"
        raise RefusedCertificateError(rule, fix)
    if not _leads_to(own, between, roots):
        rule = f"{called} issued a certificate whose chain does not lead to rootCertificate"
        raise RefusedCertificateError(rule, "Configure the issuer to return its intermediates")
    if issuer.name_constraints and not _has_constraints(own):
        rule = f"{called} left the requested name constraints out"
        fix = "Let the issuer keep them, and turn on cert-manager's NameConstraints, or set nameConstraints: false"
        raise RefusedCertificateError(rule, fix)
    if own.not_valid_after_utc <= datetime.now(UTC):
        raise RefusedCertificateError(
            f"{called} issued a certificate that has ended", RETRY.format(namespace=namespace)
        )


def _certificates(pem: Any) -> list[x509.Certificate]:
    """Of PEM in base64, as cert-manager's status has it, or of plain PEM. Raises: ValueError."""
    text = str(pem or "")
    if "BEGIN CERTIFICATE" not in text:
        text = base64.b64decode(text, validate=True).decode()
    return x509.load_pem_x509_certificates(text.encode())


def _leads_to(own: x509.Certificate, between: Sequence[x509.Certificate], roots: Sequence[x509.Certificate]) -> bool:
    """Whether each certificate is signed by the next one, and the last one by a root."""
    chain = [own, *(one for one in between if one not in roots)]
    signed = all(is_signed(one, by) for one, by in itertools.pairwise(chain))
    return signed and any(is_signed(chain[-1], one) for one in roots)


def _is_authority(certificate: x509.Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False


def _has_constraints(certificate: x509.Certificate) -> bool:
    try:
        found = certificate.extensions.get_extension_for_class(x509.NameConstraints).value
    except x509.ExtensionNotFound:
        return False
    kinds = {type(one) for one in found.permitted_subtrees or ()}
    return {x509.UniformResourceIdentifier, x509.DNSName} <= kinds


def _name(certificate: x509.Certificate) -> str:
    return visible(certificate.subject.rfc4514_string() or "without a name")


def _is_of(metadata: Mapping[str, Any]) -> Any:
    def is_of(request: Mapping[str, Any]) -> bool:
        annotations = request["metadata"].get("annotations") or {}
        owners = {one.get("uid") for one in request["metadata"].get("ownerReferences") or ()}
        return annotations.get(NAME_ANNOTATION) == metadata["name"] and metadata.get("uid") in owners

    return is_of


def _revision(request: Mapping[str, Any]) -> int:
    try:
        return int((request["metadata"].get("annotations") or {}).get(REVISION_ANNOTATION, 0))
    except ValueError:
        return 0
