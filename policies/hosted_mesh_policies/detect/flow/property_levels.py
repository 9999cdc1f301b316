"""What a property holds of what it depends on: the level of each, and the sources whose known secrets are in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from ...plan.clusters import KUBECONFIG_KEYS, Role
from ...plan.model import REFERENCE_TYPE, SECRET_DATA, STACK_TYPE, Resource, Stack
from ...plan.owners import BUILDERS, CLOUDS, Owners
from ...plan.tree import UNKNOWN, Leaf, Path, at, leaves
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
"""What has a fingerprint: PEM, a line of OpenSSH's, DER."""
Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Use:
    """How a property uses what it depends on. `holds` are the sources whose known secrets were found in it."""

    marked: tuple[Path, ...]
    unknown: tuple[Path, ...]
    undecided: tuple[Leaf, ...]
    """Known values that neither a mark, nor their structure, nor another source's secret in them decides about."""
    digests: tuple[Path, ...]
    """Known values that are marked, and public by a digest in them: unless it is one of a password."""
    holds: frozenset[str]
    places: tuple[Path, ...]

    @property
    def is_public(self) -> bool:
        """True when everything is known, and public by its structure."""
        return not (self.marked or self.unknown or self.undecided or self.holds)


def _remembered(compute: Callable[Concatenate[Uses, Asked], Answer]) -> Callable[Concatenate[Uses, Asked], Answer]:
    """A method of `Uses` that computes each answer once; resources are told apart by their URNs."""

    @wraps(compute)
    def answer(uses: Uses, /, *asked: Asked.args, **named: Asked.kwargs) -> Answer:
        key = (compute, *(one.urn if isinstance(one, Resource) else one for one in asked))
        if key not in uses._answers:
            uses._answers[key] = compute(uses, *asked, **named)
        found: Answer = uses._answers[key]
        return found

    return answer


