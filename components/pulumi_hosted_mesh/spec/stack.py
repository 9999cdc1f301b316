"""What a stack's configuration says beside the mesh: which part of it to build, and where the rest comes from."""

from __future__ import annotations

from enum import StrEnum

from pulumi_hosted_mesh.spec.fields import Model, PemCertificate, Text


class StackKind(StrEnum):
    """One stack per mesh and role; `all-in-one` is all of them in one."""

    ALL_IN_ONE = "all-in-one"
    TRUST = "trust"
    ACCESS = "access"
    CONTROL_PLANE = "control-plane"
    DATA_PLANE = "data-plane"


class References(Model):
    """Names of the stacks, `organization/project/stack`, whose outputs this one reads."""

    trust: Text | None = None
    """The stack of kind `trust`: for `control-plane` (cacerts) and `data-plane` (public root certificate)."""
    access: Text | None = None
    """The stack of kind `access`: for `control-plane`."""


class StackSettings(Model):
    """The configuration keys of this program, `hosted-mesh:<field>`, but for the mesh itself."""

    stack: StackKind
    """What this stack builds."""
    references: References = References()
    """Where a stack that is not all-in-one gets what others made."""
    root_certificate: PemCertificate | None = None
    """The mesh's public root certificate, PEM: lets the `data-plane` stack run with no access to another stack."""
