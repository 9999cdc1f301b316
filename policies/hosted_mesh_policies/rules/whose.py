"""What a verdict adds where it rests on nobody having said whose something is: how to say it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ..detect.flow.taint import UNCLASSIFIED
from ..detect.secrets.resource_types import is_random
from ..evaluation.context import Context
from ..plan.clusters import Role, is_tenants
from ..plan.model import REFERENCE_TYPE, SECRET_DATA, Provider, Resource
from ..vocabulary import DATA_PLANE_OWNED_ANNOTATION

_CONTROL_PLANES: Final = re.compile(r"control-plane|(^|/)(root|trust|dns)$")
"""What the control plane's stacks are called: of these nobody is asked."""


_OF_UNCLASSIFIED: Final = (
    "Say whose that cluster is: name it in dataPlaneServers, or both in dataPlaneTenants if they are one tenant's"
)


def unsaid(context: Context, source: str, given: Resource, name: str, owner: str = "") -> str:
    """Sentences for the end of a verdict; none where all is known.

    source: the URN of who has the secret. given, name: the resource that gets it, and by which property. owner: whose
    the secret is, where that is known.
    """
    found = [*_of_maker(context, source, given, name), *_of_place(context, given), *_of_tenants(context, source, given)]
    found += [_OF_UNCLASSIFIED] if owner == UNCLASSIFIED else []
    return "".join(f". {one}" for one in found)


def _of_maker(context: Context, urn: str, given: Resource, name: str) -> Iterator[str]:
    maker = context.flow.spread.owned_by.get(urn)
    if maker is None:
        return
    if maker.type == REFERENCE_TYPE:
        if context.owners.is_assumed_maker(maker) and not _CONTROL_PLANES.search(maker.name):
            yield f"Nobody says whose stack {maker.name} is: if a data plane's, name it in dataPlaneStacks"
    elif maker.provider is not None and context.owners.is_assumed_maker(maker):
        through = f"provider {_named(maker.provider)} is, by which {short(maker.urn)} is made"
        yield f"Nobody says whose {through}: if a data plane's, name it in dataPlaneProviders"
        yield from _as_login(context, maker, given, name)
    elif maker.read_only:
        yield (
            f"The engine does not show from where {short(maker.urn)} is read: if from this cluster, declassify the copy"
        )
    elif maker.provider is not None and context.clusters.role(maker) is None:
        yield from _as_login(context, maker, given, name)
    elif context.flow.takes_logins(given, name) and _would_be_login(context, urn, maker):
        yield (
            f"{short(maker.urn)} keeps it in the control plane: if that is a login that both sides have, say why "
            f'there, in annotation {DATA_PLANE_OWNED_ANNOTATION}: "<reason>"'
        )


def _as_login(context: Context, maker: Resource, given: Resource, name: str) -> Iterator[str]:
    if context.flow.takes_logins(given, name) and context.owners.may_be_made_for_a_data_plane(maker):
        yield (
            f"If {short(maker.urn)} was made so that this data plane may log in, name {maker.called} in dataPlaneLogins"
        )


def _would_be_login(context: Context, urn: str, keeper: Resource) -> bool:
    """True for a password that is all that a Secret keeps, and that nothing else of the control plane's has."""
    stack, spread = context.stack, context.flow.spread
    source = stack.by_urn.get(urn)
    if source is None or not is_random(source) or not context.owners.may_keep_logins(keeper):
        return False
    alone = [one.urn for one in stack.sources_of(keeper, *SECRET_DATA)] == [urn]
    return alone and not spread.is_owned_but(urn, lambda one: one is keeper or one.urn in spread.login_keepers)


def _of_place(context: Context, resource: Resource) -> Iterator[str]:
    provider = resource.provider
    if provider is None or not context.owners.is_assumed_place(resource):
        return
    if not provider.is_default:
        through = f"provider {_named(provider)} is"
        yield f"Nobody says whose {through}: if the control plane's, name it in controlPlaneProviders"
    elif not resource.type.startswith("command:remote:"):  # the same provider makes local ones too
        what = f"all that {_package(provider)}'s default provider makes"
        yield f"If {what} stays with the control plane, name {_package(provider)}:* in controlPlaneProviders"


def _of_tenants(context: Context, urn: str, given: Resource) -> Iterator[str]:
    maker = context.stack.by_urn.get(urn)
    roles = {context.clusters.role(one) for one in (maker, given) if one}
    if maker is None or not roles <= {Role.DATA_PLANE, Role.UNCLASSIFIED}:
        return
    owners = {context.owners.place(one) or "" for one in (maker, given)}
    if len(owners) > 1 and not all(map(is_tenants, owners)):
        yield "If both clusters are one tenant's, name them in dataPlaneTenants"


def _named(provider: Provider) -> str:
    """With its package: another's of the same name may be somebody else's."""
    return f"{_package(provider)}:{provider.name}"


def _package(provider: Provider) -> str:
    return provider.type.rpartition(":")[2]


def short(urn: str) -> str:
    """`PrivateKey root` for a URN: what people call a resource."""
    parts = urn.split("::")
    return f"{parts[2].split('$')[-1].split(':')[-1]} {parts[-1]}" if len(parts) > 3 else urn
