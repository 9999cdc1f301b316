"""The flow detector: which secrets are the control plane's, and by which resources do they reach somebody else?

It needs no values, only who depends on whom and which values are marked secret, so it works at the first preview. Every
property is at a level of public, maybe or secret (`leaves.Level`): as high as any of its values, and a value is as high
as what it is made from, unless the value itself is known and public by its structure.

- A *source* is a resource with secrets: a generated key or password, a Secret, a cloud's access key, another stack.
- A generated secret is the control plane's when it flows into the control plane, or signs a certificate for a key
  that does. Who made any other secret is asked of `plan.owners`.
- What takes a secret in may give it away again, on whichever side it is: a certificate repeats its key, a ConfigMap, a
  bucket or a chart what it was given.
"""

from __future__ import annotations

import base64
import hmac
import re
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, Concatenate, Final, NamedTuple, ParamSpec, TypeVar

from ..plan.clusters import KUBECONFIG_KEYS, Role
from ..plan.model import IN_SECRET, PROVIDER_PREFIX, REFERENCE_TYPE, SECRET_DATA, STACK_TYPE, Resource, Stack
from ..plan.owners import BUILDERS, CLOUDS, CONTROL_PLANE, Owners
from ..plan.tree import UNKNOWN, Leaf, Path, at, leaves
from .decoders.text import TooMuchError
from .fingerprints import digests, fingerprints
from .index import Index
from .leaves import LEAST_SECRET, Level, is_bare_digest, is_public
from .names import (
    describes,
    is_own_login,
    is_secrets_name,
    names_credential,
    names_digest_of_public,
    names_key,
    names_public_half,
)
from .own_secrets import ALL_SECRET_TYPES, KEY_TYPE, is_clouds_secret, is_minted, keeps_status, secret_leaves
from .places import as_bytes, from_base64, held
from .unwrap import views
from .value import in_letters

CERTIFICATE_TYPES: Final = frozenset(
    f"tls:index/{name}"
    for name in ("selfSignedCert:SelfSignedCert", "locallySignedCert:LocallySignedCert", "certRequest:CertRequest")
)
"""Each repeats a private key among its outputs, marked secret (FACTS: `private_key_pem`)."""
PUBLIC_TOO: Final = CERTIFICATE_TYPES | {REFERENCE_TYPE}
"""Sources that are mostly used for their public outputs: before a value of theirs is known, nothing is said."""
CHART_TYPES: Final = frozenset(
    {"kubernetes:helm.sh/v4:Chart", "kubernetes:helm.sh/v3:Release", "kubernetes:helm.sh/v3:Chart"}
)
"""Their values are kept in a Secret."""
UNCLASSIFIED: Final = "a cluster that nobody classified"
"""The owner of what is generated, and is in a Secret of such a cluster: it may be the control plane's."""
_CHECKS_SIGNATURES: Final = re.compile(r"(?:Image|Signature)\w*Policy$|^TrustRoot$")
"""Kinds of objects that have nothing of a key but its public half."""
_PUBLIC_KEYS: Final = re.compile(r"(?:Deploy|Ssh|Public)Key$|Key[pP]air$|(?:Record|RecordSet)$")
"""Types of clouds and forges that are made of one, `github:index/userSshKey:UserSshKey`, and records of DNS."""
RANDOM_TEXTS: Final = frozenset({"random:index/randomString:RandomString", "random:index/randomUuid:RandomUuid"})

Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")


class Hop(NamedTuple):
    """One step of a path: a resource, and the property of the next one that uses it."""

    urn: str
    property: str


@dataclass(frozen=True, slots=True)
class Leak:
    """Somebody else's secret that reaches a property. `path` starts at the secret's source; `level` says how sure, and
    `owner` whose it is."""

    resource: Resource
    property: str
    places: tuple[Path, ...]
    path: tuple[Hop, ...]
    level: Level
    owner: str


