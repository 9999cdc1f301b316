"""What rules are given: a stack, its settings, and what the detectors make of both. Everything is computed once."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property

from ..detect.decoders.layers import views
from ..detect.decoders.text import TooMuchError
from ..detect.flow.leaks import Flow
from ..detect.leaf.level import LEAST_SECRET
from ..detect.leaf.public_structure import is_public
from ..detect.search.index import Index
from ..detect.search.tree_text import Text, asked_text, text_of
from ..detect.secrets.fingerprints import digests, fingerprints
from ..detect.secrets.resource_secrets import secret_leaves
from ..detect.shape.kubeconfigs import Kubeconfig
from ..detect.value.cleared_texts import Read, cleared
from ..detect.value.config_sections import Sections
from ..detect.value.control_plane_secrets import born_on_data_plane, kept_kubeconfigs, known_secrets
from ..detect.value.inspection import Inspection, Match, inspect
from ..detect.value.logins import Logins
from ..plan.clusters import Clusters, Role
from ..plan.evidence import Evidence
from ..plan.model import Resource, Stack
from ..plan.owners import Owners
from ..plan.tree import Path, show
from .settings import Settings


@dataclass(frozen=True)
class Ahead:
    """What was computed before the whole stack was there: by URN a resource and its text, and what texts say."""

    texts: Mapping[str, tuple[Resource, Text]] = field(default_factory=dict)
    read: Sequence[Read] = ()

    def text(self, resource: Resource) -> Text:
        """The searchable text of what a resource asks for; made ahead only if it asks for the very same now."""
        earlier, made = self.texts.get(resource.urn, (None, None))
        if made is None or earlier is None or earlier.asked is not resource.asked or earlier.name != resource.name:
            return asked_text(resource)
        return made


@dataclass(frozen=True)
class Context:
    """One stack to judge.

    `ambient` is the deployer's environment. `index` is given when fingerprints are gathered elsewhere (before each
    write, one resource at a time). `evidence` is what the preview of this same run found to be the data planes' own;
    None where no preview was seen.
    """

    stack: Stack
    settings: Settings = field(default_factory=Settings)
    ambient: Mapping[str, str] = field(default_factory=dict)
    index: Index | None = None
    evidence: Evidence | None = None
    known_clusters: Clusters | None = None
    born_elsewhere: Set[bytes] = frozenset()
    """Fingerprints of what data planes made themselves, as far as they were gathered elsewhere."""
    gathered_from: Mapping[str, Resource] = field(default_factory=dict)
    """By URN the control plane's resources whose secrets are in `index`. Only before a write: at the end all data
    planes are known, and by what they are logged in to is theirs."""
    ahead: Ahead = field(default_factory=Ahead)
    _texts: dict[str, Text] = field(default_factory=dict)
    _of_sections: dict[str, frozenset[Path]] = field(default_factory=dict)
    _inspections: dict[str, Inspection | TooMuchError] = field(default_factory=dict)

    @cached_property
    def clusters(self) -> Clusters:
        if self.known_clusters is not None:
            return self.known_clusters
        return Clusters(self.stack, self.settings.clusters)

    @cached_property
    def owners(self) -> Owners:
        at_home = self.evidence.at_home if self.evidence else frozenset()
        settings = self.settings
        return Owners(self.stack, self.clusters, settings.data_plane_stacks, settings.data_plane_logins, at_home)

    @cached_property
    def flow(self) -> Flow:
        return Flow(self.stack, self.owners)

    @cached_property
    def _sections(self) -> Sections:
        return Sections(self.stack, self.owners, self.text)

    def of_own_sections(self, resource: Resource) -> frozenset[Path]:
        """The places of what a data plane is given whose credentials are of its own sections of the configuration."""
        if resource.urn not in self._of_sections:
            found: frozenset[Path] = frozenset()
            with contextlib.suppress(TooMuchError):  # nobody can say where it goes: the value detector refuses it
                found = frozenset(self._sections.of_own(resource))
            self._of_sections[resource.urn] = found
        return self._of_sections[resource.urn]

    @cached_property
    def known(self) -> Index:
        """Fingerprints of the control plane's secrets."""
        if self.index is not None:
            return self.index
        return known_secrets(
            self.stack, self.clusters, self.flow, self.settings.control_plane_config_keys, self.ambient
        )

    @cached_property
    def _own_configuration(self) -> tuple[Index, frozenset[bytes]]:
        """Fingerprints of the secret configuration that is not known to be the control plane's; it and its digests."""
        values = [self.stack.config.get(key, "").encode() for key in sorted(self.stack.secret_config_keys)]
        own = [value for value in values if not any(self.known.search(value))]
        index = Index()
        for value in own:
            index.add(fingerprints(value, certain=True), "")
        return index, digests(own) | frozenset(own)

    def tells_whose(self, data: bytes) -> bool:
        """True for a value that holds a known secret of the control plane's (of which the value detector tells), or
        configuration that the control plane does not have, and for the digest of such configuration."""
        own, wholes = self._own_configuration
        try:
            return data in wholes or any(any(i.search(view.data)) for view in views(data) for i in (own, self.known))
        except TooMuchError:  # the value detector refuses it
            return True

    def is_data_planes_own(self, data: bytes) -> bool:
        """True for a value that is public by its structure, whose owner the value detector tells, or that a source of
        the data plane's has as its own secret."""
        if is_public(data, self.stack.names) or self.tells_whose(data):
            return True
        return any(any(self._own_secrets.search(view.data)) for view in views(data))

    @cached_property
    def _own_secrets(self) -> Index:
        """Fingerprints of what the data planes' resources have, and their providers' kubeconfigs."""
        index = Index()
        index.add(self._born_here, "")
        for resource in self.stack.resources:
            if self.flow.uses.is_source(resource) and resource.urn not in self.flow.spread.tainted:
                for tree in (resource.inputs, resource.outputs):
                    for _, value in secret_leaves(resource, tree):
                        index.add(fingerprints(value, certain=True), resource.urn)
        return index

    @cached_property
    def _born_here(self) -> frozenset[bytes]:
        """Fingerprints of what this stack's data planes made themselves; of what came by earlier, `born_elsewhere`."""
        providers = self.clusters.providers.values() if self.known_clusters is None else ()
        return frozenset(born_on_data_plane(self.stack, self.clusters, providers))

    def opens_data_planes_alone(self, found: Kubeconfig) -> bool:
        """True for a kubeconfig that opens only data planes: by address, by authority, or because a cluster of
        theirs made the credentials in it. A cluster may have one address for who deploys and another for istiod."""
        if all(map(self.clusters.is_data_plane_server, found.servers)):
            return True
        if found.authorities and all(map(self.clusters.is_data_plane_authority, found.authorities)):
            return True
        made = [set(fingerprints(one.encode("utf-8", "surrogatepass"))) for one in found.credentials]
        return bool(made) and all(one and one - self.born_elsewhere <= self._born_here for one in made)

    def text(self, resource: Resource) -> Text:
        """The searchable text of what a resource asks for, its own name included."""
        if resource.urn not in self._texts:
            self._texts[resource.urn] = self.ahead.text(resource)
        return self._texts[resource.urn]

    @cached_property
    def _nothing_in(self) -> frozenset[str]:
        """URNs of the resources that a look at many at a time has cleared; none before a write, when each comes alone.
        A Secret on the control plane would be found to hold itself."""
        kept = [r for r in self.stack.resources if r.kind != "Secret" and self.clusters.on_control_plane(r)]
        given = [r for r in self.stack.resources if self.owners.is_judged(r)]
        looked_at = () if self.stack.partial else (*given, *kept)
        return cleared(self._texts_of(looked_at), self.known, self.ahead.read)

    def _texts_of(self, resources: Iterable[Resource]) -> Iterator[tuple[str, bytes]]:
        for resource in resources:
            with contextlib.suppress(Exception):  # the rules meet it again, and say that it could not be evaluated
                self.text(resource)
            if resource.urn in self._texts:
                yield resource.urn, self._texts[resource.urn].buffer

    def inspection(self, resource: Resource) -> Inspection:
        """What the value detector found. Raises TooMuchError each time when the resource cannot be unpacked."""
        if resource.urn in self._nothing_in:
            return Inspection()
        if resource.urn not in self._inspections:
            try:
                self._inspections[resource.urn] = inspect(self.text(resource), self.known)
            except TooMuchError as problem:
                self._inspections[resource.urn] = problem
        found = self._inspections[resource.urn]
        if isinstance(found, TooMuchError):
            raise found
        return found

    def matches(self, resource: Resource) -> Iterable[Match]:
        """The known secrets that a resource is given. A kubeconfig is more than its cluster is shown: what it has for
        users of other contexts stays with the provider. By what a data plane is logged in to is its own, also where the
        control plane keeps a kubeconfig for it."""
        found = self.inspection(resource).matches
        cluster = self.clusters.clusters.get(resource.urn)
        if not found or cluster is None:
            return found
        if cluster.others:
            hidden = re.compile("|".join(re.escape(value) for _, value in cluster.others))
            body = resource.body.items()
            rest = {key: hidden.sub("", value) if isinstance(value, str) else value for key, value in body}
            found = inspect(text_of(rest), self.known, look_for_shapes=False).matches
        if self.clusters.role_of_provider(resource.as_provider) is not Role.DATA_PLANE:
            return found
        return [match for match in found if not self._is_kept_for(match.origin, cluster.server)]

    def _is_kept_for(self, origin: str, server: str) -> bool:
        """Whether the control plane keeps a kubeconfig there, for that API server alone."""
        keeper = self.gathered_from.get(origin.partition(" ")[0])
        return keeper is not None and dict(kept_kubeconfigs(keeper)).get(origin) == frozenset({server})

    @cached_property
    def _logins(self) -> Logins:
        return Logins(self.stack, self.flow, self.text, self.gathered_from)

    def is_login_of_both(self, resource: Resource, match: Match) -> bool:
        """True where a data plane keeps a login that both sides have, as somebody says."""
        return self._logins.are_both_sides(resource, match)

    def show(self, path: Path) -> str:
        """A path for a message, without keys that are secrets themselves."""
        return show(path, hides=self._is_known_secret)

    def _is_known_secret(self, key: str) -> bool:
        return len(key) >= LEAST_SECRET and any(any(self.known.search(v.data)) for v in views(key.encode()))
