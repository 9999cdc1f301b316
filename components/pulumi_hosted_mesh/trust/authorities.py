"""The mesh's certificate authorities. Their keys exist only in the control plane's Pulumi state and cluster.

No `from __future__ import annotations` here: Pulumi's component host reads the annotations as they are.
"""

from functools import partial
from typing import Any, NamedTuple, NotRequired, TypedDict

import pulumi
import pulumi_tls as tls

from pulumi_hosted_mesh._generated.inputs import NameConstraintsArgs, TrustArgs
from pulumi_hosted_mesh.boundary.arguments import checked, when_known
from pulumi_hosted_mesh.boundary.cacerts import cacerts_files
from pulumi_hosted_mesh.boundary.name_constraints import constrained
from pulumi_hosted_mesh.boundary.typed_arguments import typed_arguments
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.fields import pem_request
from pulumi_hosted_mesh.spec.load import read_arguments
from pulumi_hosted_mesh.spec.name_lengths import INTERMEDIATE_SUFFIX, ROOT_SUFFIX
from pulumi_hosted_mesh.spec.trust import (
    FIRST_ROOT,
    HOURS_PER_DAY,
    CertificateAuthority,
    KeyAlgorithm,
    NameConstraints,
    RootState,
    Trust,
)
from pulumi_hosted_mesh.trust.names import (
    ORGANIZATION,
    intermediate_common_name,
    require_short_common_name,
    root_common_name,
)
from pulumi_hosted_mesh.vocabulary import TYPE_MESH_ROOT, TYPE_MESH_TRUST

USES_OF_AN_AUTHORITY = ["cert_signing", "crl_signing", "digital_signature"]
# A root signs intermediates, and an intermediate signs workloads only.
ROOT_PATH_LENGTH, INTERMEDIATE_PATH_LENGTH = 1, 0

TRUSTED = (RootState.SIGNING, RootState.TRUSTED)

# A component that is renamed, with an alias, keeps its authorities: a new name in a certificate would replace it, and
# peers would reject certificates of the old root.
NAMED_ONCE = ["subject"]


class MeshRootArgs(TypedDict):
    """A root, and the requests that it signs."""

    requests: NotRequired[dict[str, pulumi.Input[str]]]
    """Certificate signing requests, PEM, by name of the mesh (`MeshTrust.request`)."""
    name_constraints: NotRequired[dict[str, pulumi.Input[NameConstraintsArgs]]]
    """The only names that an intermediate may sign, by name of the mesh (`name_constraints`). Without them it may sign
    for every mesh under the root."""
    trust: NotRequired[TrustArgs]
    """Algorithm and lifetimes, the same for all meshes under one root."""


