"""The owner of each cluster: by the API server's address, and by names only as a last resort.

Evidence, strongest first: the pack's settings (addresses, provider names or URNs), then the library's cluster wrappers,
by the role in their provider's name and cluster identifier. Evidence for one provider holds for every provider of the
same API server, so a default or swapped provider counts too. A common certificate authority makes two addresses one
data plane. It never makes a cluster the control plane's: clusters behind one proxy share an authority.
"""

from __future__ import annotations

import fnmatch
import re
import urllib.parse
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final

import yaml

from . import vocabulary
from .decode import UNPARSABLE, YAML_LOADER, nests_too_deeply
from .model import Provider, Resource, Stack
from .tree import UNKNOWN, at, leaves, plain

KUBECONFIG_KEYS: Final = ("kubeconfig", "kubeConfig", "configPath", "kubeconfigPath")
IN_CLUSTER: Final = "https://kubernetes.default.svc"
SHOWN: Final = frozenset({"token", "password", "id-token", "access-token"})
"""Credentials of a kubeconfig's user that the server receives. A client's key stays with the client."""


class Role(Enum):
    """The owner of a cluster. UNCLASSIFIED is treated as DATA_PLANE."""

    CONTROL_PLANE = "control plane"
    DATA_PLANE = "data plane"
    UNCLASSIFIED = "unclassified (counts as data plane)"


@dataclass(frozen=True, slots=True)
class Cluster:
    """The destination of a provider's kubeconfig. Empty strings: not stated, or still unknown."""

    server: str = ""
    authority: str = ""
    """The cluster's certificate authority, as written: two names of one cluster share it."""
    problem: str = ""
    """Why the address could not be read. Never a value."""
    shown: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Tokens and passwords of the context's user, each with its key. The server receives them and could use them
    elsewhere. Never printed."""
    others: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """The same for the kubeconfig's other users: one file often has all clusters. Never printed."""
    given: bool = False
    """True if the provider has a kubeconfig, possibly unknown. False: it uses the machine's."""


@dataclass(frozen=True)
class ClusterConfig:
    """The pack's settings of clusters: API server addresses, and provider names or URNs (`*` matches any text)."""

    control_plane_servers: tuple[str, ...] = ()
    data_plane_servers: tuple[str, ...] = ()
    control_plane_providers: tuple[str, ...] = ()
    data_plane_providers: tuple[str, ...] = ()
    data_plane_tenants: tuple[str, ...] = ()
    """`TENANT=ADDRESS`: that cluster is a data plane, and one owner with the tenant's other clusters."""

    @classmethod
    def of(cls, **given: tuple[str, ...]) -> ClusterConfig:
        """The settings with normal addresses. A tenant's clusters are data planes."""
        found = {key: tuple(map(normal_server, v)) if "servers" in key else v for key, v in given.items()}
        theirs = tuple(server for _, server in map(parts_of_tenant, found.get("data_plane_tenants", ())))
        return cls(**found | {"data_plane_servers": (*found.get("data_plane_servers", ()), *theirs)})


def parts_of_tenant(said: str) -> tuple[str, str]:
    """The tenant and the normal address of one entry of `data_plane_tenants`."""
    tenant, _, server = said.partition("=")
    return tenant, normal_server(server)


def owner_of(said: Iterable[str], servers: Set[str]) -> str:
    """The owner's name for the tenant that has a cluster with these addresses; empty for none or several. The name
    starts with a line feed, which no cluster's name has.

    said: as `data_plane_tenants`.
    """
    by_server = _tenants_by_server(tuple(said))
    tenants = {tenant for server in servers for tenant in by_server.get(server, ())}
    return f"{_TENANT}{tenants.pop()}" if len(tenants) == 1 else ""


@lru_cache(maxsize=8)
def _tenants_by_server(said: tuple[str, ...]) -> Mapping[str, Set[str]]:
    """Cached: each place needs it, and addresses take long to parse."""
    found: dict[str, set[str]] = {}
    for tenant, server in map(parts_of_tenant, said):
        found.setdefault(server, set()).add(tenant)
    return found


_TENANT: Final = "tenant\n"


def is_tenants(owner: str) -> bool:
    """True for an owner of `owner_of`."""
    return owner.startswith(_TENANT)


