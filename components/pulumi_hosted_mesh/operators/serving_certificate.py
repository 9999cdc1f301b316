"""Certificates of packageserver and the tunnel, each signed by a CA of its own. CAs' keys are in the stack's state,
and in no cluster."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any, Final, Self

import pulumi
import pulumi_tls as tls

HOURS_PER_DAY: Final = 24
_KEY: Final[dict[str, Any]] = {"algorithm": "ECDSA", "ecdsa_curve": "P256"}
_AUTHORITY: Final[dict[str, Any]] = {
    "validity_period_hours": 3650 * HOURS_PER_DAY,
    "early_renewal_hours": 400 * HOURS_PER_DAY,
}
_LEAF: Final[dict[str, Any]] = {"validity_period_hours": 365 * HOURS_PER_DAY, "early_renewal_hours": 60 * HOURS_PER_DAY}


@dataclass(frozen=True)
class ServingCertificate:
    """certificate, private_key: PEM, the key a secret. authority: the CA's certificate, PEM, public."""

    certificate: pulumi.Output[str]
    private_key: pulumi.Output[str]
    authority: pulumi.Output[str]

    @property
    def bundle(self) -> pulumi.Output[str]:
        """The CA's certificate in base64."""
        return self.authority.apply(lambda pem: base64.b64encode(pem.encode()).decode())

    @classmethod
    def make(cls, prefix: str, served: str, host: str, parent: pulumi.Resource) -> Self:
        """Creates CA and certificate. prefix: of the resources' names. served: the server. host: its name."""
        own = pulumi.ResourceOptions(parent=parent)
        authority_key = tls.PrivateKey(f"{prefix}-authority-key", **_KEY, opts=own)
        authority = tls.SelfSignedCert(
            f"{prefix}-authority",
            private_key_pem=authority_key.private_key_pem_pkcs8,
            is_ca_certificate=True,
            max_path_length=0,
            allowed_uses=["cert_signing", "digital_signature"],
            subject={"common_name": f"{served}-ca"},
            set_subject_key_id=True,
            **_AUTHORITY,
            opts=own,
        )
        key = tls.PrivateKey(f"{prefix}-key", **_KEY, opts=own)
        request = tls.CertRequest(
            f"{prefix}-request",
            private_key_pem=key.private_key_pem_pkcs8,
            subject={"common_name": served},
            dns_names=[host],
            opts=own,
        )
        signed = tls.LocallySignedCert(
            f"{prefix}-certificate",
            cert_request_pem=request.cert_request_pem,
            ca_private_key_pem=authority_key.private_key_pem_pkcs8,
            ca_cert_pem=authority.cert_pem,
            allowed_uses=["server_auth", "digital_signature"],
            **_LEAF,
            opts=own,
        )
        return cls(signed.cert_pem, pulumi.Output.secret(key.private_key_pem_pkcs8), authority.cert_pem)
