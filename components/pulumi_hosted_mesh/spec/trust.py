"""The `trust` part of the document: who signs, for how long, and when certificates are renewed."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.fields import Model

HOURS_PER_DAY = 24


class KeyAlgorithm(StrEnum):
    """Algorithm of the root's and the intermediate's key."""

    ECDSA_P256 = "ecdsa-p256"
    ECDSA_P384 = "ecdsa-p384"
    RSA_3072 = "rsa-3072"
    RSA_4096 = "rsa-4096"


class AuthorityManagement(StrEnum):
    """Who makes the mesh's intermediate authority."""

    OWN = "own"
    BROUGHT = "brought"
    UNMANAGED = "unmanaged"


Lifetime = Annotated[int, Field(strict=True, ge=1, le=36500)]
RenewBefore = Annotated[int, Field(strict=True, ge=1)]


class CertificateAuthority(Model):
    """One certificate authority's certificate."""

    lifetime_days: Lifetime
    """How long a certificate is valid, in days."""
    renew_before_days: RenewBefore
    """How long before its end the next `pulumi up` renews it, in days. The key stays the same."""

    @model_validator(mode="after")
    def _renewed_within_lifetime(self) -> Self:
        if self.renew_before_days >= self.lifetime_days:
            raise RuleBrokenError(
                "renewBeforeDays must be less than lifetimeDays, or each run renews the certificate again",
                "Lower renewBeforeDays or raise lifetimeDays",
            )
        return self


class Root(CertificateAuthority):
    """The root's certificate."""

    lifetime_days: Lifetime = 3650
    """How long a certificate is valid, in days."""
    renew_before_days: RenewBefore = 400
    """How long before its end the next `pulumi up` renews it, in days. The key stays the same."""
    protect: Annotated[bool, Field(strict=True)] = True
    """True lets Pulumi refuse to delete the root's key. Set false, and run `pulumi up`, before `pulumi destroy`."""


class Intermediate(CertificateAuthority):
    """The intermediate's certificate."""

    lifetime_days: Lifetime = 365
    """How long a certificate is valid, in days."""
    renew_before_days: RenewBefore = 60
    """How long before its end the next `pulumi up` renews it, in days. The key stays the same."""


class Trust(Model):
    """The mesh's certificate authorities. No key of theirs reaches a data plane."""

    management: AuthorityManagement = AuthorityManagement.OWN
    """`own`: this program makes the intermediate's key, and a root signs it. `brought`: the four files of `cacerts` are
    an input, from a vault for one. `unmanaged`: somebody else, for example cert-manager, makes the Secret `cacerts` in
    the mesh's namespace, and no key of an authority is in Pulumi's state."""
    algorithm: KeyAlgorithm = KeyAlgorithm.ECDSA_P256
    """Algorithm of both keys. A change replaces the root's key without overlap, see docs/components/trust.md."""
    root: Root = Root()
    """The root: signs intermediates only. Its certificate is public and is the webhooks' CA bundle."""
    intermediate: Intermediate = Intermediate()
    """The mesh's own authority, which istiod holds as `cacerts`."""
    workload_lifetime_hours: Annotated[int, Field(strict=True, ge=1, le=24 * 90)] = 24
    """How long a workload's certificate is valid, in hours. Proxies renew theirs at half of it."""

    @model_validator(mode="after")
    def _no_certificate_outlives_its_signer(self) -> Self:
        if self.intermediate.lifetime_days > self.root.renew_before_days:
            raise RuleBrokenError(
                "intermediate.lifetimeDays must be at most root.renewBeforeDays, or an intermediate outlives its root",
                "Lower intermediate.lifetimeDays or raise root.renewBeforeDays",
            )
        if self.workload_lifetime_hours > self.intermediate.renew_before_days * HOURS_PER_DAY:
            raise RuleBrokenError(
                "workloadLifetimeHours must fit into intermediate.renewBeforeDays, or a workload's certificate "
                "outlives the intermediate that signed it",
                "Lower workloadLifetimeHours or raise intermediate.renewBeforeDays",
            )
        return self
