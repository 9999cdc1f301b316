"""The rules' input: a stack, its settings, and the detectors' results. Everything is computed once."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from hosted_mesh_plan.annotations import issued_logins
from hosted_mesh_plan.clusters import Clusters, Role
from hosted_mesh_plan.evidence import Evidence
from hosted_mesh_plan.model import Resource, Stack
from hosted_mesh_plan.owners import Owners
from hosted_mesh_plan.tree import Path, at, is_covered, show
from hosted_mesh_plan.vocabulary import PACKAGE

from ..detect.decoders.layers import views
from ..detect.decoders.text import TooMuchError
from ..detect.flow.leaks import Flow
from ..detect.leaf.content import as_bytes, from_base64
from ..detect.leaf.level import LEAST_SECRET
from ..detect.leaf.public_structure import is_public
from ..detect.search.index import Index
from ..detect.search.tree_text import Text, asked_text, text_of
from ..detect.secrets.fingerprints import digests, fingerprints
from ..detect.secrets.resource_secrets import secret_leaves
from ..detect.shape.kubeconfigs import Kubeconfig
from ..detect.shape.shapes import shapes
from ..detect.value.cleared_texts import cleared
from ..detect.value.config_sections import Sections
from ..detect.value.control_plane_secrets import born_on_data_plane, kept_kubeconfigs, known_secrets
from ..detect.value.inspection import Inspection, Match, inspect
from ..detect.value.logins import Logins
from .settings import Settings

_LIBRARYS: Final = f"{PACKAGE}:index:"
"""Part of the URN of the library's components, and of each resource below one."""


