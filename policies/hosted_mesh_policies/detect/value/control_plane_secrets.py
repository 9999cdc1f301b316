"""The control plane's present secret values, as an index of fingerprints."""

from __future__ import annotations

import fnmatch
import re
import urllib.parse
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from hosted_mesh_plan.clusters import KUBECONFIG_KEYS, Cluster, Clusters, Role, normal_server
from hosted_mesh_plan.model import IN_SECRET, Provider, Resource, Stack
from hosted_mesh_plan.tree import Leaf, Path, at, leaves, show

from ..flow.leaks import Flow
from ..leaf.content import as_bytes, held
from ..leaf.names import CREDENTIALS, is_identifiers_name, is_secrets_name
from ..search.index import Index
from ..secrets.fingerprints import fingerprints
from ..secrets.resource_secrets import secret_leaves
from ..secrets.resource_types import ALL_SECRET_TYPES, CERTIFICATE_TYPES, KEY_TYPE, PUBLIC_RANDOM, is_random
from ..shape.kubeconfigs import kubeconfig_in_text, may_hold_kubeconfig

PROVIDER_NAMESPACES: Final = (
    "kubernetes:*", "aws:*", "azure*:*", "gcp:*", "google*:*", "cloudflare:*", "digitalocean:*", "hcloud:*",
    "linode:*", "openstack:*", "ovh:*", "vault:*", "ns1:*", "powerdns:*",
)  # fmt: skip
"""Configuration of the deployer's own providers: every secret in it is the control plane's."""


_ID: Final = re.compile(rb"[\w.-]+")


def known_secrets(
    stack: Stack, clusters: Clusters, flow: Flow, config_keys: Iterable[str], ambient: Mapping[str, str]
) -> Index:
    """The index for a stack. Values made on a data plane (a token of its API server) are the data plane's in any place,
    except values that the control plane's server receives too.

    config_keys: patterns of the control plane's secret configuration keys, besides its providers'. ambient: the
    deployer's environment variables.
    """
    born = born_on_data_plane(stack, clusters, clusters.providers.values())
    data_planes = frozenset((*born, *public_ids(stack)))
    index = Index()
    for name in CREDENTIALS:
        value = ambient.get(name, "").encode()
        add(index, data_planes, value, f"the deployer's environment variable {name}", certain=True)
    control_planes = (*PROVIDER_NAMESPACES, *config_keys)
    for key in sorted(stack.secret_config_keys):
        if any(fnmatch.fnmatchcase(key, p) for p in control_planes):
            add(index, data_planes, stack.config.get(key, "").encode(), f"the secret configuration {key}", certain=True)
    shown = Shown()
    for provider in clusters.providers.values():
        if clusters.role_of_provider(provider) is Role.DATA_PLANE:
            shown.add(clusters.clusters[provider.urn])
    for provider in clusters.providers.values():
        if clusters.role_of_provider(provider) is Role.CONTROL_PLANE:
            add_provider(index, data_planes, shown, provider, clusters.clusters[provider.urn])
    owned = sorted((one for one in stack.resources if one.urn in flow.spread.owned), key=_origin_first)
    owned.sort(key=flow.owners.keeps_logins)  # shared values are reported from there
    in_accounts = [one for one in owned if one.urn not in flow.spread.owned_elsewhere]
    for resource in (one for one in owned if one.urn in flow.spread.owned_elsewhere):
        add_secrets_of(resource, index, data_planes, partial(flow.of_its_own, resource), stack.names)
    for provider in {one.urn: one for one in _providers(stack)}.values():
        if flow.owners.is_own_account(provider):
            add_account(index, data_planes, provider)
    for resource in in_accounts:  # last, so that the control plane's other copies are reported first
        add_secrets_of(resource, index, data_planes, partial(flow.of_its_own, resource), stack.names)
    return index


@dataclass
class Shown:
    """Credentials that data planes' API servers receive, each with their addresses."""

    _at: dict[bytes, set[str]] = field(default_factory=dict)

    def add(self, cluster: Cluster) -> None:
        for one in _fingerprints_of(cluster.shown):
            self._at.setdefault(one, set()).add(_front_door(cluster))

    def of(self, cluster: Cluster) -> Iterator[bytes]:
        """The control plane's own credentials that a data plane receives. A common proxy is no data plane."""
        return (one for one in _fingerprints_of(cluster.shown) if self._at.get(one, set()) - {_front_door(cluster)})


def _fingerprints_of(named: Iterable[tuple[str, str]]) -> Iterator[bytes]:
    for name, value in named:
        yield from fingerprints(value.encode("utf-8", "surrogatepass"), name=name)


def _front_door(cluster: Cluster) -> str:
    return urllib.parse.urlsplit(cluster.server).netloc


def add_provider(index: Index, data_planes: Set[bytes], shown: Shown, provider: Provider, cluster: Cluster) -> None:
    """Adds the secrets of a control-plane provider's kubeconfig."""
    for key in KUBECONFIG_KEYS:
        origin = f"{provider.urn} {key}"
        add(index, data_planes, as_bytes(at(provider.inputs, key)), origin, certain=False)
        if at(provider.inputs, key) is not None:
            index.add(shown.of(cluster), origin)


