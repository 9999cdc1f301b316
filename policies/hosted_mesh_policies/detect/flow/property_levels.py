"""The level of each property towards its sources, and the sources with secrets in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from hosted_mesh_plan.clusters import KUBECONFIG_KEYS, Role
from hosted_mesh_plan.model import REFERENCE_TYPE, SECRET_DATA, STACK_TYPE, Resource, Stack
from hosted_mesh_plan.owners import BUILDERS, CLOUDS, Owners
from hosted_mesh_plan.tree import UNKNOWN, Leaf, Path, at, leaves

from ..decoders.layers import views
from ..decoders.text import TooMuchError
from ..leaf.content import as_bytes, from_base64
from ..leaf.level import LEAST_SECRET, Level
from ..leaf.names import describes, is_secrets_name, names_credential
from ..leaf.public_structure import has_shown_digest, is_public
from ..search.index import Index, in_letters
from ..secrets.fingerprints import fingerprints
from ..secrets.resource_secrets import secret_leaves
from ..secrets.resource_types import (
    ALL_SECRET_TYPES,
    CERTIFICATE_TYPES,
    CHART_TYPES,
    KEY_TYPE,
    PUBLIC_TOO,
    RANDOM_TEXTS,
    is_clouds_secret,
    is_random,
    keeps_status,
)
from .expected_contents import called, expects_public_half, expects_secret, is_pin

_KEYS: Final = re.compile(rb"-----BEGIN|\b(?:ssh|ecdsa)-|\x30\x82")
"""Values with a fingerprint: PEM, an OpenSSH line, DER."""
Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class PropertyFlow:
    """How a property uses its sources. `holds`: the sources with secrets found in it."""

    marked: tuple[Path, ...]
    unknown: tuple[Path, ...]
    undecided: tuple[Leaf, ...]
    """Known values left undecided by marks, structure and other sources' secrets."""
    digests: tuple[Path, ...]
    """Known, marked values that are public as a digest, unless it is a password's digest."""
    holds: frozenset[str]
    places: tuple[Path, ...]

    @property
    def is_public(self) -> bool:
        """True if all values are present, and public by its structure."""
        return not (self.marked or self.unknown or self.undecided or self.holds)


def _remembered(
    compute: Callable[Concatenate[PropertyFlows, Asked], Answer],
) -> Callable[Concatenate[PropertyFlows, Asked], Answer]:
    """A method of `PropertyFlows` with each answer computed once, by the resources' URNs."""

    @wraps(compute)
    def answer(uses: PropertyFlows, /, *asked: Asked.args, **named: Asked.kwargs) -> Answer:
        key = (compute, *(one.urn if isinstance(one, Resource) else one for one in asked))
        if key not in uses._answers:
            uses._answers[key] = compute(uses, *asked, **named)
        found: Answer = uses._answers[key]
        return found

    return answer


