"""The last sentences of a verdict on an undeclared owner: the settings that declare it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from hosted_mesh_plan.clusters import Role, is_tenants
from hosted_mesh_plan.model import REFERENCE_TYPE, SECRET_DATA, SECRET_TYPE, Provider, Resource
from hosted_mesh_plan.owners import is_login_in_settings
from hosted_mesh_plan.tree import at
from hosted_mesh_plan.vocabulary import DATA_PLANE_OWNED_ANNOTATION, ISSUED_LOGIN_ANNOTATION

from ..detect.flow.taint import UNCLASSIFIED
from ..detect.secrets.resource_types import is_random
from ..evaluation.context import Context

_CONTROL_PLANES: Final = re.compile(r"control-plane|(^|/)(root|trust|dns)$")
"""Names of the control plane's stacks, which need no declaration."""


ONE_TENANTS: Final = "If both clusters are one tenant's, name them in dataPlaneTenants"
_OF_UNCLASSIFIED: Final = (
    "Declare that cluster first: name it in controlPlaneServers if it is the control plane's, or in dataPlaneServers "
    "if it is a data plane's"
)


def unsaid(context: Context, source: str, given: Resource, name: str, owner: str = "") -> str:
    """Sentences for the end of a verdict; none if all owners are declared.

    source: the URN of the secret's holder. given, name: the receiving resource, and its property. owner: the secret's
    owner, if known.
    """
    found = [_OF_UNCLASSIFIED] if owner == UNCLASSIFIED else []
    found += [*_of_clusters(context, source, given), *_of_maker(context, source, given, name)]
    found += [*_of_place(context, given), *_of_tenants(context, source, given)]
    return "".join(f". {one}" for one in found)


def rests_on_nobody(context: Context, source: str, given: Resource, owner: str = "", name: str = "") -> bool:
    """True for a leak that rests only on an undeclared owner: of the secret, or of its place.

    A deployer's own credential is a leak in any place: from the environment, a provider, or an account that counts as
    the deployer's. name: the source's property with the secret. An input that the program gave to the account, such as
    a database's password, is not made by it.
    """
    maker = context.flow.spread.owned_by.get(source)
    if owner == UNCLASSIFIED or (maker is not None and context.owners.is_assumed_maker(maker)):
        return True
    if not context.is_undeclared(given):
        return False
    made = context.gathered_from.get(source) or context.stack.by_urn.get(source)
    if made is None or made.is_provider:
        return False
    if name and at(made.asked, name) is not None:
        return True
    return made is not maker or context.clusters.role(made) is not None


def _of_clusters(context: Context, source: str, given: Resource) -> Iterator[str]:
    concerned = (context.stack.by_urn.get(source), given)
    told = (context.how_to_declare(one) for one in concerned if one and context.clusters.role(one) is Role.UNCLASSIFIED)
    yield from dict.fromkeys(told)


def _of_maker(context: Context, urn: str, given: Resource, name: str) -> Iterator[str]:
    maker = context.flow.spread.owned_by.get(urn)
    if maker is None:
        return
    if maker.type == REFERENCE_TYPE:
        if context.owners.is_assumed_maker(maker) and not _CONTROL_PLANES.search(maker.name):
            yield f"Stack {maker.name} has no declared owner: if it is a data plane's, name it in dataPlaneStacks"
    elif maker.provider is not None and context.owners.is_assumed_maker(maker):
        through = f"Provider {_named(maker.provider)}, which makes {short(maker.urn)}"
        yield f"{through}, has no declared owner: if it is a data plane's, name it in dataPlaneProviders"
        yield from _as_login(context, maker, given, name)
    elif maker.read_only:
        yield (f"The engine does not show the cluster of {short(maker.urn)}: if it is this one, declassify the copy")
    elif maker.provider is not None and context.clusters.role(maker) is None:
        yield from _as_login(context, maker, given, name)
    elif context.flow.takes_logins(given, name) and _would_be_login(context, urn, maker):
        yield (
            f"{short(maker.urn)} keeps it in the control plane: if both sides share that login, annotate the keeper "
            f'with {DATA_PLANE_OWNED_ANNOTATION}: "<reason>"'
        )


def _as_login(context: Context, maker: Resource, given: Resource, name: str) -> Iterator[str]:
    if context.flow.takes_logins(given, name) and context.owners.may_be_made_for_a_data_plane(maker):
        exits = [f"name {maker.called} in dataPlaneLogins"] if is_login_in_settings(maker) else []
        if given.type == SECRET_TYPE:
            exits.append(f'annotate {given.called} with {ISSUED_LOGIN_ANNOTATION}: "{maker.called}: <reason>"')
        if exits:
            yield f"If {short(maker.urn)} is a login issued to this data plane, {', or '.join(exits)}"


def _would_be_login(context: Context, urn: str, keeper: Resource) -> bool:
    """True for a password that is a Secret's only content, and in no other place of the control plane."""
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
        through = f"Provider {_named(provider)} has no declared owner"
        yield f"{through}: if it is the control plane's, name it in controlPlaneProviders"
    elif not resource.type.startswith("command:remote:"):  # the same provider makes local ones too
        what = f"all resources of {_package(provider)}'s default provider"
        yield f"If {what} stay with the control plane, name {_package(provider)}:* in controlPlaneProviders"


def _of_tenants(context: Context, urn: str, given: Resource) -> Iterator[str]:
    maker = context.stack.by_urn.get(urn)
    roles = {context.clusters.role(one) for one in (maker, given) if one}
    if maker is None or not roles <= {Role.DATA_PLANE, Role.UNCLASSIFIED}:
        return
    owners = {context.owners.place(one) or "" for one in (maker, given)}
    if len(owners) > 1 and Role.UNCLASSIFIED not in roles and not all(map(is_tenants, owners)):
        yield ONE_TENANTS


def _named(provider: Provider) -> str:
    """With its package: another package's provider of the same name may have another owner."""
    return f"{_package(provider)}:{provider.name}"


def _package(provider: Provider) -> str:
    return provider.type.rpartition(":")[2]


def short(urn: str) -> str:
    """`PrivateKey root` for a URN: the short name in messages."""
    parts = urn.split("::")
    return f"{parts[2].split('$')[-1].split(':')[-1]} {parts[-1]}" if len(parts) > 3 else urn