def add_account(index: Index, data_planes: Set[bytes], provider: Provider) -> None:
    """Adds a provider's login to the deployer's own account: marked inputs, and credentials by name."""
    for leaf in leaves(provider.inputs if provider.inputs is not None else {}):
        name = str(leaf.path[-1]) if leaf.path else ""
        if leaf.secret or is_secrets_name(name):
            add(index, data_planes, as_bytes(leaf.value), f"{provider.urn} {show(leaf.path)}", certain=False, name=name)


def _providers(stack: Stack) -> Iterator[Provider]:
    for resource in stack.resources:
        if resource.provider is not None:
            yield resource.provider
        elif resource.is_provider:
            yield resource.as_provider


def for_others(cluster: Cluster) -> frozenset[bytes]:
    """Fingerprints of a kubeconfig's credentials for users of other contexts."""
    return frozenset(_fingerprints_of(cluster.others))


def own_kubeconfigs(provider: Provider, cluster: Cluster) -> Iterator[bytes]:
    """Fingerprints of a provider's own credentials in its kubeconfig."""
    foreign = for_others(cluster)
    for key in KUBECONFIG_KEYS:
        yield from (one for one in fingerprints(as_bytes(at(provider.inputs, key))) if one not in foreign)


def _origin_first(resource: Resource) -> tuple[int, str]:
    """Sources of secrets before their keepers and repeaters: a verdict names the first. The engine has no order."""
    if resource.type == KEY_TYPE or resource.type in ALL_SECRET_TYPES:
        return 0, resource.urn
    return 3 if resource.type in CERTIFICATE_TYPES else 2 if resource.kind == "Secret" else 1, resource.urn


def add(
    index: Index,
    data_planes: Set[bytes],
    value: bytes,
    origin: str,
    *,
    certain: bool,
    name: str = "",
    names: frozenset[str] = frozenset(),
) -> None:
    """Adds a secret's fingerprints, except the data plane's. `name` is its key's, `names` are objects'."""
    found = fingerprints(value, certain=certain, name=name, names=names)
    index.add((one for one in found if one not in data_planes), origin)


def add_secrets_of(
    resource: Resource,
    index: Index,
    data_planes: Set[bytes],
    own: Callable[[Path, bytes], Iterable[bytes]] = lambda _, value: (value,),
    names: frozenset[str] = frozenset(),
) -> None:
    """Adds the secrets of one control-plane resource: marked values, a Secret's data, a key, a password. `own` yields
    the control plane's parts of a value."""
    certain = resource.type in ALL_SECRET_TYPES or is_random(resource)
    for tree in (resource.inputs, resource.outputs):
        # A key has several encodings. Verdicts name the first: privateKeyPem, not privateKeyPemPkcs8.
        for path, value in sorted(secret_leaves(resource, tree), key=lambda leaf: len(show(leaf[0]))):
            for part in own(path, value):
                origin = _origin(resource, path)
                add(index, data_planes, part, origin, certain=certain, name=str(path[-1]), names=names)


def kept_kubeconfigs(resource: Resource) -> Iterator[tuple[str, frozenset[str]]]:
    """The kubeconfigs kept by a control-plane resource, by their origins: the API servers of each."""
    for tree in (resource.inputs, resource.outputs):
        for path, value in secret_leaves(resource, tree):
            if may_hold_kubeconfig(value) and (found := kubeconfig_in_text(value)) is not None:
                yield _origin(resource, path), frozenset(map(normal_server, found.servers))


def _origin(resource: Resource, path: Path) -> str:
    return f"{resource.urn} {show(path)}"


def born_on_data_plane(stack: Stack, clusters: Clusters, providers: Iterable[Provider]) -> Iterator[bytes]:
    """Fingerprints of values made by data planes, and of credentials in `providers` that open only those clusters."""
    for provider in providers:
        if clusters.role_of_provider(provider) is Role.DATA_PLANE:
            yield from own_kubeconfigs(provider, clusters.clusters.get(provider.urn, Cluster()))
    for resource in stack.resources:
        if resource.kind == "Secret" and clusters.on_data_plane(resource):
            asked = set(_data_fingerprints(resource.inputs)) if resource.inputs is not None else None
            if asked is not None or resource.read_only:
                yield from (one for one in _data_fingerprints(resource.outputs) if one not in (asked or ()))


def public_ids(stack: Stack) -> Iterator[bytes]:
    """Fingerprints of ids, which are no secrets: public random ones, and an account's outputs under an id's name
    (`clientId`), unless a source has the same value as a secret."""
    made = [one for one in stack.resources if not one.is_kubernetes]
    told, random = set[bytes](), set[bytes]()
    for resource in made:
        for leaf in leaves(resource.outputs if resource.outputs is not None else {}):
            value = as_bytes(leaf.value)
            if PUBLIC_RANDOM.search(resource.type):
                random.add(value)
            elif _is_told_as_id(leaf) and _ID.fullmatch(value):
                told.add(value)
    if told:
        told -= {value for one in made for tree in (one.inputs, one.outputs) for _, value in secret_leaves(one, tree)}
    for value in told | random:
        yield from fingerprints(value, certain=True)


def _is_told_as_id(leaf: Leaf) -> bool:
    """A resource's own `id` may be anything: a random string's is the string."""
    named = len(leaf.path) == 1 and leaf.path != ("id",) and is_identifiers_name(str(leaf.path[0]))
    return named and not leaf.secret


def _data_fingerprints(tree: Any) -> Iterator[bytes]:
    for leaf in leaves(tree):
        if leaf.path[:1] in IN_SECRET:
            yield from fingerprints(held(leaf))