@dataclass(frozen=True)
class Uses:
    """The properties of a whole stack's resources."""

    stack: Stack
    owners: Owners

    @cached_property
    def _answers(self) -> dict[Hashable, Any]:
        return {}

    @_remembered
    def is_source(self, resource: Resource) -> bool:
        """True for a resource that has secrets of its own, or may have."""
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
    def use(self, resource: Resource, name: str) -> Use:
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
        return Use(tuple(marked), tuple(unknown), tuple(undecided), tuple(digests), frozenset(holds), tuple(places))

    def level(self, resource: Resource, name: str, source: Resource) -> Level:
        """How much of a source's secrets a property that depends on it has.

        The SDKs send an unknown value without its secret mark, so before a value is known nothing tells which output of
        a source was used. A Secret's data is always marked, by the SDK, so there the mark tells nothing.
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
        """Whether nothing that a source has, as far as it is known, has a public half or a fingerprint."""
        kept = [value for _, value in secret_leaves(source, source.outputs)] if source.kind == "Secret" else []
        return is_random(source) or (bool(kept) and not any(map(_KEYS.search, kept)))

    def are_facts(self, resource: Resource, source: Resource, places: tuple[Path, ...]) -> bool:
        """Whether what will come from a source with facts of its own goes where a fact is named. Then the write is
        judged."""
        if source.type == KEY_TYPE:
            return all(expects_public_half(resource, place) for place in places)
        hidden = source.kind == "Secret" or source.type.startswith(("random:", "tls:")) or source.type in PUBLIC_TOO
        return not hidden and all(
            len(place) > 1 and (describes(called(resource, place)) or place[-2] == "remoteRef") for place in places
        )

    def _gives_unknown(self, source: Resource) -> bool:
        """Whether a value that is not known yet is to be taken for a secret of a source."""
        if source.type in PUBLIC_TOO:
            return self._says_a_secret(source)
        if source.type.split(":")[0] in CLOUDS:
            return (is_clouds_secret(source) and not self._was_given(source)) or self._is_store(source)
        return source.type not in CHART_TYPES and source.type not in BUILDERS

    @staticmethod
    def _was_given(source: Resource) -> bool:
        """Whether what is secret in a resource was asked for: then what it makes are facts, an ARN or a version."""
        asked = source.asked if isinstance(source.asked, dict) else {}
        given = (leaf for name, tree in asked.items() if is_secrets_name(name) for leaf in leaves(tree))
        return any(leaf.secret or leaf.value is UNKNOWN or not is_public(as_bytes(leaf.value)) for leaf in given)

    @_remembered
    def _says_a_secret(self, certificate: Resource) -> bool:
        """Whether a certificate has a secret among what it says, its subject for one; what signs it is not said."""
        said = [name for name in certificate.sources if "private" not in name.lower()]
        return certificate.type in CERTIFICATE_TYPES and any(
            source.type in ALL_SECRET_TYPES or self._says_a_secret(source)
            for source in self.stack.sources_of(certificate, *said)
        )

    @cached_property
    def _opening(self) -> frozenset[str]:
        """URNs of the resources that give a control plane's provider its kubeconfig: their outputs open it."""
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
        """URNs of the random texts, which nobody marks, that are all that is not known yet in a Secret of the control
        plane's. Where its keys are, they name credentials; the SDK shows none."""
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
        """Whether a mark is that of a source that has nothing but secrets to give, rather than of a mostly public one
        beside it."""
        sources = [source for source in self.stack.sources_of(resource, name) if source.urn in self._known]
        return any(source.type not in PUBLIC_TOO and self.is_source(source) for source in sources)

    def _may_be_in(self, resource: Resource, name: str, source: Resource, undecided: tuple[Leaf, ...]) -> bool:
        """Whether a known value that nothing explains may be a secret of a source, in disguise."""
        if source.urn not in self._known:
            # Its secrets are not shown. Another stack's are known to the program, so here the value may be one; of
            # anything else, a value made from it would not be known either.
            hidden = source.type == REFERENCE_TYPE or source.read_only or not self.is_new(source)
            return hidden and resource.kind == "Secret" and name in SECRET_DATA
        if source.type == KEY_TYPE:
            undecided = tuple(one for one in undecided if not is_pin(resource, one))
        shown = (*self._shown_by(source), *self._answered_beside(resource, name))
        return source.type not in PUBLIC_TOO and not all(self._is_what_is_shown(leaf, shown) for leaf in undecided)

    def is_new(self, source: Resource) -> bool:
        """True while a source's own outputs are not known."""
        outputs = source.outputs if source.outputs is not None else {}
        return any(leaf.value is UNKNOWN for leaf in leaves(outputs)) or not outputs

    @cached_property
    def _configured(self) -> frozenset[bytes]:
        return frozenset(self.stack.config.get(key, "").encode() for key in self.stack.secret_config_keys)

    def _is_what_is_shown(self, leaf: Leaf, shown: Iterable[bytes]) -> bool:
        """True when what sources show to everybody is all that is odd about a value."""
        rest = as_bytes(leaf.value)
        for one in sorted(shown, key=len, reverse=True):
            rest = rest.replace(one, b"")
        return is_public(rest, self.stack.names)

    def _answered_beside(self, resource: Resource, name: str) -> Iterator[bytes]:
        """What clouds answer to everybody, of all that a property comes from: their packages mark what is secret. What
        a resource was asked for is no answer: the program may have made that from a secret."""
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
        """URNs of the sources of which some secret's value is known."""
        return frozenset(urn for urns in self._holders for urn in urns)

    @cached_property
    def _holders(self) -> list[list[str]]:
        """Per fingerprint of `_index`, the sources that have it."""
        by_fingerprint: dict[bytes, list[str]] = {}
        for source in self.stack.resources:
            if source.urn not in self._depended_on or not self.is_source(source):
                continue
            # One generated password in 300 has the form of something public.
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
        """The sources whose known secrets are in a value, in whatever wrapping."""
        holders = self._holders
        found: set[str] = set()
        if len(self._index) and len(data) >= LEAST_SECRET:
            with suppress(TooMuchError):  # the value detector refuses it
                for view in views(data):
                    for hit in (*self._index.search(view.data), *in_letters(view.data, self._index)):
                        found.update(holders[int(self._index.origins[hit.origin])])
        return frozenset(found)
