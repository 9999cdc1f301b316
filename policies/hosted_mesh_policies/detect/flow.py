"""The flow detector: which secrets are the control plane's, and by which resources do they reach a user's cluster?

It needs no values, only who depends on whom and which values are marked secret, so it works at the first preview.

- A *source* is a resource with secret outputs: a generated key or password, a Secret, another stack.
- A source is the control plane's when a control-plane component made it, or when it flows into the provider's cluster,
  or when it signs a certificate for a key that does. Anything else is the user's own.
- Certificates and public keys declassify: their public outputs do not carry the key. Which output was used is told by
  the secret mark; where a mark may have been lost, by whether the source has any public output at all.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from .. import vocabulary
from ..plan.clusters import Clusters
from ..plan.model import REFERENCE_TYPE, SECRET_DATA, STACK_TYPE, Resource, Stack
from ..plan.tree import UNKNOWN, Path, Tree, leaves
from .fingerprints import fingerprints
from .index import Index
from .own_secrets import ALL_SECRET_TYPES, KEY_TYPE, secret_leaves
from .places import text_of
from .value import inspect

CERTIFICATE_TYPES: Final = frozenset(
    f"tls:index/{name}"
    for name in ("selfSignedCert:SelfSignedCert", "locallySignedCert:LocallySignedCert", "certRequest:CertRequest")
)
"""Declassifiers. Each repeats a private key among its outputs, marked secret (FACTS: `private_key_pem`)."""
PACKAGES_THAT_MARK: Final = frozenset(
    [
        "kubernetes",
        "tls",
        "random",
        "pulumi",
        "aws",
        "aws-native",
        "azure",
        "azure-native",
        "gcp",
        "google-native",
        "digitalocean",
        "eks",
        "cloudflare",
        "hcloud",
        "linode",
        "openstack",
        "ovh",
        "vault",
        "hosted-mesh",
    ]
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
    places: tuple[Path, ...]
    path: tuple[Hop, ...]


class Use(NamedTuple):
    """How a property uses what it depends on: where it holds values marked secret, and where values not known yet."""

    marked: tuple[Path, ...]
    unknown: tuple[Path, ...]


def use_of(value: Tree, name: str) -> Use:
    """Where a property holds marked and unknown values."""
    found = list(leaves(value, (name,)))
    return Use(
        tuple(leaf.path for leaf in found if leaf.secret), tuple(leaf.path for leaf in found if leaf.value is UNKNOWN)
    )


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
            for name in resource.sources:
                found[resource.urn, name] = use_of(tree.get(name), name)
        return found

    def is_source(self, resource: Resource) -> bool:
        """True for a resource that has secrets of its own."""
        if resource.type in ALL_SECRET_TYPES or resource.type == KEY_TYPE or resource.kind == "Secret":
            return True
        outputs = resource.outputs if isinstance(resource.outputs, dict) else {}
        return resource.type != STACK_TYPE and any(leaf.secret for leaf in leaves(outputs))

    def carries(self, resource: Resource, name: str, source: Resource) -> bool:
        """True when a property that depends on `source` gets a secret of it, or may.

        The SDKs send an unknown value without its secret mark, so before a value is known nothing tells which output of
        a source was used. Then a certificate is taken to be used for its public part (it is a declassifier), a key or a
        Secret for its secret. Secrets' data is always marked, by the SDK, so there the mark tells nothing.
        """
        if source.type in ALL_SECRET_TYPES or self._is_private_input(resource, name):
            return True
        use = self.uses[resource.urn, name]
        told_by_mark = not (resource.kind == "Secret" and name in SECRET_DATA)
        if use.marked and told_by_mark and not use.unknown:
            return True
        if source.type in CERTIFICATE_TYPES or source.type == REFERENCE_TYPE:
            return bool(use.marked) and told_by_mark
        if use.unknown and self.is_source(source):
            return True
        if not told_by_mark and self.is_source(source):
            return self._holds(resource, name, source)
        return source.type.count(":") > 1 and source.type.split(":")[0] not in PACKAGES_THAT_MARK

    def _holds(self, resource: Resource, name: str, source: Resource) -> bool:
        """Whether a known property has a known secret of a source in it. A source whose secrets are not known may."""
        index = self._fingerprints.get(source.urn)
        if index is None:
            index = self._fingerprints[source.urn] = Index()
            for tree in (source.outputs, source.inputs):
                for _, value in secret_leaves(source, tree):
                    index.add(fingerprints(value), source.urn)
        if not len(index):
            return True
        tree = resource.asked.get(name) if isinstance(resource.asked, dict) else None
        return bool(inspect(text_of(tree), index, look_for_shapes=False).matches)

    @cached_property
    def _fingerprints(self) -> dict[str, Index]:
        return {}

    @staticmethod
    def _is_private_input(resource: Resource, name: str) -> bool:
        """Inputs of certificates that take a key, whatever their marks."""
        return resource.type in CERTIFICATE_TYPES and "rivate" in name

    @cached_property
    def owned(self) -> frozenset[str]:
        """URNs of the sources, and of what their secrets passed through, that are the control plane's."""
        found = {r.urn for r in self.stack.by_urn.values() if self._is_born_on_control_plane(r)}
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
        """`owned`, and what holds or may hold a secret of those because it took one in: certificates (which repeat
        their keys), commands, custom providers. Not what is on a user's cluster: that is where the path ends."""
        found = set(self.owned)
        todo = list(found)
        while todo:
            source = self.stack.by_urn[todo.pop()]
            for user in self._users_by_source.get(source.urn, ()):
                if user.urn in found or user.provider is None or self.clusters.role(user) is not None:
                    continue
                if any(source.urn in urns and self.carries(user, name, source) for name, urns in user.sources.items()):
                    found.add(user.urn)
                    todo.append(user.urn)
        return frozenset(found)

    def _is_born_on_control_plane(self, resource: Resource) -> bool:
        if resource.type == REFERENCE_TYPE:
            return not self._is_users(resource)
        if self.clusters.on_control_plane(resource):
            return True
        if resource.read_only and resource.provider is None and resource.kind == "Secret":
            return True  # read from a cluster that the engine does not name
        if resource.urn in self.clusters.providers:
            return self.clusters.role_of_provider(self.clusters.providers[resource.urn]).name == "CONTROL_PLANE"
        return not self.clusters.on_data_plane(resource) and any(
            kind in vocabulary.CONTROL_PLANE_TYPES for kind in self.stack.ancestor_types(resource)
        )

    def _is_users(self, resource: Resource) -> bool:
        """A stack that the configuration says is the user's, and anything that a data-plane component made."""
        if resource.type == REFERENCE_TYPE:
            stack = resource.name.rpartition("/")[2]  # organization/project/stack
            return any(fnmatch.fnmatchcase(stack, pattern) for pattern in self.user_side_stacks)
        types = self.stack.ancestor_types(resource)
        return any(kind in vocabulary.DATA_PLANE_TYPES for kind in types) and not any(
            kind in vocabulary.CONTROL_PLANE_TYPES for kind in types
        )

    def _secrets_into(self, resource: Resource) -> Iterator[Resource]:
        """The resources whose secrets this one gets; for a certificate on a control-plane key, its signer too."""
        for name, urns in resource.sources.items():
            for urn in urns:
                source = self.stack.by_urn.get(urn)
                if source is not None and self._gives_away(resource, name, source):
                    yield source
        if resource.type == KEY_TYPE or resource.type in CERTIFICATE_TYPES:
            yield from self._signers_of(resource)

    def _gives_away(self, resource: Resource, name: str, source: Resource) -> bool:
        """As `carries`, but where nothing is known yet a key in an object that is no Secret is its public half: people
        keep keys in Secrets, and the user's public key in the provider's cluster must not make the key the provider's.
        """
        if source.type == KEY_TYPE and self.uses[resource.urn, name].unknown and resource.is_kubernetes:
            return resource.kind == "Secret"
        return self.carries(resource, name, source)

    def is_users_alone(self, resource: Resource, name: str) -> bool:
        """True when what a property holds comes from elsewhere, and none of it from a control-plane source: a token of
        the user's cluster that the provider keeps, a random id."""
        sources = [found for urn in resource.sources.get(name, ()) if (found := self.stack.by_urn.get(urn))]
        return bool(sources) and not any(source.urn in self.tainted for source in sources)

    def _signers_of(self, key: Resource) -> Iterator[Resource]:
        """Who signs the certificates of a key: with that signer's key, anybody could make this one's identity."""
        for request in self._users_by_source.get(key.urn, ()):
            if request.type in CERTIFICATE_TYPES:
                for certificate in self._users_by_source.get(request.urn, ()):
                    if certificate.type in CERTIFICATE_TYPES and request.urn in certificate.sources.get(
                        "certRequestPem", ()
                    ):
                        for urn in certificate.sources.get("caPrivateKeyPem", ()):
                            if signer := self.stack.by_urn.get(urn):
                                yield signer

    @cached_property
    def _users_by_source(self) -> Mapping[str, list[Resource]]:
        found: dict[str, list[Resource]] = {}
        for resource in self.stack.resources:
            for urn in {urn for urns in resource.sources.values() for urn in urns}:
                found.setdefault(urn, []).append(resource)
        return found

    def leaks(self) -> Iterator[Leak]:
        """Every property of a data-plane resource that a control-plane secret reaches."""
        for resource in self.stack.resources:
            if self.clusters.on_data_plane(resource) and not resource.read_only:
                for name, urns in resource.sources.items():
                    if path := self._path_into(resource, name, urns):
                        use = self.uses[resource.urn, name]
                        yield Leak(resource, name, use.marked or use.unknown, path)

    def _path_into(self, resource: Resource, name: str, urns: tuple[str, ...]) -> tuple[Hop, ...]:
        sources = [found for urn in urns if (found := self.stack.by_urn.get(urn)) is not None]
        guilty = [s for s in sources if s.urn in self.tainted and self.carries(resource, name, s)]
        if any(self.is_source(s) and s.urn not in self.tainted for s in sources):
            # The mark is that of the user's own secret beside a public certificate.
            guilty = [s for s in guilty if s.type not in CERTIFICATE_TYPES | {REFERENCE_TYPE}]
        if not guilty:
            return ()
        # Of several, tell of the one whose secret it is, as far as values are known; a certificate only repeats a key.
        source = min(guilty, key=lambda s: (not self._holds(resource, name, s), s.type in CERTIFICATE_TYPES))
        return (*self._origin_path(source), Hop(source.urn, name))

    def _origin_path(self, resource: Resource) -> tuple[Hop, ...]:
        """The way from where a secret was made to a resource that holds it. Cycles end it."""
        hops: list[Hop] = []
        seen = {resource.urn}
        while True:
            step = next(
                (
                    (source, name)
                    for name, urns in resource.sources.items()
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