@dataclass(frozen=True)
class Context:
    """One stack to judge.

    `ambient` is the deployer's environment. `index` is set if fingerprints are gathered elsewhere (before each write,
    one resource at a time). `evidence`: results of the preview of this run; None without a preview.
    """

    stack: Stack
    settings: Settings = field(default_factory=Settings)
    ambient: Mapping[str, str] = field(default_factory=dict)
    index: Index | None = None
    evidence: Evidence | None = None
    known_clusters: Clusters | None = None
    born_elsewhere: Set[bytes] = frozenset()
    """Fingerprints of data planes' own credentials, gathered elsewhere."""
    gathered_from: Mapping[str, Resource] = field(default_factory=dict)
    """By URN the control plane's resources with secrets in `index`. Only before a write: at the end all data planes and
    their logins are known."""
    _texts: dict[str, Text] = field(default_factory=dict)
    _of_sections: dict[str, frozenset[Path]] = field(default_factory=dict)
    _inspections: dict[str, Inspection | TooMuchError] = field(default_factory=dict)

    @cached_property
    def clusters(self) -> Clusters:
        if self.known_clusters is not None:
            return self.known_clusters
        return Clusters(self.stack, self.settings.clusters)

    @cached_property
    def is_lenient(self) -> bool:
        """True for a program without the library and without declared owners: verdicts on undeclared owners are
        advisory."""
        settings, clusters = self.settings, self.clusters
        if settings.strict or settings.declares_owners or any(map(clusters.claimed, clusters.providers.values())):
            return False
        return not any(_LIBRARYS in resource.urn for resource in self.stack.resources)

    def is_undeclared(self, resource: Resource) -> bool:
        """True for a resource of an undeclared cluster or provider."""
        return self.clusters.role(resource) is Role.UNCLASSIFIED or self.owners.is_assumed_place(resource)

    def how_to_declare(self, resource: Resource) -> str:
        """A sentence with the settings that declare the cluster or account of a resource. Empty if declared."""
        provider = resource.provider or (resource.as_provider if resource.is_provider else None)
        if provider is None:
            return ""
        cluster = self.clusters.clusters.get(provider.urn)
        if cluster is not None and self.clusters.role_of_provider(provider) is not Role.UNCLASSIFIED:
            return ""
        name, kind = f"{provider.type.rpartition(':')[2]}:{provider.name}", "Servers"
        if cluster is None or not cluster.server:
            name, kind = f"provider {name}", "Providers"
        else:
            name = f"cluster {cluster.server}"
        theirs = f"if it is the control plane's, name it in controlPlane{kind}; if a data plane's, in dataPlane{kind}"
        return f"No setting declares {name}: {theirs}"

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
        """The places of a data plane's object with credentials of its own sections of the configuration."""
        if resource.urn not in self._of_sections:
            found: frozenset[Path] = frozenset()
            with contextlib.suppress(TooMuchError):  # the value detector rejects it
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
        """Fingerprints of secret configuration that the control plane does not have; those values and their digests."""
        values = [self.stack.config.get(key, "").encode() for key in sorted(self.stack.secret_config_keys)]
        own = [value for value in values if not any(self.known.search(value))]
        index = Index()
        for value in own:
            index.add(fingerprints(value, certain=True), "")
        return index, digests(own) | frozenset(own)

    def tells_whose(self, data: bytes) -> bool:
        """True for a value with a control-plane secret (the value detector reports it), or with configuration
        that the control plane does not have, and for the digest of such configuration."""
        own, wholes = self._own_configuration
        try:
            return data in wholes or any(any(i.search(view.data)) for view in views(data) for i in (own, self.known))
        except TooMuchError:  # the value detector rejects it
            return True

    def is_data_planes_own(self, data: bytes) -> bool:
        """True for a value that is public by its structure, that the value detector judges, or that a data plane's
        source has as its own secret."""
        if is_public(data, self.stack.names) or self.tells_whose(data):
            return True
        return any(any(self._own_secrets.search(view.data)) for view in views(data))

    @cached_property
    def _own_secrets(self) -> Index:
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
        """Fingerprints of credentials that this stack's data planes made; earlier ones are in `born_elsewhere`."""
        providers = self.clusters.providers.values() if self.known_clusters is None else ()
        return frozenset(born_on_data_plane(self.stack, self.clusters, providers))

    def opens_data_planes_alone(self, found: Kubeconfig) -> bool:
        """True for a kubeconfig that opens only data planes: by address, by authority, or by credentials that their
        cluster made. A cluster may have separate addresses for the deployer and istiod."""
        if all(map(self.clusters.is_data_plane_server, found.servers)):
            return True
        if found.authorities and all(map(self.clusters.is_data_plane_authority, found.authorities)):
            return True
        made = [set(fingerprints(one.encode("utf-8", "surrogatepass"))) for one in found.credentials]
        return bool(made) and all(one and one - self.born_elsewhere <= self._born_here for one in made)

    def is_issued_login(self, resource: Resource, path: Path) -> bool:
        """True for a value of logins issued to its tenant, as its Secret declares, without any other credential or
        control-plane secret. Before a write the preview decides."""
        if not issued_logins(resource):
            return False
        if self.stack.partial:
            issued = self.evidence.issued.get(resource.urn, frozenset()) if self.evidence else frozenset()
            return is_covered(show(path), issued)
        data = as_bytes(at(resource.body, *path)) if path else b""
        data = from_base64(data) if path[:1] == ("data",) else data
        rest = self.flow.without_issued(resource, data)
        if rest == (data,):
            return False
        try:
            held = any(any(self.known.search(view.data)) for one in rest for view in views(one))
            return not held and not any(any(shapes(one)) for one in rest)
        except TooMuchError:
            return False

    def opens_neighbours(self, found: Kubeconfig, resource: Resource) -> bool:
        """True for a kubeconfig of another data plane than the resource's own."""
        place = self.owners.place(resource)
        if self.clusters.role(resource) is not Role.DATA_PLANE or place is None:
            return False
        authorities = (*found.authorities, *[""] * len(found.servers))
        owners = {self.clusters.owner_at(*opened) for opened in zip(found.servers, authorities, strict=False)}
        return bool(owners - {"", place})

    def text(self, resource: Resource) -> Text:
        """The searchable text of a resource's inputs and of its own name."""
        if resource.urn not in self._texts:
            self._texts[resource.urn] = asked_text(resource)
        return self._texts[resource.urn]

    @cached_property
    def _nothing_in(self) -> frozenset[str]:
        """URNs of the resources that a joint search cleared; none before a write, when each comes alone. A Secret on
        the control plane would match itself."""
        kept = [r for r in self.stack.resources if r.kind != "Secret" and self.clusters.on_control_plane(r)]
        given = [r for r in self.stack.resources if self.owners.is_judged(r)]
        looked_at = () if self.stack.partial else (*given, *kept)
        return cleared(self._texts_of(looked_at), self.known)

    def _texts_of(self, resources: Iterable[Resource]) -> Iterator[tuple[str, bytes]]:
        for resource in resources:
            with contextlib.suppress(Exception):  # the rules report that it could not be evaluated
                self.text(resource)
            if resource.urn in self._texts:
                yield resource.urn, self._texts[resource.urn].buffer

    def inspection(self, resource: Resource) -> Inspection:
        """The value detector's result. Raises TooMuchError each time for a resource that unpacks to too much."""
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
        """The control plane's secrets in a resource. A cluster receives only its user's part of a kubeconfig:
        credentials of other contexts stay with the provider. A data plane's login is its own, even if the control plane
        keeps a kubeconfig with it."""
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
        """True if the control plane keeps a kubeconfig at that origin, for that API server alone."""
        keeper = self.gathered_from.get(origin.partition(" ")[0])
        return keeper is not None and dict(kept_kubeconfigs(keeper)).get(origin) == frozenset({server})

    @cached_property
    def _logins(self) -> Logins:
        return Logins(self.stack, self.flow, self.text, self.gathered_from)

    def is_login_of_both(self, resource: Resource, match: Match) -> bool:
        """True for an annotated shared login in a data plane's place of logins."""
        return self._logins.are_both_sides(resource, match)

    def show(self, path: Path) -> str:
        """A path for a message, without keys that are secrets."""
        return show(path, hides=self._is_known_secret)

    def _is_known_secret(self, key: str) -> bool:
        return len(key) >= LEAST_SECRET and any(any(self.known.search(v.data)) for v in views(key.encode()))