def is_server(address: str) -> bool:
    """True for a possible address of an API server: a URL, or a host with or without a port, without `*`."""
    parts = _parts(address)
    if parts is None or parts.scheme not in ("http", "https"):
        return False
    host = parts.hostname or ""
    return bool(re.fullmatch(r"[\w.-]+|[\da-f]*:[\da-f:.]+(%.+)?", host))


def normal_server(address: str) -> str:
    """An API server's address in one spelling: lower case, explicit port, no path's trailing slash."""
    parts = _parts(address)
    if parts is None:
        return address.strip().lower()
    port = parts.port or (80 if parts.scheme == "http" else 443)
    host = (parts.hostname or "").rstrip(".")
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme.lower()}://{host}:{port}{parts.path.rstrip('/')}"


def _parts(address: str) -> urllib.parse.SplitResult | None:
    """The parts of an address; None for an invalid one, such as `https://[::1`."""
    text = address.strip()
    try:
        parts = urllib.parse.urlsplit(text if "//" in text else f"https://{text}")
        _ = parts.port
    except ValueError:
        return None
    return parts


def cluster_of(provider: Provider) -> Cluster:
    """The destination of a provider, by its kubeconfig (content, dictionary or path) and context."""
    value = next((found for key in KUBECONFIG_KEYS if (found := at(provider.inputs, key)) is not None), None)
    if value is UNKNOWN:
        return Cluster(problem="its kubeconfig is still unknown", given=True)
    host = at(provider.inputs, "host")
    if value is None and isinstance(host, str):
        return Cluster(server=normal_server(host), given=True)
    if value is None:
        return Cluster(problem="it has no kubeconfig of its own: it uses the machine's default")
    if isinstance(value, str) and "\n" not in value and not value.lstrip().startswith("{"):
        try:
            value = Path(value).expanduser().read_text(encoding="utf-8")
        except (OSError, ValueError):
            return Cluster(problem="its kubeconfig is a path that cannot be read")
    context, cluster = at(provider.inputs, "context"), at(provider.inputs, "cluster")
    if isinstance(value, str):
        return _of_text(value, *(name if isinstance(name, str) else None for name in (context, cluster)))
    return _chosen(plain(value), context, cluster)


@lru_cache(maxsize=8192)
def _of_text(text: str, context: str | None, cluster: str | None) -> Cluster:
    """Cached: each resource repeats its provider."""
    try:
        if nests_too_deeply(text.encode("utf-8", "replace")):
            raise ValueError
        return _chosen(yaml.load(text, Loader=YAML_LOADER), context, cluster)  # noqa: S506 a safe loader
    except UNPARSABLE:
        return Cluster(problem="its kubeconfig does not parse")


def _chosen(tree: Any, context: Any, cluster: Any) -> Cluster:
    """The cluster and the user of the chosen context, or the only one."""
    wanted = context if isinstance(context, str) else at(tree, "current-context")
    within = next((at(c, "context") for c in _list(tree, "contexts") if at(c, "name") == wanted), None)
    name = cluster if isinstance(cluster, str) else at(within, "cluster")
    server = at(chosen := _named(tree, "clusters", name), "cluster", "server")
    if not isinstance(server, str):
        return Cluster(problem="its kubeconfig names no cluster for its context")
    authority = at(chosen, "cluster", "certificate-authority-data", default="")
    user = _named(tree, "users", at(within, "user"))
    own = {value for _, value in _texts(user)}
    others = [text for one in _list(tree, "users") if user and one is not user for text in _texts(one)]
    return Cluster(
        normal_server(server),
        authority if isinstance(authority, str) else "",
        shown=tuple((key, value) for key, value in _texts(user) if key in SHOWN),
        others=tuple(text for text in others if text[1] not in own),
        given=True,
    )


LEAST_CREDENTIAL: Final = 8


def _texts(user: Any) -> list[tuple[str, str]]:
    """The values of a user's entry that are long enough for a credential, each with its key."""
    found = leaves(at(user, "user"))
    return [
        (str(leaf.path[-1]), leaf.value)
        for leaf in found
        if leaf.path and isinstance(leaf.value, str) and len(leaf.value) >= LEAST_CREDENTIAL
    ]


def _named(tree: Any, key: str, name: Any) -> Any:
    entries = _list(tree, key)
    chosen = [one for one in entries if at(one, "name") == name] or (entries if len(entries) == 1 else [])
    return chosen[0] if chosen else None


def _list(tree: Any, key: str) -> list[Any]:
    found = at(tree, key)
    return found if isinstance(found, list) else []


