"""Selects the source of a mesh's intermediate authority by `trust.management`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from pulumi_hosted_mesh.boundary.arguments import checked
from pulumi_hosted_mesh.boundary.cacerts import ROOT_FILE, secret_cacerts
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.fields import pem_certificate
from pulumi_hosted_mesh.spec.trust import AuthorityManagement, Trust


@dataclass(frozen=True)
class Authority:
    """istiod's signing files and the root certificate that verifies its certificates.

    files: an Output of the files of the Secret `cacerts`, a secret; None if another program makes that Secret.
    root_certificate: PEM, public.
    """

    files: Any
    root_certificate: pulumi.Input[str]


def mesh_authority(
    trust: Trust,
    own: Callable[[], Authority],
    *,
    brought: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None,
    root_certificate: pulumi.Input[str] | None,
    source: str,
) -> Authority:
    """The mesh's authority.

    own: makes or reads it for `management: own`. brought: the files of `cacerts` for `management: brought`.
    root_certificate: PEM, for `management: unmanaged` and `cert-manager`. source: the document in errors.
    Raises: InvalidInputError for a missing input of `trust.management`, and for one that it excludes; never with a
    value.
    """
    if brought is not None and trust.management is not AuthorityManagement.BROUGHT:
        rule = f"is set, but trust.management is {trust.management.value}"
        raise InvalidInputError([Problem("cacerts", rule, "Set trust.management: brought, or leave it out")], source)
    if trust.management is AuthorityManagement.BROUGHT:
        given = _required(brought, "cacerts", trust, source)
        files = secret_cacerts(given, source)
        # The certificate is public, although the output holds a key too.
        return Authority(files, pulumi.Output.unsecret(files.apply(lambda found: found[ROOT_FILE])))
    if trust.management.has_outside_key:
        given = _required(root_certificate, "rootCertificate", trust, source)
        return Authority(None, checked(given, pem_certificate, "rootCertificate", source))
    return own()


def _required(value: Any, field: str, trust: Trust, source: str) -> Any:
    if value is None:
        rule = f"is required with trust.management: {trust.management.value}"
        raise InvalidInputError([Problem(field, rule, "Add it, or leave trust.management out")], source)
    return value
