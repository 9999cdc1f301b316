"""One run of the engine: what the pack learns as resources come by, and what it says about each.

Before each write the engine shows a resource's inputs but no dependencies; at the end it shows dependencies and
outputs. A session keeps the inputs, so that the end sees both, and keeps fingerprints of the control plane's secrets
as they come by, so that each write is judged against all that came before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property

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
from ..evaluation.context import Ahead, Context
from ..evaluation.finding import Finding
from ..evaluation.rule import Rule, judge, judge_resource
from ..evaluation.settings import Settings
from ..plan.clusters import Clusters, Role
from ..plan.evidence import Evidence
from ..plan.model import Provider, Resource, Stack
from ..plan.owners import Owners
from .preview_evidence import evidence_of
from .work_ahead import WorkAhead


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
    work_ahead: WorkAhead | None = None
    _inputs: dict[str, Resource] = field(default_factory=dict)
    _said: set[Finding] = field(default_factory=set)
    _index: Index | None = None
    _data_planes: set[bytes] = field(default_factory=set)
    _shown: Shown = field(default_factory=Shown)
    _remembered: set[str] = field(default_factory=set)
    _gathered_from: dict[str, Resource] = field(default_factory=dict)

    def before_write(self, resource: Resource, rules: Sequence[Rule]) -> list[Finding]:
        """Keeps a resource's inputs. In an update, judges it by the rules that need no more; in a preview nothing is
        written, and the end of it sees more."""
        self._inputs[resource.urn] = resource
        if self.preview:
            if self.work_ahead is not None:
                self.work_ahead.add(resource)
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
            add_secrets_of(resource, self._index, self._not_of(resource.urn), foreign)
            self._gathered_from[resource.urn] = resource
        found = [finding for rule in rules for finding in judge_resource(rule, context, resource)]
        self._said.update(found)
        return found

    def at_end(self, resources: Sequence[Resource], rules: Sequence[Rule]) -> tuple[list[Finding], Evidence]:
        """Judges the whole stack, and says what evidence it gives to the update that follows a preview."""
        stack = self._stack(tuple(map(self._complete, resources)), partial=False)
        ahead = self.work_ahead.done() if self.work_ahead is not None else Ahead()
        context = Context(stack, self.settings, self.ambient, ahead=ahead)
        found = [finding for rule in rules for finding in judge(rule, context)]
        return [finding for finding in found if finding not in self._said], evidence_of(context, found)

    def inputs_are_known(self, urn: str) -> bool:
        return urn in self._inputs

    def _complete(self, resource: Resource) -> Resource:
        """A resource of the end's view with the inputs that came by earlier."""
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
        """What is not the control plane's: the other contexts of its provider's kubeconfig may yet turn out to be data
        planes'."""
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