@dataclass(frozen=True, slots=True)
class Use:
    """How a property uses what it depends on. `holds` are the sources whose known secrets were found in it."""

    marked: tuple[Path, ...]
    unknown: tuple[Path, ...]
    undecided: tuple[Leaf, ...]
    """Known values that neither a mark, nor their structure, nor another source's secret in them decides about."""
    holds: frozenset[str]
    places: tuple[Path, ...]

    @property
    def is_public(self) -> bool:
        """True when everything is known, and public by its structure."""
        return not (self.marked or self.unknown or self.undecided or self.holds)


def _expects_public_half(resource: Resource, place: Path) -> bool:
    """Whether nothing but a key's public half belongs in a place, or a digest of one where a mark would tell of what it
    is: all data of a Secret are marked."""
    named = [key for key in place if isinstance(key, str)]
    if resource.is_kubernetes and len(named) < 2:
        return False
    if _CHECKS_SIGNATURES.search(resource.kind) or (not resource.is_kubernetes and _PUBLIC_KEYS.search(resource.type)):
        return True
    return any(map(names_public_half, named[-2:])) or (resource.kind != "Secret" and names_digest_of_public(named[-1]))


def _is_pin(resource: Resource, leaf: Leaf) -> bool:
    """Whether a value is the digest of a public key: by its form, where one is expected, and nobody marks it."""
    return not leaf.secret and _expects_public_half(resource, leaf.path) and is_bare_digest(as_bytes(leaf.value))


def _is_private_half(resource: Resource, place: Path) -> bool:
    """Whether a place is called a private key's, or a key's with its certificate beside it."""
    name, beside = str(place[-1]), at(resource.asked, *place[:-1])
    if "private" in name.lower():
        return True
    named = names_key(name) and isinstance(beside, dict)
    return named and any(re.search(r"cert|crt", str(key), re.IGNORECASE) for key in beside)


_SIGNED: Final = re.compile(rb"(eyJ[\w-]+\.[\w-]+)\.([\w-]{43,86})")
_HMACS: Final = {43: "sha256", 64: "sha384", 86: "sha512"}
"""Of a token's signature in base64, by its length."""


def _has_signed(source: Resource, token: re.Match[bytes]) -> bool:
    """Whether a source's secret is the one by which a token was signed: HS256 and its like."""
    kind = _HMACS.get(len(token[2]))
    made = (hmac.digest(secret, token[1], kind) for _, secret in secret_leaves(source, source.outputs) if kind)
    return any(base64.urlsafe_b64encode(one).rstrip(b"=") == token[2] for one in made)


def _called(resource: Resource, place: Path) -> str:
    """The name of a value in a place: its key, or what stands beside it, as the name of a variable does (of
    PostgreSQL's without its PG)."""
    name = str(place[-1])
    beside = at(resource.asked, *place[:-1], "name") if name in {"value", "secureValue"} else None
    return beside.removeprefix("PG") if isinstance(beside, str) else name


def _expects_secret(resource: Resource, place: Path) -> bool:
    """Whether a place is called a credential's. What is called a secret may be the name of one."""
    words = _called(resource, place).lower()
    return names_credential(words) and (not words.endswith("secret") or "client" in words)


def _remembered(compute: Callable[Concatenate[Flow, Asked], Answer]) -> Callable[Concatenate[Flow, Asked], Answer]:
    """A method of `Flow` that computes each answer once; resources are told apart by their URNs."""

    @wraps(compute)
    def answer(flow: Flow, /, *asked: Asked.args, **named: Asked.kwargs) -> Answer:
        key = (compute, *(one.urn if isinstance(one, Resource) else one for one in asked))
        if key not in flow._answers:
            flow._answers[key] = compute(flow, *asked, **named)
        found: Answer = flow._answers[key]
        return found

    return answer


