"""Impersonation by a kubeconfig's user (`as`, `as-uid`, `as-groups`, `as-user-extra`), as kubectl sends it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

# The characters of a header's name (RFC 9110) that client-go does not escape in an extra's key.
PLAIN = "!#$&'*+-.^_`|~"


def impersonation_headers(user: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The headers of the impersonated user; none without `as`, `as-uid`, `as-groups` and `as-user-extra`.

    https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation
    """
    found = [("Impersonate-User", user.get("as")), ("Impersonate-Uid", user.get("as-uid"))]
    found += [("Impersonate-Group", one) for one in _listed(user.get("as-groups"))]
    extra = user.get("as-user-extra")
    for key, values in extra.items() if isinstance(extra, Mapping) else ():
        name = f"Impersonate-Extra-{quote(str(key).lower(), safe=PLAIN)}"
        found += [(name, one) for one in _listed(values)]
    return [(name, str(value)) for name, value in found if value]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value else []
