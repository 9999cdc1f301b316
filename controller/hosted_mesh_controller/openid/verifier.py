"""Tokens of the settings' issuers: from a text to a user with roles in tenants."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

from pulumi_hosted_mesh import InvalidInputError, Problem

from hosted_mesh_controller import metrics
from hosted_mesh_controller.openid import signatures
from hosted_mesh_controller.openid.algorithm import Algorithm
from hosted_mesh_controller.openid.identity import Identity
from hosted_mesh_controller.openid.issuers import Grant, Issuer
from hosted_mesh_controller.openid.key_source import KeySource, trust
from hosted_mesh_controller.openid.signatures import Signed
from hosted_mesh_controller.vocabulary import Role

LONGEST: Final = 16 * 1024
"""Characters of a token."""
_TYPES: Final = (None, "jwt", "at+jwt", "application/jwt", "application/at+jwt")
"""Of ID tokens, access tokens and ServiceAccounts' tokens. An issuer also signs others, such as for a logout."""
_LONGEST_SUBJECT: Final = 255
_ABSENT: Final = object()
Claims = Mapping[str, Any]


class RefusedError(Exception):
    """A token that is not accepted. is_signed: whether its issuer signed it, so that its holder may read the reason."""

    def __init__(self, reason: str, issuer: str | None = None, *, is_signed: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.issuer, self.is_signed = reason, issuer, is_signed


@dataclass(frozen=True)
class Holder:
    """The holder of a token. roles: by tenant; None is the provider's place."""

    identity: Identity
    issuer: str
    """The issuer's name in the settings."""
    user: str
    roles: Mapping[str | None, Role]


class Verifier:
    """Reads tokens of these issuers. tenants: names."""

    def __init__(self, issuers: Mapping[str, Issuer], tenants: Collection[str]) -> None:
        self._tenants = frozenset(tenants)
        self._names = {one.url: name for name, one in issuers.items()}
        self._issuers = dict(issuers)
        self._sources = {name: KeySource(name, one, self._measure) for name, one in issuers.items()}

    def start(self) -> None:
        """Reads the keys of all issuers in the background."""
        for source in self._sources.values():
            source.begin()

    def read(self, text: str) -> Holder:
        """The holder of a token. Raises: RefusedError, AwayError."""
        if len(text) > LONGEST:
            raise RefusedError("is too long")
        try:
            token = signatures.parsed(text)
        except ValueError:
            raise RefusedError("is not a signed token of JSON") from None
        url = token.claims.get("iss")
        name = self._names.get(url) if isinstance(url, str) else None
        if name is None:
            raise RefusedError("has an issuer that is not in the settings")
        self._verify(name, token)
        try:
            return self._holder(name, token.claims)
        except RefusedError as error:
            raise RefusedError(error.reason, name, is_signed=True) from None

    def _verify(self, name: str, token: Signed) -> None:
        """Raises: RefusedError, AwayError."""
        header, issuer = token.header, self._issuers[name]
        algorithm: Algorithm | None = next((one for one in issuer.algorithms if one == header.get("alg")), None)
        if algorithm is None:
            raise RefusedError("has an algorithm that its issuer's settings do not have", name)
        kind = header.get("typ")
        if (kind.lower() if isinstance(kind, str) else kind) not in _TYPES or "crit" in header:
            raise RefusedError("is of another type", name)
        identifier = header.get("kid")
        if not isinstance(identifier, str) or not identifier:
            raise RefusedError("has no kid", name)
        key = self._sources[name].find(identifier, algorithm.family)
        if key is None:
            raise RefusedError("has a kid that its issuer does not have", name)
        if not signatures.is_signed(token, key, algorithm):
            raise RefusedError("has a wrong signature", name)

    def _holder(self, name: str, claims: Claims) -> Holder:
        issuer = self._issuers[name]
        _require_times(claims, issuer.clock_skew_seconds)
        audiences = claims.get("aud")
        given = audiences if isinstance(audiences, list) else [audiences]
        if not all(isinstance(one, str) for one in given) or not set(given) & set(issuer.audiences):
            raise RefusedError("is for another audience")
        for claim, value in issuer.required_claims.items():
            if _claim(claims, claim) != value:
                raise RefusedError(f"lacks the required value of claim {claim}")
        subject, user = claims.get("sub"), _claim(claims, issuer.user_claim)
        if not isinstance(subject, str) or not 0 < len(subject) <= _LONGEST_SUBJECT or not subject.isprintable():
            raise RefusedError("has no usable claim sub")
        if not isinstance(user, str) or not user:
            raise RefusedError(f"has no text as claim {issuer.user_claim}")
        if issuer.user_claim == "email" and claims.get("email_verified", True) is not True:
            raise RefusedError("has an email that its issuer did not verify")
        groups = _groups(claims, issuer.groups_claim)
        return Holder(Identity(issuer.url, subject), name, user, self._roles(issuer, user, groups, claims))

    def _roles(self, issuer: Issuer, user: str, groups: Collection[str], claims: Claims) -> Mapping[str | None, Role]:
        found: dict[str | None, Role] = {}
        for grant in issuer.grants:
            if not _fits(grant, user, groups):
                continue
            if grant.role is Role.PROVIDER:
                found[None] = grant.role
                continue
            tenant = grant.tenant if grant.tenant_claim is None else _tenant(claims, grant.tenant_claim)
            if tenant not in self._tenants:
                continue
            # Of two roles in one tenant, `tenant` has all rights of `reader`.
            found[tenant] = found.get(tenant, grant.role) if grant.role is Role.READER else grant.role
        return found

    def _measure(self) -> None:
        away = sum(one.is_away for one in self._sources.values())
        for state, count in (("up", len(self._sources) - away), ("away", away)):
            metrics.ISSUERS.labels(state).set(count)


def require_authorities(issuers: Mapping[str, Issuer]) -> None:
    """Rejects files without certificates. Raises: InvalidInputError."""
    rule, fix = "must be the path of a file with certificates, PEM", "Check the path, the mount and the content"
    problems = [
        Problem(f"issuers.{name}.certificateAuthority", rule, fix)
        for name, one in issuers.items()
        if not _has_authorities(one)
    ]
    if problems:
        raise InvalidInputError(problems, "the settings")


def _has_authorities(issuer: Issuer) -> bool:
    if issuer.certificate_authority is None:
        return True
    try:
        return bool(trust(issuer).get_ca_certs())
    except (OSError, ValueError):
        return False


def _require_times(claims: Claims, skew: int) -> None:
    """Raises: RefusedError."""
    now = time.time()
    end = claims.get("exp")
    if not _is_time(end):
        raise RefusedError("has no end")
    if now >= end + skew:
        raise RefusedError("has expired")
    for name in ("nbf", "iat"):
        begin = claims.get(name, 0)
        if not _is_time(begin) or begin > now + skew:
            raise RefusedError("is not valid yet")


def _is_time(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _claim(claims: Claims, name: str) -> Any:
    """A claim by its name, or by a path of members (RFC 6901)."""
    if not name.startswith("/"):
        return claims.get(name, _ABSENT)
    found: Any = claims
    for step in name[1:].split("/"):
        member = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, dict) or member not in found:
            return _ABSENT
        found = found[member]
    return found


def _tenant(claims: Claims, name: str) -> str | None:
    found = _claim(claims, name)
    if found is _ABSENT:
        return None
    if not isinstance(found, str):
        raise RefusedError(f"has no text as claim {name}")
    return found


def _groups(claims: Claims, name: str) -> frozenset[str]:
    found = _claim(claims, name)
    if found is _ABSENT:
        return frozenset()
    groups = found if isinstance(found, list) else [found]
    if not all(isinstance(one, str) for one in groups):
        raise RefusedError(f"has no list of texts as claim {name}")
    return frozenset(groups)


def _fits(grant: Grant, user: str, groups: Collection[str]) -> bool:
    if grant.user is not None:
        return grant.user == user
    return grant.group is None or grant.group in groups
