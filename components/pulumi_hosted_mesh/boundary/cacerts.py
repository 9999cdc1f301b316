"""The files of the Secret `cacerts`: their names, and a check that none is missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import pulumi

from pulumi_hosted_mesh.boundary.arguments import checked, when_known
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.fields import pem_certificate
from pulumi_hosted_mesh.vocabulary import CACERTS_PRIVATE_KEY

ROOT_FILE: Final = "root-cert.pem"


def cacerts_files(certificate: str, key: str, root_certificate: str) -> dict[str, str]:
    """The files by the names that istiod reads (security/pkg/pki/ca)."""
    return {
        "ca-cert.pem": certificate,
        CACERTS_PRIVATE_KEY: key,
        ROOT_FILE: root_certificate,
        # The intermediate alone: istiod appends it to each certificate that it issues, and proxies have the root.
        "cert-chain.pem": certificate,
    }


FILES: Final = tuple(cacerts_files("", "", ""))


def whole_cacerts(files: Any, source: str) -> Mapping[str, str]:
    """The files, complete. If one is missing, istiod makes its own authority and writes its key to the data plane.

    istiod sends root and chain to data planes, so they may hold certificates only. source: for errors.
    Raises: InvalidInputError.
    """
    found: Mapping[str, str] = files if isinstance(files, Mapping) else {}
    if missing := [name for name in FILES if not found.get(name)]:
        rule, fix = f"lacks {', '.join(missing)}", f"Give all of {', '.join(FILES)}"
        raise InvalidInputError([Problem("cacerts", rule, fix)], source)
    for name in FILES:
        if name != CACERTS_PRIVATE_KEY:
            checked(found[name], pem_certificate, f"cacerts.{name}", source)
    return found


def secret_cacerts(
    files: Any, source: str, further: Callable[[Mapping[str, str]], Mapping[str, str]] = dict
) -> pulumi.Output[Any]:
    """The same of an Input, as a secret. further: a check of the files, which returns them.

    Raises: InvalidInputError; for an Output, when it resolves.
    """
    found: pulumi.Output[Any] = when_known(
        pulumi.Output.secret(files), lambda given: dict(further(whole_cacerts(given, source)))
    )
    return found