@dataclass(frozen=True)
class Flow:
    """The graph of a whole stack's resources."""

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

    # What a property holds.

    @_remembered
    def use(self, resource: Resource, name: str) -> Use:
        tree = resource.asked if isinstance(resource.asked, dict) else {}
        in_secret = resource.kind == "Secret" and name in SECRET_DATA
        marked: list[Path] = []
        unknown: list[Path] = []
        undecided: list[Leaf] = []
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
            if found := self._found_in(data):
                holds |= found
                places.append(leaf.path)
            if not data or is_public(data, self.stack.names):
                continue
            if leaf.secret and not in_secret:
                marked.append(leaf.path)
            elif not found and data not in self._configured:
                undecided.append(leaf)
        return Use(tuple(marked), tuple(unknown), tuple(undecided), frozenset(holds), tuple(places))

    def level(self, resource: Resource, name: str, source: Resource) -> Level:
        """How much of a source's secrets a property that depends on it has.

        The SDKs send an unknown value without its secret mark, so before a value is known nothing tells which output of
        a source was used. A Secret's data is always marked, by the SDK, so there the mark tells nothing.
        """
        if self.owners.is_deployers_login(resource, name):
            return Level.PUBLIC
        if resource.type in CERTIFICATE_TYPES and "rivate" in name:
            return Level.SECRET
        use = self.use(resource, name)
        if use.is_public:
            return Level.PUBLIC
        if source.type in ALL_SECRET_TYPES or source.urn in use.holds:
            return Level.SECRET
        if use.marked and not (source.type in PUBLIC_TOO and self._has_hidden_source(resource, name)):
            return Level.SECRET
        if use.unknown and self._gives_unknown(source) and not self._are_facts(resource, source, use.unknown):
            return Level.SECRET if self.is_source(source) else Level.MAYBE
        if source.type.split(":")[0] in CLOUDS and any(_expects_secret(resource, place) for place in use.unknown):
            return Level.SECRET
        if use.unknown and source.urn in self._opening and resource.kind == "Secret" and name in SECRET_DATA:
            return Level.SECRET
        if use.undecided and self._may_be_in(resource, name, source, use.undecided):
            return Level.MAYBE
        return Level.PUBLIC

    def _are_facts(self, resource: Resource, source: Resource, places: tuple[Path, ...]) -> bool:
        """Whether what will come from a source with facts of its own goes where a fact is named. Then the write is
        judged."""
        if source.type == KEY_TYPE:
            return all(_expects_public_half(resource, place) for place in places)
        hidden = source.kind == "Secret" or source.type.startswith(("random:", "tls:")) or source.type in PUBLIC_TOO
        return not hidden and all(
            len(place) > 1 and (describes(_called(resource, place)) or place[-2] == "remoteRef") for place in places
        )

    def awaited(self, resource: Resource) -> Iterator[Path]:
        """Where the control plane's keys will give their public halves, and its objects facts of their status, if they
        are what is expected there; in an account that nobody classified, what its own clouds will give."""
        in_account = resource.urn in self._in_accounts
        for name in resource.sources:
            for source in self.stack.sources_of(resource, name):
                of_cloud = source.type.split(":")[0] in CLOUDS
                if in_account and of_cloud and source.urn in self._tainted_elsewhere:
                    yield from self.use(resource, name).unknown
                elif source.urn in self.tainted and (source.type == KEY_TYPE or keeps_status(source)):
                    unknown = self.use(resource, name).unknown
                    yield from (one for one in unknown if self._are_facts(resource, source, (one,)))

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
        said = [name for name in certificate.sources if "rivate" not in name]
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
    def awaits_secrets(self) -> bool:
        """True while a secret of the control plane's that this stack makes is not known."""
        return any(
            one.urn in self.owned and self.is_source(one) and self._is_new(one)
            for one in self.stack.resources
            if not one.read_only
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
            hidden = source.type == REFERENCE_TYPE or source.read_only or not self._is_new(source)
            return hidden and resource.kind == "Secret" and name in SECRET_DATA
        if source.type == KEY_TYPE:
            undecided = tuple(one for one in undecided if not _is_pin(resource, one))
        shown = (*self._shown_by(source), *self._answered_beside(resource, name))
        return source.type not in PUBLIC_TOO and not all(self._is_what_is_shown(leaf, shown) for leaf in undecided)

    def _is_new(self, source: Resource) -> bool:
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

    # Known values of sources.

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
            for tree in (source.outputs, source.inputs):
                for path, value in secret_leaves(source, tree):
                    name = str(path[-1])
                    for one in fingerprints(value, name=name, names=self.stack.names):
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
    def _found_in(self, data: bytes) -> frozenset[str]:
        """The sources whose known secrets are in a value, in whatever wrapping."""
        holders = self._holders
        found: set[str] = set()
        if len(self._index) and len(data) >= LEAST_SECRET:
            with suppress(TooMuchError):  # the value detector refuses it
                for view in views(data):
                    for hit in (*self._index.search(view.data), *in_letters(view.data, self._index)):
                        found.update(holders[int(self._index.origins[hit.origin])])
        return frozenset(found)

    # Whose a secret is.

    @cached_property
    def owned(self) -> frozenset[str]:
        """URNs of the sources, and of what their secrets passed through, that are the control plane's."""
        return frozenset(self._owned(self.stack.by_urn))

    @cached_property
    def _in_accounts(self) -> frozenset[str]:
        """URNs of what is in accounts that nobody classified."""
        return frozenset(urn for urn, r in self.stack.by_urn.items() if self.owners.is_in_unclassified_account(r))

    @cached_property
    def owned_elsewhere(self) -> frozenset[str]:
        """The same by all but accounts that nobody classified: what only such an account has is no leak into it."""
        return frozenset(self._owned(self.stack.by_urn.keys() - self._in_accounts)) if self._in_accounts else self.owned

    def _owned(self, by: Iterable[str]) -> set[str]:
        makers = set(by)
        found = {urn for urn in self.stack.by_urn if urn in makers and self._is_control_planes(urn)}
        todo = list(found)
        while todo:
            resource = self.stack.by_urn[todo.pop()]
            if resource.urn not in makers or self.owners.is_given_away(resource):
                continue  # what its provider makes may be the control plane's, but not what it is given
            for source in self._secrets_into(resource):
                if source.urn not in found and self.owners.maker(source) is None:
                    found.add(source.urn)
                    todo.append(source.urn)
        return found

    def _is_control_planes(self, urn: str) -> bool:
        return self.owners.maker(self.stack.by_urn[urn]) == CONTROL_PLANE

    def _secrets_into(self, resource: Resource) -> Iterator[Resource]:
        """The resources whose secrets this one gets; for a certificate on a control-plane key, its signer too."""
        for name in resource.sources:
            for source in self.stack.sources_of(resource, name):
                if self._gives_away(resource, name, source):
                    yield source
        if resource.type == KEY_TYPE or resource.type in CERTIFICATE_TYPES:
            yield from self._signers_of(resource)

    def _gives_away(self, resource: Resource, name: str, source: Resource) -> bool:
        """As `level`, but where nothing is known yet a key in an object that is no Secret is its public half: people
        keep keys in Secrets, or beside their certificates, and the data plane's public key in the control plane must
        not make the key the control plane's.
        """
        if source.type == KEY_TYPE and (unknown := self.use(resource, name).unknown) and resource.is_kubernetes:
            return resource.kind == "Secret" or any(_is_private_half(resource, place) for place in unknown)
        return self.level(resource, name, source) is Level.SECRET

    def _signers_of(self, key: Resource) -> Iterator[Resource]:
        """Who signs the certificates of a key: with that signer's key, anybody could make this one's identity."""
        for request, _ in self._takers_by_source.get(key.urn, ()):
            for certificate, name in self._takers_by_source.get(request.urn, ()):
                if {request.type, certificate.type} <= CERTIFICATE_TYPES and name == "certRequestPem":
                    yield from self.stack.sources_of(certificate, "caPrivateKeyPem")

    @cached_property
    def _takers_by_source(self) -> Mapping[str, list[tuple[Resource, str]]]:
        """Per source, what depends on it and by which property."""
        found: dict[str, list[tuple[Resource, str]]] = {}
        for resource in self.stack.resources:
            for name, urns in resource.sources.items():
                for urn in dict.fromkeys(urns):
                    found.setdefault(urn, []).append((resource, name))
        return found

    # Where secrets go.

    @cached_property
    def tainted(self) -> Mapping[str, Hop | None]:
        """What holds or may hold a control-plane secret, each with the step before it: the sources, and what takes one
        in, on whichever side it is. Not what is given away: that is where the path ends."""
        return self._spread(self._beginnings(self.owned))

    @cached_property
    def _tainted_by_shown(self) -> Mapping[str, Hop | None]:
        """The same without what the stack only reads."""
        return self._spread(urn for urn in self._beginnings(self.owned) if not self.stack.by_urn[urn].read_only)

    @cached_property
    def _tainted_elsewhere(self) -> Mapping[str, Hop | None]:
        return self._spread(self._beginnings(self.owned_elsewhere))

    def _beginnings(self, owned: frozenset[str]) -> Iterator[str]:
        providers = self.owners.clusters.providers
        for urn, resource in self.stack.by_urn.items():
            if urn in owned and (self.is_source(resource) or urn in providers):
                yield urn

    @cached_property
    def neighbours(self) -> Mapping[str, Mapping[str, Hop | None]]:
        """The same per data plane, for the credentials that its cluster makes; and for generated secrets that a cluster
        has of which nobody says whose it is."""
        minted: dict[str, list[str]] = {}
        for resource in self.stack.resources:
            place = self.owners.place(resource) if is_minted(resource) else None
            if place not in {None, CONTROL_PLANE}:
                minted.setdefault(str(place), []).append(resource.urn)
            if resource.kind == "Secret" and self.owners.clusters.role(resource) is Role.UNCLASSIFIED:
                nobodys = (one.urn for one in self._secrets_into(resource) if self.owners.maker(one) is None)
                minted.setdefault(UNCLASSIFIED, []).extend(urn for urn in nobodys if urn not in self.owned)
        return {place: self._spread(urns) for place, urns in minted.items()}

    @cached_property
    def _neighbours_of(self) -> Mapping[str, list[str]]:
        """Per resource, the data planes whose credentials it holds or may hold."""
        found: dict[str, list[str]] = {}
        for owner, tainted in self.neighbours.items():
            for urn in tainted:
                found.setdefault(urn, []).append(owner)
        return found

    def _spread(self, sources: Iterable[str]) -> dict[str, Hop | None]:
        found: dict[str, Hop | None] = dict.fromkeys(sources)
        todo = deque(found)
        while todo:
            source = self.stack.by_urn[todo.popleft()]
            for taker, name in self._takers_by_source.get(source.urn, ()):
                ends = self.owners.is_given_away(taker) and self.owners.clusters.role(taker) is not None
                if found.get(taker.urn) is not None or ends or self.level(taker, name, source) is Level.PUBLIC:
                    continue
                if taker.urn not in found:
                    todo.append(taker.urn)
                found[taker.urn] = Hop(source.urn, name)  # a keeper of secrets tells where it has them from
        return found

    def is_data_planes_alone(self, resource: Resource, name: str) -> bool:
        """True when what a property holds comes from elsewhere, and none of it from a control-plane source: a token of
        the data plane that the control plane keeps, a random id."""
        sources = self.stack.sources_of(resource, name)
        return bool(sources) and not any(source.urn in self.tainted for source in sources)

    def not_its_own(self, resource: Resource) -> frozenset[str]:
        """Properties of a control-plane resource that hold no secret of the control plane's: all that it was given,
        where that is given away (what is wrong with it is told from where it comes), else the data planes' own."""
        if self.owners.is_given_away(resource):
            return frozenset(resource.asked if isinstance(resource.asked, dict) else ())
        foreign = (name for name in resource.sources if self.is_data_planes_alone(resource, name))
        return frozenset(name for name in foreign if not self._is_made_for(resource, name))

    def _is_made_for(self, resource: Resource, name: str) -> bool:
        """True for random text of nobody's that a Secret keeps under the name of a credential: so it is one."""
        sources = self.stack.sources_of(resource, name)
        if resource.kind != "Secret" or not all(source.type.startswith("random:") for source in sources):
            return False
        held = leaves(at(resource.asked, name), (name,))  # not known yet, it is a leaf itself
        return any(names_credential(str(leaf.path[-1])) for leaf in held)

    def is_from_data_plane(self, resource: Resource) -> bool:
        """True when something with secrets feeds a Secret's data, or a chart's values, and no control-plane secret
        does."""
        carried = self.owners.is_on_data_plane(resource) and self.owners.clusters.on_control_plane(resource)
        names = tuple(resource.sources) if carried else ("values",) if resource.type in CHART_TYPES else SECRET_DATA
        fed = [(name, one) for name in names for one in self.stack.sources_of(resource, name)]
        fed = [(name, source) for name, source in fed if self.is_source(source)]
        return bool(fed) and not any(
            source.urn in self.tainted and self.level(resource, name, source) is not Level.PUBLIC
            for name, source in fed
        )

    def made_of_own(self, resource: Resource) -> frozenset[Path]:
        """Among a chart's values those that the update will make of secrets of the data plane's own, and of nothing
        that is the control plane's."""
        sources = self.stack.sources_of(resource, "values") if resource.type in CHART_TYPES else []
        if not sources or any(one.urn in self.owned or one.urn in self.tainted for one in sources):
            return frozenset()
        return frozenset(self.use(resource, "values").unknown) if self.is_from_data_plane(resource) else frozenset()

    def is_held_by_its_source(self, resource: Resource, path: Path) -> bool:
        """True for a value that a source of its property has as its own secret, or has signed by it as a token, and no
        control-plane source has."""
        value = as_bytes(at(resource.body, *path))
        sources = self.stack.sources_of(resource, str(path[0]))
        holders = self._found_in(value)
        if not holders and (token := _SIGNED.fullmatch(value)):
            holders = frozenset(one.urn for one in sources if _has_signed(one, token))
        return not holders.isdisjoint(one.urn for one in sources) and self.tainted.keys().isdisjoint(holders)

    def is_own_authority(self, resource: Resource) -> bool:
        """True for a Secret with an authority that was made for its data plane alone: nobody else takes in its key, or
        any certificate that it made, and no other authority vouches for it."""
        fed = [one for name in SECRET_DATA for one in self.stack.sources_of(resource, name)]
        keys = [one.urn for one in fed if one.type == KEY_TYPE]
        if not keys or not self.is_from_data_plane(resource):
            return False
        family, todo, place = set(keys), list(keys), self.owners.place(resource)
        while todo:
            for taker, _ in self._takers_by_source.get(todo.pop(), ()):
                if taker.type in CERTIFICATE_TYPES:
                    todo += [taker.urn] if taker.urn not in family else []
                    family.add(taker.urn)
                elif self.owners.place(taker) != place:
                    return False
        return all(one.urn in family for one in fed) and not any(self._is_vouched_for(urn, family) for urn in family)

    def _is_vouched_for(self, urn: str, family: Set[str]) -> bool:
        """Whether an authority outside of a family signs the request of one of its keys."""
        certificate = self.stack.by_urn[urn]
        asked, signers = (
            {one.urn for one in self.stack.sources_of(certificate, name)}
            for name in ("certRequestPem", "caPrivateKeyPem")
        )
        return not asked.isdisjoint(family) and not signers <= family

    def leaks(self) -> Iterator[Leak]:
        """Every property of what is given away that a secret of the control plane's, or of another data plane's,
        reaches; and of what is in an account that nobody classified, where that has the secret from elsewhere. By what
        the stack only reads, from another stack or a cluster, a data plane's provider may log in: it is mostly what the
        data plane gave for this."""
        for resource in self.stack.resources:
            if self.owners.is_given_away(resource):
                place = self.owners.place(resource)
                for name, urns in resource.sources.items():
                    others = {owner for urn in urns for owner in self._neighbours_of.get(urn, ()) if owner != place}
                    if self.owners.clusters.role(resource) is not Role.DATA_PLANE:
                        others.discard(UNCLASSIFIED)
                    holders = [(CONTROL_PLANE, self.tainted), *((one, self.neighbours[one]) for one in sorted(others))]
                    if leak := next(filter(None, (self._leak(resource, name, *one) for one in holders)), None):
                        yield leak
            elif self._in_accounts and resource.urn in self._in_accounts:
                for name in resource.sources:
                    leak = self._leak(resource, name, CONTROL_PLANE, self._tainted_elsewhere)
                    if leak and not all(map(is_own_login, leak.places or ((name,),))):
                        yield leak
            elif self.owners.is_data_planes_login(resource):
                names = [name for name in resource.sources if not describes(name)]
                found = (self._leak(resource, name, CONTROL_PLANE, self._tainted_by_shown) for name in names)
                yield from filter(None, found)

    def is_from_elsewhere(self, origin: str) -> bool:
        """Whether a known secret is the control plane's by more than an account that nobody classified. Before a write
        the stack is not known."""
        urn = origin.partition(" ")[0]
        kind = urn.split("::")[2].rpartition("$")[2] if urn.startswith("urn:") and urn.count("::") > 2 else ""
        if kind.startswith(PROVIDER_PREFIX) or self.stack.partial:
            return kind.removeprefix(PROVIDER_PREFIX).split(":")[0] not in CLOUDS
        return urn not in self.owned or urn in self.owned_elsewhere

    def unexplained(self) -> Iterator[tuple[Resource, tuple[tuple[Path, bytes], ...]]]:
        """Values, with their places, in what is given away, Secrets and charts' values apart, that the program marks as
        secret and that no resource gives. A secret of the control plane's that the program read, or changed, looks like
        this. A value of the configuration is among them. What a chart renders is marked when anything that it was given
        is, so its objects are judged by what flows into the chart.
        """
        for resource in self.stack.resources:
            rendered = any(kind.startswith("kubernetes:") for kind in self.stack.ancestor_types(resource))
            if self.owners.is_given_away(resource) and not rendered:
                asked = resource.asked if isinstance(resource.asked, dict) else {}
                kept = SECRET_DATA if resource.kind == "Secret" else ("values",) if resource.type in CHART_TYPES else ()
                if places := tuple(
                    (leaf.path, as_bytes(leaf.value))
                    for name, tree in asked.items()
                    if name not in kept
                    and not self.owners.is_deployers_login(resource, name)
                    and not any(map(self.is_source, self.stack.sources_of(resource, name)))
                    for leaf in leaves(tree, (name,))
                    if leaf.secret and self._is_unexplained(leaf)
                ):
                    yield resource, places

    def _is_unexplained(self, leaf: Leaf) -> bool:
        data = as_bytes(leaf.value)
        return bool(data) and not is_public(data, self.stack.names) and data not in self._digests

    @cached_property
    def _digests(self) -> frozenset[bytes]:
        """Digests of what the data planes' Secrets are given: they restart Pods."""
        own: set[bytes] = set()
        for resource in self.stack.resources:
            if resource.kind == "Secret" and self.owners.is_given_away(resource):
                own.update(held(leaf) for leaf in leaves(resource.asked) if leaf.path[:1] in IN_SECRET)
        return digests(own)

    def _leak(self, resource: Resource, name: str, owner: str, tainted: Mapping[str, Hop | None]) -> Leak | None:
        guilty = [
            (level, source)
            for source in self.stack.sources_of(resource, name)
            if source.urn in tainted and (level := self.level(resource, name, source)) is not Level.PUBLIC
        ]
        if not guilty:
            return None
        use = self.use(resource, name)
        # Of several, tell of the one whose secret it is, as far as values are known; a certificate only repeats a key.
        level, source = min(
            guilty, key=lambda one: (one[1].urn not in use.holds, one[1].type in CERTIFICATE_TYPES, -one[0])
        )
        places = use.places or use.marked or use.unknown or tuple(leaf.path for leaf in use.undecided)
        path = (*self._origin_path(source.urn, tainted), Hop(source.urn, name))
        return Leak(resource, name, places, path, level, owner)

    @staticmethod
    def _origin_path(urn: str, tainted: Mapping[str, Hop | None]) -> tuple[Hop, ...]:
        """The way from where a secret was made to a resource that holds it."""
        hops: list[Hop] = []
        seen = {urn}
        while (hop := tainted.get(urn)) is not None and hop.urn not in seen:
            hops.append(hop)
            urn = hop.urn
            seen.add(urn)
        return tuple(hops[::-1])
