"""The part of the settings file about issuers of tokens, after Kubernetes' structured authentication."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pulumi_hosted_mesh import Model, Problem
from pydantic import Field

from hosted_mesh_controller.openid.algorithm import Algorithm
from hosted_mesh_controller.vocabulary import Role

MOST_ISSUERS: Final = 8
"""Each issuer that is away may hold a few of the interface's threads for seconds."""
_WELL_KNOWN: Final = "/.well-known/openid-configuration"
Text = Annotated[str, Field(min_length=1, max_length=1024)]


class Grant(Model):
    """A role for the tokens of one user, or of one group."""

    role: Literal[Role.PROVIDER, Role.TENANT, Role.READER]
    """`provider`, `tenant` or `reader`."""
    user: Text | None = None
    """The user's name, exactly."""
    group: Text | None = None
    """Name of a group, exactly."""
    tenant: Text | None = None
    """The tenant of role `tenant` or `reader`."""
    tenant_claim: Text | None = None
    """In place of `tenant`: the claim with its name. Without `user` and `group`, the grant is for each token that has
    the claim."""


class Issuer(Model):
    """An issuer of tokens, and the rights of their holders."""

    url: str
    """The claim `iss`, exactly: `https://HOST[:PORT][/PATH]`."""
    audiences: tuple[Text, ...]
    """A token's claim `aud` has one of these."""
    discovery_url: str | None = None
    """Address of the issuer's discovery document; by default `/.well-known/openid-configuration` below `url`."""
    jwks_url: str | None = None
    """Address of the issuer's keys. By default, the discovery document has it."""
    certificate_authority: Text | None = None
    """Path of a file with the authorities of these addresses, PEM; by default the system's."""
    algorithms: tuple[Algorithm, ...] = (Algorithm.RS256, Algorithm.ES256)
    """Accepted algorithms of signatures. All are asymmetric."""
    user_claim: Text = "sub"
    """Claim with the user's name. `/A/B` is member B of claim A."""
    groups_claim: Text = "groups"
    """Claim with the user's groups: a text, or a list of texts."""
    required_claims: dict[Text, Text] = {}
    """Claims that a token must have, with exactly these texts as values."""
    clock_skew_seconds: Annotated[int, Field(strict=True, ge=0, le=300)] = 30
    """Accepted difference between the clocks of the issuer and the controller."""
    grants: tuple[Grant, ...]
    """The rights. A holder has all that fit, and in each tenant the strongest role."""

    @property
    def discovery(self) -> str:
        """Address of the discovery document."""
        return self.discovery_url or self.url.rstrip("/") + _WELL_KNOWN


def problems_of(issuers: Mapping[str, Issuer], tenants: Collection[str]) -> Iterator[Problem]:
    """The problems of issuers that their models do not find."""
    if len(issuers) > MOST_ISSUERS:
        yield Problem("issuers", f"are more than {MOST_ISSUERS}", "Leave some out, or put one issuer in front of them")
    counts = Counter(one.url for one in issuers.values())
    for name, issuer in issuers.items():
        field = f"issuers.{name}"
        if counts[issuer.url] > 1:
            yield Problem(f"{field}.url", "is the url of two issuers", "Make them one, with all audiences and grants")
        yield from _bad_urls(field, issuer)
        for part in ("audiences", "algorithms", "grants"):
            if not getattr(issuer, part):
                yield Problem(
                    f"{field}.{part}", "are none, so no token would be accepted", "Add one, or leave the issuer out"
                )
        for at, grant in enumerate(issuer.grants):
            yield from _bad_grant(f"{field}.grants[{at}]", grant, tenants)


def is_https(url: object, *, with_query: bool = False) -> bool:
    """Whether this is an address of HTTPS without a login and a fragment."""
    if not isinstance(url, str) or not url.isascii() or not url.isprintable() or set(url) & set(' "<>\\'):
        return False
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    plain = "@" not in parts.netloc and "#" not in url and (with_query or "?" not in url) and port != 0
    return url.startswith("https://") and bool(parts.hostname) and plain


def _bad_urls(field: str, issuer: Issuer) -> Iterator[Problem]:
    rule = "must be an address of HTTPS without login, query and fragment"
    if not is_https(issuer.url):
        yield Problem(f"{field}.url", rule, "Write the claim iss of its tokens, https://...")
    if issuer.discovery_url is not None and not is_https(issuer.discovery_url, with_query=True):
        yield Problem(f"{field}.discoveryUrl", "must be an address of HTTPS without login", "Write https://...")
    if issuer.jwks_url is not None:
        if not is_https(issuer.jwks_url, with_query=True):
            yield Problem(f"{field}.jwksUrl", "must be an address of HTTPS without login", "Write https://...")
        if issuer.discovery_url is not None:
            yield Problem(f"{field}.jwksUrl", "replaces discoveryUrl, and both are set", "Leave one of them out")


def _bad_grant(field: str, grant: Grant, tenants: Collection[str]) -> Iterator[Problem]:
    if grant.user is not None and grant.group is not None:
        yield Problem(field, "has user and group", "Write two grants")
    is_of_all = grant.user is None and grant.group is None
    if grant.role is Role.PROVIDER:
        if grant.tenant is not None or grant.tenant_claim is not None:
            yield Problem(field, "has role provider and a tenant", "Leave the tenant out, or change the role")
        if is_of_all:
            yield Problem(field, "gives role provider to all of the issuer's users", "Name a user or a group")
        return
    if (grant.tenant is None) == (grant.tenant_claim is None):
        yield Problem(field, f"requires one of tenant and tenantClaim for role {grant.role}", "Set one of them")
    elif grant.tenant is not None and grant.tenant not in tenants:
        yield Problem(f"{field}.tenant", "is not one of the settings' tenants", "Name one of them")
    elif grant.tenant is not None and is_of_all:
        yield Problem(field, "gives a tenant to all of the issuer's users", "Name a user or a group")
