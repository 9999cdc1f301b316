"""Where a mesh's intermediate authority comes from, by `trust.management`: the one place that knows the three ways."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.trust import AuthorityManagement, Trust
from pulumi_hosted_mesh.trust.authorities import cacerts_files

ROOT_FILE = "root-cert.pem"
FILES = tuple(cacerts_files("", "", ""))
_NOT_A_CERTIFICATE = re.compile(r"-----BEGIN (?!CERTIFICATE-----)|PRIVATE KEY")


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
    brought: pulumi.Input[Mapping[str, str]] | None,
    root_certificate: pulumi.Input[str] | None,
    source: str,
) -> Authority:
    """The mesh's authority.

    own: makes it, or finds what others made, where this program manages it. brought: the files of `cacerts`, where an
    authority is brought. root_certificate: PEM, where others manage all of it. source: what the errors are about.
    Raises: InvalidInputError if what `trust.management` needs is not given; never with a value in it.
    """
    if trust.management is AuthorityManagement.BROUGHT:
        given = _required(brought, "cacerts", trust, source)
        files: pulumi.Output[Any] = pulumi.Output.secret(given).apply(lambda found: _whole(found, source))
        # The certificate is public, though it travels with a key.
        return Authority(files, pulumi.Output.unsecret(files.apply(lambda found: found[ROOT_FILE])))
    if trust.management is AuthorityManagement.UNMANAGED:
        given = _required(root_certificate, "rootCertificate", trust, source)
        if isinstance(given, str):
            return Authority(None, _public(given, "rootCertificate", source))
        return Authority(None, given.apply(lambda found: _public(found, "rootCertificate", source)))
    return own()


def _required(value: Any, field: str, trust: Trust, source: str) -> Any:
    if value is None:
        rule = f"is required where trust.management is {trust.management.value}"
        raise InvalidInputError([Problem(field, rule, "Give it, or leave trust.management out")], source)
    return value


def _whole(files: Mapping[str, str], source: str) -> Mapping[str, str]:
    """istiod that misses one of the files makes an authority of its own, and writes its key to the data plane."""
    if missing := [name for name in FILES if not files.get(name)]:
        rule, fix = f"lacks {', '.join(missing)}", f"Give all of {', '.join(FILES)}"
        raise InvalidInputError([Problem("cacerts", rule, fix)], source)
    _public(files[ROOT_FILE], f"cacerts.{ROOT_FILE}", source)
    return files


def _public(certificate: str, field: str, source: str) -> str:
    """The data planes are given it, so it must not have a key beside it, as files of a root often do."""
    if _NOT_A_CERTIFICATE.search(certificate):
        rule, fix = (
            "holds more than certificates, a private key perhaps, and data planes are given it",
            "Leave the rest out",
        )
        raise InvalidInputError([Problem(field, rule, fix)], source)
    return certificate
