"""One run of the engine: gathers facts as resources come by, and judges each resource.

Before each write the engine shows a resource's inputs but no dependencies; at the end it shows dependencies and
outputs. A session keeps the inputs for the end, and fingerprints of the control plane's secrets for later writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property

from hosted_mesh_plan.clusters import Clusters, Role
from hosted_mesh_plan.evidence import Evidence
from hosted_mesh_plan.model import Provider, Resource, Stack
from hosted_mesh_plan.owners import Owners
from hosted_mesh_plan.tree import is_covered, show

from ..detect.flow.leaks import Flow
from ..detect.search.index import Index
from ..detect.value.control_plane_secrets import (
    Shown,
    add_account,
    add_provider,
    add_secrets_of,
    for_others,
    known_secrets,
    own_kubeconfigs,
)
from ..evaluation.context import Context
from ..evaluation.finding import Finding
from ..evaluation.rule import Rule, judge, judge_resource
from ..evaluation.settings import Settings
from .preview_evidence import evidence_of


@dataclass
class Session:
    """The state of one preview or update. Not thread-safe: the server holds a lock."""

    stack: str = ""
    project: str = ""
    preview: bool = False
    config: Mapping[str, str] = field(default_factory=dict)
    secret_config_keys: frozenset[str] = frozenset()
    settings: Settings = field(default_factory=Settings)
    ambient: Mapping[str, str] = field(default_factory=dict)
    evidence: Evidence | None = None
    _inputs: dict[str, Resource] = field(default_factory=dict)
    _said: set[Finding] = field(default_factory=set)
    _index: Index | None = None
    _data_planes: set[bytes] = field(default_factory=set)
    _shown: Shown = field(default_factory=Shown)
    _remembered: set[str] = field(default_factory=set)
    _gathered_from: dict[str, Resource] = field(default_factory=dict)

    def before_write(self, resource: Resource, rules: Sequence[Rule]) -> list[Finding]:
        """Keeps a resource's inputs. In an update, judges it by the rules with `check`; a preview writes nothing and is
        judged at its end."""
        self._inputs[resource.urn] = resource
        if self.preview:
            return []
        if resource.provider is not None:
            self._remember(resource.provider)
        if resource.is_provider:
            self._remember(resource.as_provider)
        context = Context(
            self._stack((resource,), partial=True),
            self.settings,
            self.ambient,
            self._gathered(),
            self.evidence,
            self._known_clusters,
            self._data_planes,
            self._gathered_from,
        )
        if (
            resource.urn in context.flow.spread.owned
            and self._index is not None
            and not context.owners.is_given_away(resource)
        ):
            foreign = self.evidence.foreign.get(resource.urn, frozenset()) if self.evidence else frozenset()
            add_secrets_of(
                resource,
                self._index,
                self._not_of(resource.urn),
                lambda path, value: () if is_covered(show(path), foreign) else (value,),
            )
            self._gathered_from[resource.urn] = resource
        found = [finding for rule in rules for finding in judge_resource(rule, context, resource)]
        self._said.update(found)
        return found

    def at_end(self, resources: Sequence[Resource], rules: Sequence[Rule]) -> tuple[list[Finding], Evidence]:
        """Judges the whole stack, and returns a preview's evidence for the update."""
        stack = self.whole(resources)
        context = Context(stack, self.settings, self.ambient)
        found = [finding for rule in rules for finding in judge(rule, context)]
        return [finding for finding in found if finding not in self._said], evidence_of(context, found)

    def whole(self, resources: Sequence[Resource]) -> Stack:
        """The stack at the end, with the earlier inputs."""
        return self._stack(tuple(map(self._complete, resources)), partial=False)

    def inputs_are_known(self, urn: str) -> bool:
        return urn in self._inputs

    def _complete(self, resource: Resource) -> Resource:
        """A resource of the end with its earlier inputs."""
        earlier = self._inputs.get(resource.urn)
        return replace(resource, inputs=earlier.inputs if earlier else None, read_only=earlier is None)

    def _stack(self, resources: tuple[Resource, ...], *, partial: bool) -> Stack:
        about = (self.project, self.config, self.secret_config_keys)
        return Stack(self.stack, resources, *about, preview=self.preview, partial=partial)

    def _remember(self, provider: Provider) -> None:
        if provider.urn in self._remembered:
            return
        self._remembered.add(provider.urn)
        self._known_clusters.add(provider)
        if provider.urn not in self._known_clusters.providers:  # it reaches no cluster
            if Owners(self._stack((), partial=True), self._known_clusters).is_own_account(provider):
                add_account(self._gathered(), self._data_planes, provider)
            return
        role, cluster = self._known_clusters.role_of_provider(provider), self._known_clusters.clusters[provider.urn]
        if role is Role.DATA_PLANE:
            self._data_planes.update(own_kubeconfigs(provider, cluster))
            self._shown.add(cluster)
        elif role is Role.CONTROL_PLANE:
            add_provider(self._gathered(), self._not_of(provider.urn), self._shown, provider, cluster)

    def _not_of(self, provider: str) -> Set[bytes]:
        """Credentials of the other contexts in its provider's kubeconfig, which may turn out to be data planes'."""
        cluster = self._known_clusters.clusters.get(provider)
        return self._data_planes | for_others(cluster) if cluster and cluster.others else self._data_planes

    @cached_property
    def _known_clusters(self) -> Clusters:
        """The clusters of the providers so far."""
        return Clusters(self._stack((), partial=True), self.settings.clusters)

    def _gathered(self) -> Index:
        """The fingerprints so far; it starts with the configuration and the environment."""
        if self._index is None:
            stack = self._stack((), partial=True)
            clusters = Clusters(stack, self.settings.clusters)
            flow = Flow(stack, Owners(stack, clusters))
            self._index = known_secrets(stack, clusters, flow, self.settings.control_plane_config_keys, self.ambient)
        return self._index
