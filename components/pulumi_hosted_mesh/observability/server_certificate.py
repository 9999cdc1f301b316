"""A server's certificate: a DNS name, signed by the mesh's intermediate on the control plane.

istiod signs no DNS name for a workload, so no workload can pose as the collector or the debug proxy.
"""

from __future__ import annotations

from typing import Any, Final

import pulumi
import pulumi_tls as tls

from pulumi_hosted_mesh.boundary.cacerts import ROOT_FILE
from pulumi_hosted_mesh.spec.observability import Observability
from pulumi_hosted_mesh.vocabulary import CACERTS_PRIVATE_KEY

LIFETIME_HOURS: Final = 90 * 24
RENEWAL_HOURS: Final = 30 * 24
USES: Final = ["digital_signature", "key_encipherment", "server_auth"]


def server_files(
    name: str, document: Observability, cacerts: pulumi.Output[Any], *, parent: pulumi.Resource
) -> pulumi.Output[dict[str, str]]:
    """The collector's files, see `signed_files`."""
    return signed_files(f"{name}-collector", str(document.collector.host), "metrics-collector", cacerts, parent=parent)


def signed_files(
    prefix: str, host: str, short_name: str, cacerts: pulumi.Output[Any], *, parent: pulumi.Resource
) -> pulumi.Output[dict[str, str]]:
    """`tls.crt` with its chain, `tls.key` and `ca.crt`, as one secret output.

    prefix: of the resources' names. short_name: common name if the host is too long. cacerts: whole, a secret.
    """
    own = pulumi.ResourceOptions(parent=parent)
    key = tls.PrivateKey(f"{prefix}-key", algorithm="ECDSA", ecdsa_curve="P256", opts=own)
    request = tls.CertRequest(
        f"{prefix}-request",
        private_key_pem=key.private_key_pem_pkcs8,
        dns_names=[host],
        subject={"common_name": host if len(host) <= 64 else short_name},
        opts=own,
    )
    certificate = tls.LocallySignedCert(
        f"{prefix}-certificate",
        cert_request_pem=request.cert_request_pem,
        ca_private_key_pem=cacerts.apply(lambda files: files[CACERTS_PRIVATE_KEY]),
        ca_cert_pem=cacerts.apply(lambda files: files["ca-cert.pem"]),
        allowed_uses=USES,
        validity_period_hours=LIFETIME_HOURS,
        early_renewal_hours=RENEWAL_HOURS,
        opts=own,
    )
    made = pulumi.Output.all(certificate.cert_pem, key.private_key_pem_pkcs8, cacerts)
    files: pulumi.Output[dict[str, str]] = pulumi.Output.secret(made.apply(lambda found: _files(*found)))
    return files


def _files(certificate: str, key: str, cacerts: Any) -> dict[str, str]:
    chain = f"{certificate.strip()}\n{cacerts['cert-chain.pem'].strip()}\n"
    return {"tls.crt": chain, "tls.key": key, "ca.crt": cacerts[ROOT_FILE]}