@dataclass(frozen=True)
class Clusters:
    """The roles of a stack's providers. Before writes, providers come one by one (`add`)."""

    stack: Stack
    config: ClusterConfig = ClusterConfig()
    providers: dict[str, Provider] = field(default_factory=dict, init=False)
    """Every cluster provider by URN: those in use, and those only registered."""
    clusters: dict[str, Cluster] = field(default_factory=dict, init=False)
    """The destination of each provider, by its URN."""
    by_server: dict[str, set[Role]] = field(default_factory=dict, init=False)
    """The roles that evidence gives to each API server address. Two roles of one server are a contradiction."""
    by_authority: dict[str, set[Role]] = field(default_factory=dict, init=False)
    """Roles by certificate authority. An address with a path is a proxy's, and its authority shows nothing about the
    cluster behind it."""
    _authorities: dict[str, set[str]] = field(default_factory=dict, init=False)
    _role_by_provider: dict[str, Role] = field(default_factory=dict, init=False)
    _place_by_provider: dict[str, str] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        for role, servers in (
            (Role.CONTROL_PLANE, self.config.control_plane_servers),
            (Role.DATA_PLANE, self.config.data_plane_servers),
        ):
            for server in servers:
                self.by_server.setdefault(server, set()).add(role)
        for resource in self.stack.resources:
            if resource.provider:
                self.add(resource.provider)
        for resource in self.stack.resources:
            if resource.is_provider:
                self.add(resource.as_provider)

    def add(self, provider: Provider) -> None:
        """Adds one provider, unless its URN is present. Constant time."""
        if provider.urn in self.providers or not _reaches_a_cluster(provider):
            return
        self.providers[provider.urn] = provider
        cluster = self.clusters[provider.urn] = cluster_of(provider)
        self._role_by_provider.clear()
        self._place_by_provider.clear()
        if not cluster.server:
            return
        roles = self.by_server.setdefault(cluster.server, set())
        if cluster.server not in self._configured:
            roles.update(self.claimed(provider))
        authorities = self._authorities.setdefault(cluster.server, set())
        if cluster.authority and not _has_path(cluster.server):
            authorities.add(cluster.authority)
        for authority in authorities:
            self.by_authority.setdefault(authority, set()).update(roles)

    @cached_property
    def _configured(self) -> frozenset[str]:
        return frozenset((*self.config.control_plane_servers, *self.config.data_plane_servers))

    def claimed(self, provider: Provider) -> set[Role]:
        """Roles that a provider's name or wrapper claims, without regard to its destination."""
        claims: set[Role] = set()
        identifier = at(provider.inputs, "clusterIdentifier", default="")
        for role, patterns, word in (
            (Role.CONTROL_PLANE, self.config.control_plane_providers, vocabulary.CONTROL_PLANE),
            (Role.DATA_PLANE, self.config.data_plane_providers, vocabulary.DATA_PLANE),
        ):
            wrapped = provider.name == vocabulary.PROVIDER_NAME[word] or str(identifier).startswith(f"{word}-")
            if wrapped and role is Role.CONTROL_PLANE and provider.urn in self.clusters:
                # A name alone does not make the machine's default the control plane's.
                wrapped = self.clusters[provider.urn].given
            if matches(provider, patterns) or wrapped:
                claims.add(role)
        return claims

    def role_of_provider(self, provider: Provider) -> Role:
        """By address, then by certificate authority, then by the provider's claims. Contradictions and silence count as
        unclassified."""
        if at(provider.inputs, "renderYamlToDirectory"):
            return Role.UNCLASSIFIED  # it writes files, for any cluster
        cluster = self.clusters.get(provider.urn) or cluster_of(provider)
        by_address = self.by_server.get(cluster.server, set()) if cluster.server else set()
        for roles in (by_address, self._told_by_authority(cluster), self.claimed(provider)):
            if len(roles) == 1:
                return next(iter(roles))
            if roles:
                return Role.UNCLASSIFIED
        return Role.UNCLASSIFIED

    def _told_by_authority(self, cluster: Cluster) -> set[Role]:
        if not cluster.authority or _has_path(cluster.server):
            return set()
        found = self.by_authority.get(cluster.authority, set())
        return found if found == {Role.DATA_PLANE} else set()

    def place_of(self, provider: Provider) -> str:
        """One name for each owner: a data plane's tenant if declared, else the cluster."""
        if not self.config.data_plane_tenants:
            return self.name_of(provider)
        if provider.urn not in self._place_by_provider:
            is_theirs = self.role_of_provider(provider) is Role.DATA_PLANE
            tenant = self._tenant(self.clusters.get(provider.urn) or cluster_of(provider)) if is_theirs else ""
            self._place_by_provider[provider.urn] = tenant or self.name_of(provider)
        return self._place_by_provider[provider.urn]

    def place_at(self, destination: str) -> str:
        """The owner of an operator's destination, by a cluster's address or by a name that is unique."""
        if "://" not in destination:
            return f"what operators call {destination}"
        is_theirs = self.by_server.get(destination) == {Role.DATA_PLANE}
        authority = next(iter(self._authorities.get(destination, ())), "")
        return (self._tenant(Cluster(destination, authority)) if is_theirs else "") or destination

    def owner_at(self, server: str, authority: str = "") -> str:
        """The owner of the data plane at an address, as in `place_of`. Empty for any other cluster."""
        cluster = Cluster(normal_server(server), authority)
        by_authority = self._told_by_authority(cluster)
        if not by_authority and self.by_server.get(cluster.server) != {Role.DATA_PLANE}:
            return ""
        return self._tenant(cluster) or (authority if by_authority else cluster.server)

    def _tenant(self, cluster: Cluster) -> str:
        """By all addresses of a cluster, including those of its authority."""
        servers = {cluster.server}
        if cluster.authority and not _has_path(cluster.server):
            if Role.CONTROL_PLANE in self.by_authority.get(cluster.authority, ()):
                return ""
            servers |= {server for server, found in self._authorities.items() if cluster.authority in found}
        return owner_of(self.config.data_plane_tenants, servers)

    def name_of(self, provider: Provider) -> str:
        """One name for each cluster: its authority if that decides, else its address, else the provider."""
        cluster = self.clusters.get(provider.urn) or cluster_of(provider)
        if self._told_by_authority(cluster):
            return cluster.authority
        return cluster.server or provider.urn

    def role(self, resource: Resource) -> Role | None:
        """The owner of a resource's cluster; None for a resource of no cluster (a key, a stack, a component)."""
        if resource.provider is None or not _reaches_a_cluster(resource.provider):
            return None
        urn = resource.provider.urn
        if urn not in self._role_by_provider:
            self._role_by_provider[urn] = self.role_of_provider(resource.provider)
        return self._role_by_provider[urn]

    def on_data_plane(self, resource: Resource) -> bool:
        """True for an object of a data plane's or an unclassified cluster."""
        return self.role(resource) in {Role.DATA_PLANE, Role.UNCLASSIFIED}

    def on_control_plane(self, resource: Resource) -> bool:
        return self.role(resource) is Role.CONTROL_PLANE

    def is_data_plane_authority(self, authority: str) -> bool:
        """True for the certificate authority of data planes alone, none of them behind a proxy."""
        return bool(authority) and self.by_authority.get(authority, set()) == {Role.DATA_PLANE}

    def is_data_plane_server(self, address: str) -> bool:
        """True for the address of a declared data plane's cluster, or of the cluster of the Pod itself."""
        if not address or normal_server(address).startswith(IN_CLUSTER):
            return bool(address)
        return self.by_server.get(normal_server(address), set()) == {Role.DATA_PLANE}


def _has_path(server: str) -> bool:
    return "/" in server.partition("://")[2]


def _reaches_a_cluster(provider: Provider) -> bool:
    return provider.type == "pulumi:providers:kubernetes" or (
        isinstance(provider.inputs, dict) and any(key in provider.inputs for key in KUBECONFIG_KEYS)
    )


def matches(provider: Provider, patterns: Iterable[str]) -> bool:
    """True for a provider that the settings name."""
    return is_called(names_of(provider.type.rpartition(":")[2], provider.name, provider.urn), patterns)


def names_of(package: str, name: str, urn: str) -> tuple[str, ...]:
    """A provider's names in the settings: its name, its URN, or its package and name (`command:*`)."""
    return (name, f"{package}:{name}", *([urn] if urn else []))


def is_called(names: Iterable[str], patterns: Iterable[str]) -> bool:
    """True if one of the names fits a pattern. `*` matches any text; a bracket is an ordinary letter, since a loop's
    providers have some in their names."""
    literal = [pattern.replace("[", "[[]") for pattern in patterns]
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in literal for name in names)
