"""The flow detector: which secrets are the control plane's, and by which resources do they reach a user's cluster?

It needs no values, only who depends on whom and which values are marked secret, so it works at the first preview.

- A *source* is a resource with secret outputs: a generated key or password, a Secret, another stack.
- A source is the control plane's when a control-plane component made it, or when it flows into the provider's cluster,
  or when it signs a certificate for a key that does. Anything else is the user's own.
- Certificates and public keys declassify: their public outputs do not carry the key. Which output was used is told by
  the secret mark; where a mark may have been lost, by whether the source has any public output at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from .. import vocabulary
from ..clusters import Clusters
from ..model import REFERENCE_TYPE, STACK_TYPE, Resource, Stack
from ..tree import Path, Tree, leaves

ALL_SECRET_TYPES: Final = frozenset(
    f"random:index/{name}" for name in ("randomPassword:RandomPassword", "randomBytes:RandomBytes")
)
"""Sources with no public output: a dependency on one is a dependency on the secret, marked or not."""
KEY_TYPE: Final = "tls:index/privateKey:PrivateKey"
CERTIFICATE_TYPES: Final = frozenset(
    f"tls:index/{name}"
    for name in ("selfSignedCert:SelfSignedCert", "locallySignedCert:LocallySignedCert", "certRequest:CertRequest")
)
"""Declassifiers. Each repeats a private key among its outputs, marked secret (FACTS: `private_key_pem`)."""
PACKAGES_THAT_MARK: Final = frozenset(
    "kubernetes tls random pulumi aws aws-native azure azure-native gcp google-native digitalocean eks cloudflare "
    "hcloud linode openstack ovh vault hosted-mesh".split()
)
"""Packages whose providers mark each secret output, so that an unmarked output of theirs is public. Any other package's
output is taken to carry the secrets that went in."""


class Hop(NamedTuple):
    """One step of a path: a resource, and the property of the next one that uses it."""

    urn: str
    property: str


@dataclass(frozen=True, slots=True)
class Leak:
    """A control-plane secret that reaches a property of a data-plane resource. `path` starts at the secret's source."""

    resource: Resource
    property: str
    marked: tuple[Path, ...]
    path: tuple[Hop, ...]


class Use(NamedTuple):
    """How a property uses what it depends on: does it hold values marked secret, and where."""

    secret: bool
    marked: tuple[Path, ...]


def use_of(value: Tree, name: str) -> Use:
    """Where a property holds values marked secret."""
    marked = tuple(leaf.path for leaf in leaves(value, (name,)) if leaf.secret)
    return Use(bool(marked), marked)


