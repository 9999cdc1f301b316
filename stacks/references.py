"""Outputs of other stacks, by the names in this stack's configuration. What is secret there is secret here."""

from __future__ import annotations

from typing import Any

import pulumi
from pulumi_hosted_mesh.boundary.credentials import CaCerts, IstiodCredential
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.stack import StackSettings


def cacerts(settings: StackSettings) -> CaCerts:
    """What istiod signs with, from the stack `trust`."""
    trust = _stack(settings.references.trust, "references.trust")
    return CaCerts.of(trust.require_output("cacerts"), trust.require_output("root_certificate"))


def credential(settings: StackSettings) -> IstiodCredential:
    """istiod's kubeconfig, from the stack `access`."""
    return IstiodCredential.of(_stack(settings.references.access, "references.access").require_output("kubeconfig"))


def root_certificate(settings: StackSettings) -> pulumi.Input[str]:
    """The public root certificate: from the configuration, or else from the stack `trust`."""
    if settings.root_certificate:
        return settings.root_certificate
    output: pulumi.Output[Any] = _stack(settings.references.trust, "rootCertificate").require_output("root_certificate")
    return output


def _stack(name: str | None, field: str) -> pulumi.StackReference:
    if name is None:
        fix = "Name the stack as organization/project/stack under hosted-mesh:references, or see the stack's examples"
        raise InvalidInputError([Problem(field, "is required by this stack", fix)], "the stack's configuration")
    return pulumi.StackReference(name)
