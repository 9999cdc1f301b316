"""Where a mesh's intermediate authority comes from, by `trust.management`: the one place that knows the three ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from pulumi_hosted_mesh.boundary.arguments import checked, when_known
from pulumi_hosted_mesh.boundary.cacerts import ROOT_FILE, whole_cacerts
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.fields import pem_certificate
from pulumi_hosted_mesh.spec.trust import AuthorityManagement, Trust


@dataclass(frozen=True)
class Authority:
    """What istiod signs with, and what it is verified by.

    files: an Output of those of the Secret `cacerts`, a secret; None where somebody else makes that Secret.
    root_certificate: PEM, public.
    """

    files: Any
    root_certificate: pulumi.Input[str]


def authority(
    trust: Trust,
    own: Callable[[], Authority],
    *,
    brought: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None,
    root_certificate: pulumi.Input[str] | None,
    source: str,
) -> Authority:
    """The mesh's authority.

    own: makes it, or finds what others made, where this program manages it. brought: the files of `cacerts`, where an
    authority is brought. root_certificate: PEM, where others manage all of it. source: what the errors are about.
    Raises: InvalidInputError if what `trust.management` needs is not given, or an authority is brought that it does not
    take; never with a value in it.
    """
    if brought is not None and trust.management is not AuthorityManagement.BROUGHT:
        rule = f"is given, but trust.management is {trust.management.value}"
        raise InvalidInputError([Problem("cacerts", rule, "Set trust.management: brought, or leave it out")], source)
    if trust.management is AuthorityManagement.BROUGHT:
        given = _required(brought, "cacerts", trust, source)
        files: pulumi.Output[Any] = when_known(pulumi.Output.secret(given), lambda found: whole_cacerts(found, source))
        # The certificate is public, though it travels with a key.
        return Authority(files, pulumi.Output.unsecret(files.apply(lambda found: found[ROOT_FILE])))
    if trust.management is AuthorityManagement.UNMANAGED:
        given = _required(root_certificate, "rootCertificate", trust, source)
        return Authority(None, checked(given, pem_certificate, "rootCertificate", source))
    return own()


def _required(value: Any, field: str, trust: Trust, source: str) -> Any:
    if value is None:
        rule = f"is required where trust.management is {trust.management.value}"
        raise InvalidInputError([Problem(field, rule, "Give it, or leave trust.management out")], source)
    return value