class MeshRoot(pulumi.ComponentResource):
    """A root certificate authority. It signs the intermediates of one mesh, or of several meshes that trust each other.

    The root's key never leaves this component. Put it into its own stack: every reader of that stack's state can sign,
    and deployers of control planes do not need it.
    Raises: InvalidInputError.
    """

    certificate: pulumi.Output[str]
    """The root's certificate, PEM, public; during a turnover the certificates of all trusted roots."""
    certificates: pulumi.Output[dict[str, str]]
    """Intermediate certificates by name of the mesh, PEM, public."""

    def __init__(self, name: str, args: MeshRootArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        args = typed_arguments(MeshRootArgs, args, f"MeshRoot {name}")
        trust = read_arguments(Trust, args.get("trust") or {})
        requests = {
            mesh: checked(request, pem_request, f"requests.{mesh}", f"MeshRoot {name}")
            for mesh, request in (args.get("requests") or {}).items()
        }
        given = {
            mesh: when_known(names, partial(_constraints, mesh=mesh, source=f"MeshRoot {name}"))
            for mesh, names in (args.get("name_constraints") or {}).items()
        }
        if unknown := sorted(given.keys() - requests.keys()):
            fix = "Correct the name, add the request, or leave it out"
            problems = [Problem(f"name_constraints.{mesh}", "is of no mesh in requests", fix) for mesh in unknown]
            raise InvalidInputError(problems, f"MeshRoot {name}")
        for one in trust.root_states:
            require_short_common_name("MeshRoot", _called(name, one), ROOT_SUFFIX)
        super().__init__(TYPE_MESH_ROOT, name, {}, opts)
        roots = {one: _root(name, one, trust, self) for one in trust.root_states}
        (signing,) = (roots[one] for one, state in trust.root_states.items() if state is RootState.SIGNING)
        signed = {
            mesh: tls.LocallySignedCert(
                f"{name}-signs-{mesh}",
                cert_request_pem=request,
                ca_private_key_pem=signing.key.private_key_pem_pkcs8,
                ca_cert_pem=signing.certificate.cert_pem,
                is_ca_certificate=True,
                max_path_length=INTERMEDIATE_PATH_LENGTH,
                allowed_uses=USES_OF_AN_AUTHORITY,
                set_subject_key_id=True,
                **_lifetime(trust.intermediate),
                opts=pulumi.ResourceOptions(parent=self),
            )
            for mesh, request in requests.items()
        }
        trusted = [roots[one].certificate.cert_pem for one, state in trust.root_states.items() if state in TRUSTED]
        self.certificate = pulumi.Output.concat(*trusted) if len(trusted) > 1 else trusted[0]
        certificates = {
            mesh: _constrained(one.cert_pem, signing.key, given[mesh]) if mesh in given else one.cert_pem
            for mesh, one in signed.items()
        }
        self.certificates = pulumi.Output.all(**certificates)
        self.register_outputs({"certificate": self.certificate, "certificates": self.certificates})


def _constraints(given: Any, mesh: str, source: str) -> NameConstraints:
    try:
        return read_arguments(NameConstraints, given, source)
    except InvalidInputError as error:
        at = f"name_constraints.{mesh}"
        problems = [Problem(f"{at}.{one.field}", one.rule, one.fix) for one in error.problems]
        raise InvalidInputError(problems, source) from None


def _constrained(
    certificate: pulumi.Output[str], key: tls.PrivateKey, given: pulumi.Input[NameConstraints]
) -> pulumi.Output[str]:
    """Public, although the root's key makes its signature."""
    parts = pulumi.Output.all(certificate, key.private_key_pem_pkcs8, given)
    return pulumi.Output.unsecret(parts.apply(lambda found: constrained(*found)))


class _Root(NamedTuple):
    key: tls.PrivateKey
    certificate: tls.SelfSignedCert


def _called(name: str, root: str) -> str:
    """The name in a root's resources and certificate. The first root has that of a mesh without a list."""
    return name if root == FIRST_ROOT else f"{name}-{root}"


def _root(name: str, root: str, trust: Trust, parent: pulumi.Resource) -> _Root:
    """A root's key and certificate. root: its name in the document."""
    called = _called(name, root)
    key = tls.PrivateKey(
        f"{called}-root-key",
        **_key(trust.algorithm),
        # A plain False would override the protection that a program sets on the component.
        opts=pulumi.ResourceOptions(parent=parent, protect=trust.root.protect or None),
    )
    certificate = tls.SelfSignedCert(
        f"{called}-root-certificate",
        private_key_pem=key.private_key_pem_pkcs8,
        is_ca_certificate=True,
        max_path_length=ROOT_PATH_LENGTH,
        allowed_uses=USES_OF_AN_AUTHORITY,
        subject={"organization": ORGANIZATION, "common_name": root_common_name(called)},
        set_subject_key_id=True,
        **_lifetime(trust.root),
        opts=pulumi.ResourceOptions(parent=parent, ignore_changes=NAMED_ONCE),
    )
    return _Root(key, certificate)


class MeshTrustArgs(TypedDict):
    """An intermediate authority."""

    trust: NotRequired[TrustArgs]
    """Algorithm of the key."""


class MeshTrust(pulumi.ComponentResource):
    """The key of one mesh's intermediate authority, and its signing request for a root.

    The key stays when its certificate is renewed, so workloads' certificates stay valid.
    Raises: InvalidInputError.
    """

    request: pulumi.Output[str]
    """Certificate signing request, PEM, public: for a `MeshRoot`."""
    private_key: pulumi.Output[str]
    """The intermediate's key, PEM, PKCS#8. A secret."""

    def __init__(self, name: str, args: MeshTrustArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        args = typed_arguments(MeshTrustArgs, args, f"MeshTrust {name}")
        trust = read_arguments(Trust, args.get("trust") or {})
        require_short_common_name("MeshTrust", name, INTERMEDIATE_SUFFIX)
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
    """The files of the Secret `cacerts`, as one secret output: an intermediate, its key, and its root.

    Only the key is confidential, but the files are one output, so the whole is secret.
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
