"""The `trust` part of the document: certificate authorities, lifetimes and renewal."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.dns_fields import NOT_EMPTY
from pulumi_hosted_mesh.spec.fields import DnsLabel, Domain, Model, QualifiedName, Setter, Switch, Text
from pulumi_hosted_mesh.spec.reasons import Reason

HOURS_PER_DAY = 24
CERT_MANAGER_GROUP: Final = "cert-manager.io"
CLUSTER_ISSUER: Final = "ClusterIssuer"
KIND: Final = r"^[A-Z][A-Za-z0-9]{0,62}$"


class KeyAlgorithm(StrEnum):
    """Algorithm of the root's and the intermediate's key."""

    ECDSA_P256 = "ecdsa-p256"
    ECDSA_P384 = "ecdsa-p384"
    RSA_3072 = "rsa-3072"
    RSA_4096 = "rsa-4096"


class AuthorityManagement(StrEnum):
    """The source of the mesh's intermediate authority."""

    OWN = "own"
    BROUGHT = "brought"
    UNMANAGED = "unmanaged"
    CERT_MANAGER = "cert-manager"

    @property
    def has_outside_key(self) -> bool:
        """Whether another program makes the Secret `cacerts`, so that Pulumi's state has no key of an authority."""
        return self in (AuthorityManagement.UNMANAGED, AuthorityManagement.CERT_MANAGER)


class RootState(StrEnum):
    """A root's part in a turnover."""

    TRUSTED = "trusted"
    SIGNING = "signing"
    RETIRED = "retired"


FIRST_ROOT: Final = "first"
"""Name of the root that a mesh without a list of roots has."""
Lifetime = Annotated[int, Field(strict=True, ge=1, le=36500)]
RenewBefore = Annotated[int, Field(strict=True, ge=1)]


class CertificateAuthority(Model):
    """One certificate authority's certificate."""

    lifetime_days: Lifetime
    """Lifetime of the certificate, in days."""
    renew_before_days: RenewBefore
    """Days before its end from which `pulumi up` renews it. The key stays the same."""

    @model_validator(mode="after")
    def _renewed_within_lifetime(self) -> Self:
        if self.renew_before_days >= self.lifetime_days:
            raise RuleBrokenError(
                "renewBeforeDays must be less than lifetimeDays, or each run renews the certificate",
                "Lower renewBeforeDays or raise lifetimeDays",
            )
        return self


class Root(CertificateAuthority):
    """The root's certificate."""

    lifetime_days: Lifetime = 3650
    """Lifetime of the certificate, in days."""
    renew_before_days: RenewBefore = 400
    """Days before its end from which `pulumi up` renews it. The key stays the same."""
    protect: Switch = True
    """True protects the root's key from deletion. Before `pulumi destroy`, set false and run `pulumi up`."""


class Intermediate(CertificateAuthority):
    """The intermediate's certificate."""

    lifetime_days: Lifetime = 365
    """Lifetime of the certificate, in days."""
    renew_before_days: RenewBefore = 60
    """Days before its end from which `pulumi up` renews it. The key stays the same."""


class Issuer(Model):
    """cert-manager's issuer of the mesh's intermediate, on the control plane's cluster."""

    name: QualifiedName
    """Name of the issuer."""
    kind: Annotated[Text, Field(pattern=KIND)] = CLUSTER_ISSUER
    """`ClusterIssuer`, `Issuer`, or the kind of an external issuer. An `Issuer` is in the mesh's namespace there."""
    group: QualifiedName = CERT_MANAGER_GROUP
    """API group of the issuer; another one for an external issuer, such as one of a cloud's KMS."""
    name_constraints: Switch = False
    """True requests critical name constraints: the trust domain, istiod's hosts and the mesh's namespace. cert-manager
    requires its feature gate `NameConstraints` for them. A certificate that lacks them is rejected."""


class NameConstraints(Model):
    """The names that a mesh's intermediate may sign (X.509 name constraints, RFC 5280): public."""

    setter = Setter.OPERATOR

    uri_domains: Annotated[tuple[Domain, ...], NOT_EMPTY]
    """Trust domains of workloads' identities, each exact."""
    dns_domains: Annotated[tuple[Domain, ...], NOT_EMPTY]
    """DNS names of istiod and of other servers of the mesh on the control plane, each with its subdomains."""


class Trust(Model):
    """The mesh's certificate authorities. Their keys never reach a data plane."""

    management: AuthorityManagement = AuthorityManagement.OWN
    """`own`: this program makes the intermediate's key, and a root signs it. `brought`: the four files of `cacerts` are
    an input, for example from a vault. `unmanaged`: another program, for example cert-manager, makes the Secret
    `cacerts` in the mesh's namespace. `cert-manager`: this program makes a Certificate there, and cert-manager makes
    the key and the Secret. With the last two Pulumi's state has no key of an authority."""
    issuer: Issuer | None = None
    """cert-manager's issuer, with `management: cert-manager`."""
    algorithm: KeyAlgorithm = KeyAlgorithm.ECDSA_P256
    """Algorithm of both keys. A change replaces the root's key without overlap, see docs/components/trust.md."""
    root: Root = Root()
    """The root; it signs intermediates only. Its certificate is public, and is the webhooks' CA bundle."""
    roots: dict[DnsLabel, RootState] = {}
    """The roots by name, for a turnover: `first` is the root of a mesh without this field. `signing` signs
    intermediates, exactly one; proxies and API servers trust it and those that are `trusted`; `retired` keeps the key
    only. Each step waits for the one before, see docs/components/trust.md."""
    go_on: Reason | None = None
    """The reason to take a step of `roots` although not all proxies are known to have the one before, such as
    `the data plane is gone for good`. Remove it after the step."""
    intermediate: Intermediate = Intermediate()
    """The mesh's own authority, istiod's Secret `cacerts`."""
    dns_names: tuple[Domain, ...] = ()
    """Further DNS names that the intermediate may sign where it has name constraints: the hosts of a collector and a
    debug proxy. istiod's own are there already."""
    workload_lifetime_hours: Annotated[int, Field(strict=True, ge=1, le=24 * 90)] = 24
    """Lifetime of a workload's certificate, in hours. Proxies renew it after half of this time."""

    @property
    def root_states(self) -> dict[str, RootState]:
        """The roots by name, in the order of their names, so that a step without another root changes no bundle."""
        return dict(sorted(self.roots.items())) or {FIRST_ROOT: RootState.SIGNING}

    @model_validator(mode="after")
    def _one_root_signs(self) -> Self:
        signing = [name for name, state in self.roots.items() if state is RootState.SIGNING]
        if self.roots and len(signing) != 1:
            rule = f"roots has {len(signing)} roots that are signing, but exactly one signs"
            raise RuleBrokenError(rule, "Set one to signing, and the others to trusted or retired")
        if self.roots and self.management is not AuthorityManagement.OWN:
            rule = f"roots are of this program, but management is {self.management.value}"
            raise RuleBrokenError(rule, "Leave roots out: write several certificates into the given root-cert.pem")
        return self

    @model_validator(mode="after")
    def _an_issuer_is_cert_managers(self) -> Self:
        if (self.issuer is not None) != (self.management is AuthorityManagement.CERT_MANAGER):
            if self.issuer is None:
                raise RuleBrokenError("issuer is required with management: cert-manager", "Add issuer.name")
            rule = f"issuer is set, but management is {self.management.value}"
            raise RuleBrokenError(rule, "Set management: cert-manager, or leave issuer out")
        return self

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
