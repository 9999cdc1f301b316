"""The mesh's certificate authorities. Their keys exist in the control plane's Pulumi state and cluster, nowhere else.

No `from __future__ import annotations` here: Pulumi's component host reads the annotations as they are.
"""

from typing import Any, NotRequired, TypedDict

import pulumi
import pulumi_tls as tls

from pulumi_hosted_mesh.boundary.arguments import checked
from pulumi_hosted_mesh.boundary.cacerts import cacerts_files
from pulumi_hosted_mesh.boundary.typed_arguments import typed_arguments
from pulumi_hosted_mesh.inputs import TrustArgs
from pulumi_hosted_mesh.spec.fields import pem_request
from pulumi_hosted_mesh.spec.load import read_arguments
from pulumi_hosted_mesh.spec.trust import HOURS_PER_DAY, CertificateAuthority, KeyAlgorithm, Trust
from pulumi_hosted_mesh.trust.names import ORGANIZATION, intermediate_common_name, root_common_name
from pulumi_hosted_mesh.vocabulary import TYPE_MESH_ROOT, TYPE_MESH_TRUST

USES_OF_AN_AUTHORITY = ["cert_signing", "crl_signing", "digital_signature"]
# Below a root come intermediates, and below these nothing but workloads.
ROOT_PATH_LENGTH, INTERMEDIATE_PATH_LENGTH = 1, 0

# A component that is renamed, with an alias, keeps its authorities: with another name in it a certificate would be made
# anew, and what the old root signed would be refused.
NAMED_ONCE = ["subject"]


class MeshRootArgs(TypedDict):
    """A root, and what it signs."""

    requests: NotRequired[dict[str, pulumi.Input[str]]]
    """Certificate signing requests, PEM, by name of the mesh: those of `MeshTrust.request`."""
    trust: NotRequired[TrustArgs]
    """Algorithm and lifetimes; all meshes under one root have the same."""


class MeshRoot(pulumi.ComponentResource):
    """A root certificate authority. It signs the intermediates of one mesh, or of several that are to trust each other.

    The root's key does not leave this component but to sign. Put it into a stack of its own: whoever can read that
    stack's state can sign, and whoever deploys control planes need not.
    Raises: InvalidInputError.
    """

    certificate: pulumi.Output[str]
    """The root's certificate, PEM, public."""
    certificates: pulumi.Output[dict[str, str]]
    """Intermediate certificates by name of the mesh, PEM, public."""

    def __init__(self, name: str, args: MeshRootArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        args = typed_arguments(MeshRootArgs, args, f"MeshRoot {name}")
        trust = read_arguments(Trust, args.get("trust") or {})
        requests = {
            mesh: checked(request, pem_request, f"requests.{mesh}", f"MeshRoot {name}")
            for mesh, request in (args.get("requests") or {}).items()
        }
        super().__init__(TYPE_MESH_ROOT, name, {}, opts)
        key = tls.PrivateKey(
            f"{name}-root-key",
            **_key(trust.algorithm),
            # A plain False would take away what a program protects as a whole.
            opts=pulumi.ResourceOptions(parent=self, protect=trust.root.protect or None),
        )
        root = tls.SelfSignedCert(
            f"{name}-root-certificate",
            private_key_pem=key.private_key_pem_pkcs8,
            is_ca_certificate=True,
            max_path_length=ROOT_PATH_LENGTH,
            allowed_uses=USES_OF_AN_AUTHORITY,
            subject={"organization": ORGANIZATION, "common_name": root_common_name(name)},
            set_subject_key_id=True,
            **_lifetime(trust.root),
            opts=pulumi.ResourceOptions(parent=self, ignore_changes=NAMED_ONCE),
        )
        signed = {
            mesh: tls.LocallySignedCert(
                f"{name}-signs-{mesh}",
                cert_request_pem=request,
                ca_private_key_pem=key.private_key_pem_pkcs8,
                ca_cert_pem=root.cert_pem,
                is_ca_certificate=True,
                max_path_length=INTERMEDIATE_PATH_LENGTH,
                allowed_uses=USES_OF_AN_AUTHORITY,
                set_subject_key_id=True,
                **_lifetime(trust.intermediate),
                opts=pulumi.ResourceOptions(parent=self),
            )
            for mesh, request in requests.items()
        }
        self.certificate = root.cert_pem
        self.certificates = pulumi.Output.all(**{mesh: one.cert_pem for mesh, one in signed.items()})
        self.register_outputs({"certificate": self.certificate, "certificates": self.certificates})


class MeshTrustArgs(TypedDict):
    """An intermediate authority."""

    trust: NotRequired[TrustArgs]
    """Algorithm of the key."""


class MeshTrust(pulumi.ComponentResource):
    """The key of one mesh's intermediate authority, and the request by which a root signs it.

    The key stays when certificates are renewed, so what it has signed stays valid.
    Raises: InvalidInputError.
    """

    request: pulumi.Output[str]
    """Certificate signing request, PEM, public: for a `MeshRoot`."""
    private_key: pulumi.Output[str]
    """The intermediate's key, PEM, PKCS#8. A secret."""

    def __init__(self, name: str, args: MeshTrustArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        args = typed_arguments(MeshTrustArgs, args, f"MeshTrust {name}")
        trust = read_arguments(Trust, args.get("trust") or {})
        super().__init__(TYPE_MESH_TRUST, name, {}, opts)
        own = pulumi.ResourceOptions(parent=self)
        key = tls.PrivateKey(f"{name}-intermediate-key", **_key(trust.algorithm), opts=own)
        request = tls.CertRequest(
            f"{name}-intermediate-request",
            private_key_pem=key.private_key_pem_pkcs8,
            subject={"organization": ORGANIZATION, "common_name": intermediate_common_name(name)},
            opts=pulumi.ResourceOptions(parent=self, ignore_changes=NAMED_ONCE),
        )
        self.request = request.cert_request_pem
        self.private_key = pulumi.Output.secret(key.private_key_pem_pkcs8)
        self.register_outputs({"request": self.request, "private_key": self.private_key})


def cacerts(
    certificate: pulumi.Input[str], key: pulumi.Input[str], root_certificate: pulumi.Input[str]
) -> pulumi.Output[dict[str, str]]:
    """The files of the Secret `cacerts`, as one secret output: an intermediate, its key, and the root above it.

    Only the key is confidential, but the files travel together and so the whole is secret.
    """
    pems = pulumi.Output.all(certificate, key, root_certificate)
    files: pulumi.Output[dict[str, str]] = pulumi.Output.secret(pems.apply(lambda found: cacerts_files(*found)))
    return files


def _key(algorithm: KeyAlgorithm) -> dict[str, Any]:
    kind, size = algorithm.value.split("-")
    if kind == "ecdsa":
        return {"algorithm": "ECDSA", "ecdsa_curve": size.upper()}
    return {"algorithm": "RSA", "rsa_bits": int(size)}


def _lifetime(authority: CertificateAuthority) -> dict[str, Any]:
    return {
        "validity_period_hours": authority.lifetime_days * HOURS_PER_DAY,
        "early_renewal_hours": authority.renew_before_days * HOURS_PER_DAY,
    }