@dataclass(frozen=True)
class Flow:
    """The graph of a whole stack's resources."""

    stack: Stack
    clusters: Clusters
    user_side_stacks: tuple[str, ...] = ()

    @cached_property
    def uses(self) -> Mapping[tuple[str, str], Use]:
        found: dict[tuple[str, str], Use] = {}
        for resource in self.stack.resources:
            tree = resource.asked if isinstance(resource.asked, dict) else {}
            for name in resource.dependencies:
                found[resource.urn, name] = use_of(tree.get(name), name)
        return found

    def is_source(self, resource: Resource) -> bool:
        """True for a resource that has secrets of its own."""
        if resource.type in ALL_SECRET_TYPES or resource.type == KEY_TYPE or resource.kind == "Secret":
            return True
        outputs = resource.outputs if isinstance(resource.outputs, dict) else {}
        return resource.type != STACK_TYPE and any(leaf.secret for leaf in leaves(outputs))

    def carries(self, resource: Resource, name: str, source: Resource) -> bool:
        """True when a property that depends on `source` gets a secret of it, or may."""
        if source.type in ALL_SECRET_TYPES or self._is_private_input(resource, name):
            return True
        if self.uses[resource.urn, name].secret:
            return True
        return source.type.count(":") > 1 and source.type.split(":")[0] not in PACKAGES_THAT_MARK

    @staticmethod
    def _is_private_input(resource: Resource, name: str) -> bool:
        """Inputs of certificates that take a key, whatever their marks."""
        return resource.type in CERTIFICATE_TYPES and "rivate" in name

    @cached_property
    def owned(self) -> frozenset[str]:
        """URNs of the sources, and of what their secrets passed through, that are the control plane's."""
        found = {r.urn for r in self.stack.resources if self._is_born_on_control_plane(r)}
        todo = list(found)
        while todo:
            resource = self.stack.by_urn[todo.pop()]
            for source in self._secrets_into(resource):
                if source.urn not in found and not self.clusters.on_data_plane(source) and not self._is_users(source):
                    found.add(source.urn)
                    todo.append(source.urn)
        return frozenset(found)

    @cached_property
    def tainted(self) -> frozenset[str]:
        """`owned`, and what holds or may hold a secret of those because it took one in: certificates (which repeat their
        keys), commands, custom providers. Not what is on a user's cluster: that is where the path ends."""
        found = set(self.owned)
        todo = list(found)
        while todo:
            source = self.stack.by_urn[todo.pop()]
            for user in self._users_by_source.get(source.urn, ()):
                if user.urn in found or user.provider is None or self.clusters.role(user) is not None:
                    continue
                if any(source.urn in urns and self.carries(user, name, source) for name, urns in user.dependencies.items()):
                    found.add(user.urn)
                    todo.append(user.urn)
        return frozenset(found)

    def _is_born_on_control_plane(self, resource: Resource) -> bool:
        if resource.type == REFERENCE_TYPE:
            return not self._is_users(resource)
        if self.clusters.on_control_plane(resource):
            return True
        if resource.urn in self.clusters.providers:
            return self.clusters.role_of_provider(self.clusters.providers[resource.urn]).name == "CONTROL_PLANE"
        return not self.clusters.on_data_plane(resource) and any(
            kind in vocabulary.CONTROL_PLANE_TYPES for kind in self.stack.ancestor_types(resource)
        )

    def _is_users(self, resource: Resource) -> bool:
        """A stack that the configuration says is the user's, and anything that a data-plane component made."""
        if resource.type == REFERENCE_TYPE:
            return any(name in resource.name for name in self.user_side_stacks)
        types = self.stack.ancestor_types(resource)
        return any(kind in vocabulary.DATA_PLANE_TYPES for kind in types) and not any(
            kind in vocabulary.CONTROL_PLANE_TYPES for kind in types
        )

    def _secrets_into(self, resource: Resource) -> Iterator[Resource]:
        """The resources whose secrets this one gets; for a certificate on a control-plane key, its signer too."""
        for name, urns in resource.dependencies.items():
            for urn in urns:
                source = self.stack.by_urn.get(urn)
                if source is not None and self.carries(resource, name, source):
                    yield source
        if resource.type == KEY_TYPE or resource.type in CERTIFICATE_TYPES:
            yield from self._signers_of(resource)

    def _signers_of(self, key: Resource) -> Iterator[Resource]:
        """Who signs the certificates of a key: with that signer's key, anybody could make this one's identity."""
        for request in self._users_by_source.get(key.urn, ()):
            if request.type in CERTIFICATE_TYPES:
                for certificate in self._users_by_source.get(request.urn, ()):
                    if certificate.type in CERTIFICATE_TYPES and request.urn in certificate.dependencies.get(
                        "certRequestPem", ()
                    ):
                        for urn in certificate.dependencies.get("caPrivateKeyPem", ()):
                            if signer := self.stack.by_urn.get(urn):
                                yield signer

    @cached_property
    def _users_by_source(self) -> Mapping[str, list[Resource]]:
        found: dict[str, list[Resource]] = {}
        for resource in self.stack.resources:
            for urn in {urn for urns in resource.dependencies.values() for urn in urns}:
                found.setdefault(urn, []).append(resource)
        return found

    def leaks(self) -> Iterator[Leak]:
        """Every property of a data-plane resource that a control-plane secret reaches."""
        for resource in self.stack.resources:
            if self.clusters.on_data_plane(resource) and not resource.read_only:
                for name, urns in resource.dependencies.items():
                    if path := self._path_into(resource, name, urns):
                        yield Leak(resource, name, self.uses[resource.urn, name].marked, path)

    def _path_into(self, resource: Resource, name: str, urns: tuple[str, ...]) -> tuple[Hop, ...]:
        sources = [found for urn in urns if (found := self.stack.by_urn.get(urn)) is not None]
        explained = any(self.is_source(s) and s.urn not in self.tainted for s in sources)
        for source in sources:
            if source.urn not in self.tainted or not self.carries(resource, name, source):
                continue
            if explained and source.type in CERTIFICATE_TYPES | {REFERENCE_TYPE}:
                continue  # the mark is that of the user's own secret beside a public certificate
            return (*self._origin_path(source), Hop(source.urn, name))
        return ()

    def _origin_path(self, resource: Resource) -> tuple[Hop, ...]:
        """The way from where a secret was made to a resource that holds it. Cycles end it."""
        hops: list[Hop] = []
        seen = {resource.urn}
        while True:
            step = next(
                (
                    (source, name)
                    for name, urns in resource.dependencies.items()
                    for urn in urns
                    if urn not in seen
                    and (source := self.stack.by_urn.get(urn)) is not None
                    and urn in self.tainted
                    and self.carries(resource, name, source)
                ),
                None,
            )
            if step is None:
                return tuple(hops[::-1])
            resource, name = step
            seen.add(resource.urn)
            hops.append(Hop(resource.urn, name))
