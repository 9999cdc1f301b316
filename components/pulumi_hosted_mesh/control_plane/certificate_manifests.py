"""cert-manager's Certificate of a mesh's intermediate, and the verdict on what was issued. Pure."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm

from pulumi_hosted_mesh.boundary.name_constraints import name_constraints
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
ISSUING: Final = "Issuing"
USAGES: Final = ("cert sign", "crl sign", "digital signature")
CORRECT: Final = "Correct the issuer"


class RefusedCertificateError(RuleBrokenError):
    """The issuer refuses, or its certificate cannot be the mesh's. rule and fix are of `trust.issuer`.

    request: uid of the CertificateRequest. is_issued: whether the Secret has the refused certificate.
    """

    request: str = ""
    is_issued: bool = False

    def of(self, request: Mapping[str, Any], *, is_issued: bool) -> RefusedCertificateError:
        """The same refusal with its request."""
        self.request, self.is_issued = uid_of(request), is_issued
        return self


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
        spec["nameConstraints"] = {
            "critical": True,
            "permitted": name_constraints(mesh).model_dump(mode="json", by_alias=True),
        }
    return spec


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
    current = int(status.get("revision") or 0)
    ready = condition(certificate, "Ready")
    if int(ready.get("observedGeneration") or 0) < int(metadata.get("generation") or 0):
        # The requests are of the spec before.
        return visible(str(ready.get("message") or "the Certificate has no condition Ready yet"))
    following = own[-1] if own and _revision(own[-1]) > current else None
    if ready.get("status") == "True":
        issued = [one for one in own if _revision(one) == current]
        if not issued:
            return "the CertificateRequest of its revision does not exist"
        try:
            _require(issued[-1], root, issuer)
        except RefusedCertificateError as refused:
            if following is None:
                raise refused.of(issued[-1], is_issued=True) from None
            return _pending(certificate, following, issuer, is_issued=True)
        return None
    if following is not None:
        return _pending(certificate, following, issuer, is_issued=False)
    return visible(str(ready.get("message") or "the Certificate is not ready"))


def _pending(certificate: Mapping[str, Any], request: Mapping[str, Any], issuer: Issuer, *, is_issued: bool) -> str:
    """The reason of a request that is not issued. Raises: RefusedCertificateError if it never will be."""
    ready, denied = condition(request, "Ready"), condition(request, "Denied")
    message = visible(str(denied.get("message") or ready.get("message") or "the issuer has not answered"))
    if denied.get("status") == "True" or ready.get("reason") in ("Failed", "Denied"):
        raise RefusedCertificateError(f"{issuer.kind} {issuer.name} refuses: {message}", CORRECT).of(
            request, is_issued=is_issued
        )
    # A certificate that cert-manager does not write into the Secret: ended already, or for another key.
    issuing = condition(certificate, ISSUING)
    if ready.get("status") == "True" and issuing.get("status") == "False":
        rule = f"cert-manager rejects the certificate of {issuer.kind} {issuer.name}: "
        rule += visible(str(issuing.get("message") or "it gives no reason"))
        raise RefusedCertificateError(rule, CORRECT).of(request, is_issued=is_issued)
    return message


def renewed(certificate: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """A merge patch of the Certificate's status as of `cmctl renew`: cert-manager sends a new request at once.

    Without it cert-manager waits for an hour after a failed request, for up to 32 after more
    (`shouldBackoffReissuingOnFailure`, pkg/controller/certificates/trigger), and never repeats one that succeeded.
    now: by the cluster's clock. cert-manager drops failed requests from before the condition's time.
    """
    metadata, conditions = certificate["metadata"], (certificate.get("status") or {}).get("conditions") or ()
    issuing = {
        "type": ISSUING,
        "status": "True",
        "reason": "ManuallyTriggered",
        "message": f"{PACKAGE} repeats a refused request",
        "observedGeneration": metadata.get("generation"),
        "lastTransitionTime": f"{now.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
    }
    kept = [one for one in conditions if one.get("type") != ISSUING]
    # With the version, a change of cert-manager's in between makes a conflict.
    version = {"resourceVersion": metadata.get("resourceVersion")}
    return {"metadata": version, "status": {"conditions": [*kept, issuing]}}


def _require(request: Mapping[str, Any], root: str, issuer: Issuer) -> None:
    """Raises RefusedCertificateError unless the issued certificate can be the mesh's authority under the root."""
    called, status = f"{issuer.kind} {issuer.name}", request.get("status") or {}
    try:
        own, *between = _certificates(status.get("certificate"))
        roots = _certificates(root)
        given = _certificates(status["ca"]) if status.get("ca") else []
    except (ValueError, UnsupportedAlgorithm):
        raise RefusedCertificateError(f"{called} issued a certificate that cannot be read", CORRECT) from None
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
        raise RefusedCertificateError(f"{called} issued a certificate that has ended", CORRECT)


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


def uid_of(found: Mapping[str, Any]) -> str:
    """An object's uid; empty without one."""
    return str(found["metadata"].get("uid") or "")


def _revision(request: Mapping[str, Any]) -> int:
    try:
        return int((request["metadata"].get("annotations") or {}).get(REVISION_ANNOTATION, 0))
    except ValueError:
        return 0
