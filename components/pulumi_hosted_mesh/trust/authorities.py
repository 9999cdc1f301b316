"""The mesh's certificate authorities. Their keys exist in the provider's Pulumi state and cluster, nowhere else."""

from __future__ import annotations

from typing import TypedDict

import pulumi
import pulumi_tls as tls

from pulumi_hosted_mesh.boundary.credentials import CaCerts
from pulumi_hosted_mesh.spec.trust import HOURS_PER_DAY, CertificateAuthority, KeyAlgorithm, Trust
from pulumi_hosted_mesh.trust.names import ORGANIZATION, intermediate_common_name, root_common_name
from pulumi_hosted_mesh.vocabulary import CACERTS_PRIVATE_KEY, TYPE_MESH_ROOT, TYPE_MESH_TRUST

USES_OF_AN_AUTHORITY = ["cert_signing", "crl_signing", "digital_signature"]


class MeshRoot(pulumi.ComponentResource):
    """A root certificate authority. It signs the intermediates of one mesh, or of several that are to trust each other.

    Outputs: `certificate` (PEM, public). The key does not leave this component but to sign.
    """

    certificate: pulumi.Output[str]

    def __init__(self, name: str, *, trust: Trust, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(TYPE_MESH_ROOT, name, {}, opts)
        own = pulumi.ResourceOptions(parent=self)
        self.key = tls.PrivateKey(f"{name}-root-key", **_key(trust.algorithm), opts=own)
        self._certificate = tls.SelfSignedCert(
            f"{name}-root-certificate",
            private_key_pem=self.key.private_key_pem_pkcs8,
            is_ca_certificate=True,
            allowed_uses=USES_OF_AN_AUTHORITY,
            subject={"organization": ORGANIZATION, "common_name": root_common_name(name)},
            set_subject_key_id=True,
            **_lifetime(trust.root),
            opts=own,
        )
        self.certificate = self._certificate.cert_pem
        self.register_outputs({"certificate": self.certificate})


class MeshTrust(pulumi.ComponentResource):
    """The trust of one mesh: its intermediate authority under a root, and what istiod and proxies need of both.

    name: name of the mesh.
    trust: algorithm and lifetimes.
    root: the root to sign with; by default one of the mesh's own.
    Outputs: `root_certificate` (PEM, public: proxies' anchor and the webhooks' CA bundle), `cacerts` (secret).

    A renewal happens in the `pulumi up` that runs inside the renewal window. The keys stay, so what they have signed
    stays valid; istiod reads a renewed `cacerts` without a restart (pilot/pkg/bootstrap watches /etc/cacerts).
    """

    root_certificate: pulumi.Output[str]
    cacerts: CaCerts

    def __init__(
        self, name: str, *, trust: Trust, root: MeshRoot | None = None, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(TYPE_MESH_TRUST, name, {}, opts)
        own = pulumi.ResourceOptions(parent=self)
        root = root or MeshRoot(name, trust=trust, opts=own)
        key = tls.PrivateKey(f"{name}-intermediate-key", **_key(trust.algorithm), opts=own)
        request = tls.CertRequest(
            f"{name}-intermediate-request",
            private_key_pem=key.private_key_pem_pkcs8,
            subject={"organization": ORGANIZATION, "common_name": intermediate_common_name(name)},
            opts=own,
        )
        certificate = tls.LocallySignedCert(
            f"{name}-intermediate-certificate",
            cert_request_pem=request.cert_request_pem,
            ca_private_key_pem=root.key.private_key_pem_pkcs8,
            ca_cert_pem=root.certificate,
            is_ca_certificate=True,
            allowed_uses=USES_OF_AN_AUTHORITY,
            set_subject_key_id=True,
            **_lifetime(trust.intermediate),
            opts=own,
        )
        self.root_certificate = root.certificate
        self.cacerts = CaCerts.of(
            pulumi.Output.all(certificate.cert_pem, key.private_key_pem_pkcs8, root.certificate).apply(
                lambda pems: cacerts_files(*pems)
            ),
            root.certificate,
        )
        self.register_outputs({"root_certificate": self.root_certificate, "cacerts": self.cacerts.files})


def cacerts_files(certificate: str, key: str, root_certificate: str) -> dict[str, str]:
    """The files of the Secret `cacerts` by the names that istiod looks for (security/pkg/pki/ca)."""
    return {
        "ca-cert.pem": certificate,
        CACERTS_PRIVATE_KEY: key,
        "root-cert.pem": root_certificate,
        # The intermediate alone: istiod appends it to each certificate that it issues, and the root is known anyway.
        "cert-chain.pem": certificate,
    }


class KeyArgs(TypedDict, total=False):
    algorithm: str
    ecdsa_curve: str
    rsa_bits: int


class LifetimeArgs(TypedDict):
    validity_period_hours: int
    early_renewal_hours: int


def _key(algorithm: KeyAlgorithm) -> KeyArgs:
    kind, size = algorithm.value.split("-")
    if kind == "ecdsa":
        return {"algorithm": "ECDSA", "ecdsa_curve": size.upper()}
    return {"algorithm": "RSA", "rsa_bits": int(size)}


def _lifetime(authority: CertificateAuthority) -> LifetimeArgs:
    return {
        "validity_period_hours": authority.lifetime_days * HOURS_PER_DAY,
        "early_renewal_hours": authority.renew_before_days * HOURS_PER_DAY,
    }