@dataclass(frozen=True)
class PropertyFlows:
    """The properties of a whole stack's resources."""

    stack: Stack
    owners: Owners

    @cached_property
    def _answers(self) -> dict[Hashable, Any]:
        return {}

    @_remembered
    def is_source(self, resource: Resource) -> bool:
        """True for a resource with secrets of its own, or possibly so."""
        kind = resource.type
        if kind in ALL_SECRET_TYPES | {KEY_TYPE, REFERENCE_TYPE} or resource.kind == "Secret":
            return True
        if kind == STACK_TYPE or resource.is_provider:
            return False
        outputs = resource.outputs if isinstance(resource.outputs, dict) else {}
        return (
            any(leaf.secret for leaf in leaves(outputs))
            or is_clouds_secret(resource)
            or resource.urn in self._opening
            or resource.urn in self._kept_alone
            or (keeps_status(resource) and self._may_have_secrets(resource, at(outputs, "status")))
        )

    @staticmethod
    def _may_have_secrets(resource: Resource, status: object) -> bool:
        return not status or status is UNKNOWN or any(True for _ in secret_leaves(resource, resource.outputs))

    @_remembered
    def use(self, resource: Resource, name: str) -> PropertyFlow:
        tree = resource.asked if isinstance(resource.asked, dict) else {}
        in_secret = resource.kind == "Secret" and name in SECRET_DATA
        marked: list[Path] = []
        unknown: list[Path] = []
        undecided: list[Leaf] = []
        digests: list[Path] = []
        holds: set[str] = set()
        places: list[Path] = []
        for leaf in leaves(tree.get(name), (name,)):
            if leaf.value is UNKNOWN:
                unknown.append(leaf.path)
                continue
            data = as_bytes(leaf.value)
            if len(data) < LEAST_SECRET and not leaf.secret:
                continue
            data = from_base64(data) if in_secret and name == "data" else data
            if found := self.found_in(data):
                holds |= found
                places.append(leaf.path)
            if not data or is_public(data, self.stack.names):
                if leaf.secret and has_shown_digest(data):
                    digests.append(leaf.path)
                continue
            if leaf.secret and not in_secret:
                marked.append(leaf.path)
            elif not found and data not in self._configured:
                undecided.append(leaf)
        return PropertyFlow(
            tuple(marked), tuple(unknown), tuple(undecided), tuple(digests), frozenset(holds), tuple(places)
        )

    def level(self, resource: Resource, name: str, source: Resource) -> Level:
        """The level of a property towards one source.

        The SDKs send an unknown value without its secret mark, so an unknown value does not show the output that it
        uses. The SDK marks all data of a Secret, so its mark shows nothing.
        """
        if self.owners.is_deployers_login(resource, name):
            return Level.PUBLIC
        if resource.type in CERTIFICATE_TYPES and "private" in name.lower():
            return Level.SECRET
        use = self.use(resource, name)
        if use.digests and self._is_of_passwords(source):
            return Level.SECRET
        if use.is_public:
            return Level.PUBLIC
        if source.type in ALL_SECRET_TYPES or source.urn in use.holds:
            return Level.SECRET
        if use.marked and not (source.type in PUBLIC_TOO and self._has_hidden_source(resource, name)):
            return Level.SECRET
        if use.unknown and self._gives_unknown(source) and not self.are_facts(resource, source, use.unknown):
            return Level.SECRET if self.is_source(source) else Level.MAYBE
        if source.type.split(":")[0] in CLOUDS and any(expects_secret(resource, place) for place in use.unknown):
            return Level.SECRET
        if use.unknown and source.urn in self._opening and resource.kind == "Secret" and name in SECRET_DATA:
            return Level.SECRET
        if use.undecided and self._may_be_in(resource, name, source, use.undecided):
            return Level.MAYBE
        return Level.PUBLIC

    @staticmethod
    def _is_of_passwords(source: Resource) -> bool:
        """True if no present output of a source has a public half or a fingerprint."""
        kept = [value for _, value in secret_leaves(source, source.outputs)] if source.kind == "Secret" else []
        return is_random(source) or (bool(kept) and not any(map(_KEYS.search, kept)))

    def are_facts(self, resource: Resource, source: Resource, places: tuple[Path, ...]) -> bool:
        """True if the values to come from a source with facts are in places named for facts. Then the write is
        judged."""
        if source.type == KEY_TYPE:
            return all(expects_public_half(resource, place) for place in places)
        hidden = source.kind == "Secret" or source.type.startswith(("random:", "tls:")) or source.type in PUBLIC_TOO
        return not hidden and all(
            len(place) > 1 and (describes(called(resource, place)) or place[-2] == "remoteRef") for place in places
        )

    def _gives_unknown(self, source: Resource) -> bool:
        if source.type in PUBLIC_TOO:
            return self._says_a_secret(source)
        if source.type.split(":")[0] in CLOUDS:
            return (is_clouds_secret(source) and not self._was_given(source)) or self._is_store(source)
        return source.type not in CHART_TYPES and source.type not in BUILDERS

    @staticmethod
    def _was_given(source: Resource) -> bool:
        """True if a resource's secrets are inputs: then its outputs are facts, such as an ARN or a version."""
        asked = source.asked if isinstance(source.asked, dict) else {}
        given = (leaf for name, tree in asked.items() if is_secrets_name(name) for leaf in leaves(tree))
        return any(leaf.secret or leaf.value is UNKNOWN or not is_public(as_bytes(leaf.value)) for leaf in given)

    @_remembered
    def _says_a_secret(self, certificate: Resource) -> bool:
        """True if a certificate contains a secret, such as in its subject. Its signing key is not contained."""
        said = [name for name in certificate.sources if "private" not in name.lower()]
        return certificate.type in CERTIFICATE_TYPES and any(
            source.type in ALL_SECRET_TYPES or self._says_a_secret(source)
            for source in self.stack.sources_of(certificate, *said)
        )

    @cached_property
    def _opening(self) -> frozenset[str]:
        """URNs of the sources of a control-plane provider's kubeconfig."""
        clusters = self.owners.clusters
        return frozenset(
            source.urn
            for resource in self.stack.resources
            if resource.is_provider and clusters.role_of_provider(resource.as_provider) is Role.CONTROL_PLANE
            for source in self.stack.sources_of(resource, *KUBECONFIG_KEYS)
            if source.type not in PUBLIC_TOO
        )

    @cached_property
    def _kept_alone(self) -> frozenset[str]:
        """URNs of unmarked random texts that are the only unknown values of a Secret of the control plane whose keys
        name credentials; the SDK shows none."""
        found: set[str] = set()
        for resource in self.stack.resources:
            if resource.kind == "Secret" and self.owners.clusters.on_control_plane(resource):
                for name in set(SECRET_DATA) & resource.sources.keys():
                    unknown = [leaf.path for leaf in leaves(at(resource.asked, name), (name,)) if leaf.value is UNKNOWN]
                    named = all(names_credential(str(path[-1])) for path in unknown if len(path) > 1)
                    kept = self.stack.sources_of(resource, name)
                    if unknown and named and all(one.type in RANDOM_TEXTS for one in kept):
                        found.update(one.urn for one in kept)
        return frozenset(found)

    @staticmethod
    def _is_store(source: Resource) -> bool:
        return bool(re.search(r"object|blob|parameter|file", source.type.rpartition(":")[2], re.IGNORECASE))

    @_remembered
    def _has_hidden_source(self, resource: Resource, name: str) -> bool:
        """True if a mark comes from a source of secrets alone, and not from a mostly public source beside it."""
        sources = [source for source in self.stack.sources_of(resource, name) if source.urn in self._known]
        return any(source.type not in PUBLIC_TOO and self.is_source(source) for source in sources)

    def _may_be_in(self, resource: Resource, name: str, source: Resource, undecided: tuple[Leaf, ...]) -> bool:
        """True if a present, unexplained value may be a source's secret in disguise."""
        if source.urn not in self._known:
            # Its secrets are not shown. The program has another stack's, so the value may be one; a value made
            # from any other unknown secret would be unknown too.
            hidden = source.type == REFERENCE_TYPE or source.read_only or not self.is_new(source)
            return hidden and resource.kind == "Secret" and name in SECRET_DATA
        if source.type == KEY_TYPE:
            undecided = tuple(one for one in undecided if not is_pin(resource, one))
        shown = (*self._shown_by(source), *self._answered_beside(resource, name))
        return source.type not in PUBLIC_TOO and not all(self._is_what_is_shown(leaf, shown) for leaf in undecided)

    def is_new(self, source: Resource) -> bool:
        """True while a source's own outputs are unknown."""
        outputs = source.outputs if source.outputs is not None else {}
        return any(leaf.value is UNKNOWN for leaf in leaves(outputs)) or not outputs

    @cached_property
    def _configured(self) -> frozenset[bytes]:
        return frozenset(self.stack.config.get(key, "").encode() for key in self.stack.secret_config_keys)

    def _is_what_is_shown(self, leaf: Leaf, shown: Iterable[bytes]) -> bool:
        """True if a source's public outputs are the only odd parts of a value."""
        rest = as_bytes(leaf.value)
        for one in sorted(shown, key=len, reverse=True):
            rest = rest.replace(one, b"")
        return is_public(rest, self.stack.names)

    def _answered_beside(self, resource: Resource, name: str) -> Iterator[bytes]:
        """Public outputs of the clouds that a property comes from: their packages mark secrets. Inputs are excluded:
        the program may have made them from a secret."""
        for source in self.stack.sources_of(resource, name):
            if source.type.split(":")[0] in CLOUDS and not self._is_store(source):
                asked = {as_bytes(leaf.value) for leaf in leaves(source.asked) if leaf.value is not UNKNOWN}
                yield from (one for one in self._shown_by(source) if one not in asked)

    @_remembered
    def _shown_by(self, source: Resource) -> list[bytes]:
        tree = source.outputs if isinstance(source.outputs, dict) else {}
        open_to_all = leaves({name: value for name, value in tree.items() if name not in SECRET_DATA})
        found = {as_bytes(one.value) for one in open_to_all if not one.secret and one.value is not UNKNOWN}
        return sorted((one for one in found if len(one) >= 4), key=len, reverse=True)[:200]

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(urn for urns in self._holders for urn in urns)

    @cached_property
    def _holders(self) -> list[list[str]]:
        by_fingerprint: dict[bytes, list[str]] = {}
        for source in self.stack.resources:
            if source.urn not in self._depended_on or not self.is_source(source):
                continue
            # One generated password in 300 has a public form.
            certain = source.type in ALL_SECRET_TYPES or is_random(source)
            for tree in (source.outputs, source.inputs):
                for path, value in secret_leaves(source, tree):
                    name = str(path[-1])
                    for one in fingerprints(value, certain=certain, name=name, names=self.stack.names):
                        urns = by_fingerprint.setdefault(one, [])
                        if source.urn not in urns[-1:]:
                            urns.append(source.urn)
        for number, one in enumerate(by_fingerprint):
            self._index.add([one], str(number))
        return list(by_fingerprint.values())

    @cached_property
    def _index(self) -> Index:
        return Index()

    @cached_property
    def _depended_on(self) -> frozenset[str]:
        return frozenset(urn for r in self.stack.resources for urns in r.dependencies.values() for urn in urns)

    @_remembered
    def found_in(self, data: bytes) -> frozenset[str]:
        """The sources with secrets found in a value, in any wrapping."""
        holders = self._holders
        found: set[str] = set()
        if len(self._index) and len(data) >= LEAST_SECRET:
            with suppress(TooMuchError):  # the value detector rejects it
                for view in views(data):
                    for hit in (*self._index.search(view.data), *in_letters(view.data, self._index)):
                        found.update(holders[int(self._index.origins[hit.origin])])
        return frozenset(found)
