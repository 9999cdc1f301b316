"""Objects by which an operator writes to another cluster: the named cluster, and the objects that go along.

Argo CD, Flux, Crossplane, Cluster API, Fleet, Karmada and others read objects in one cluster and apply their content,
or referenced objects, in other clusters.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Collection, Iterable, Iterator, Set
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from .clusters import IN_CLUSTER, normal_server
from .model import Resource
from .tree import UNKNOWN, Tree, at, items

ELSEWHERE: Final = "a cluster that an operator chooses"
HERE: Final = frozenset({"in-cluster", "local", "local-cluster", "fleet-local"})
"""Operators' names for their own cluster."""


@dataclass(frozen=True, slots=True)
class RemoteApplyKind:
    """One kind of such objects, as `group/Kind` (* matches all). `names` are the paths of the other cluster's name;
    `otherwise` is the destination without one (empty: its own cluster). `takes` are the paths of references to objects
    whose content goes along. `*` in a path stands for each item of a list."""

    kind: str
    names: tuple[str, ...] = ()
    otherwise: str = ""
    takes: tuple[str, ...] = ()

    def destinations(self, manifest: Tree) -> list[str]:
        """The other clusters, by the object's names for them."""
        found = [
            one if isinstance(one, str) else ELSEWHERE for path in self.names for one in _all(manifest, path) if one
        ]
        return found or ([self.otherwise] if self.otherwise else [])

    def taken(self, manifest: Tree) -> Iterator[Reference]:
        """The references to objects that go along."""
        for path in self.takes:
            for one in _all(manifest, path):
                kind, namespace = at(one, "kind"), at(one, "namespace")
                implied = "ConfigMap" if "onfigMap" in path else "Secret"
                labels = at(one, "labelSelector", "matchLabels", default=at(one, "selector", "matchLabels"))
                yield Reference(
                    kind if isinstance(kind, str) else implied,
                    at(one, "name"),
                    namespace if isinstance(namespace, str) else str(at(manifest, "metadata", "namespace", default="")),
                    labels if isinstance(labels, dict) else {},
                )


@dataclass(frozen=True, slots=True)
class Reference:
    """Objects of one cluster, by name, or by labels if the name is empty."""

    kind: str
    name: Any
    namespace: str
    labels: dict[str, Any]

    def means(self, resource: Resource) -> bool:
        if self.kind == "Namespace":
            return self.name in (resource.namespace, UNKNOWN)
        if resource.kind != self.kind or (self.namespace and resource.namespace not in {self.namespace, ""}):
            return False
        if self.name is not None:
            return self.name in (resource.object_name, UNKNOWN)
        own = at(resource.body, "metadata", "labels")
        return not self.labels or (isinstance(own, dict) and self.labels.items() <= own.items())


_PROVIDER: Final = ("spec.providerConfigRef.name",)
_KUBECONFIG: Final = ("spec.kubeConfig.secretRef.name", "spec.kubeConfig.configMapRef.name")
_DESTINATION: Final = ("destination.server", "destination.name")
_NAMESPACE: Final = ("metadata.namespace",)
CARRIERS: Final = (
    RemoteApplyKind("argoproj.io/Application", tuple(f"spec.{path}" for path in _DESTINATION)),
    RemoteApplyKind("argoproj.io/ApplicationSet", tuple(f"spec.template.spec.{path}" for path in _DESTINATION)),
    RemoteApplyKind("helm.toolkit.fluxcd.io/HelmRelease", _KUBECONFIG, takes=("spec.valuesFrom.*",)),
    RemoteApplyKind(
        "kustomize.toolkit.fluxcd.io/Kustomization", _KUBECONFIG, takes=("spec.postBuild.substituteFrom.*",)
    ),
    RemoteApplyKind("kubernetes*.crossplane.io/*Object*", _PROVIDER, takes=("spec.references.*.patchesFrom",)),
    RemoteApplyKind(
        "helm*.crossplane.io/*Release",
        _PROVIDER,
        takes=tuple(
            f"spec.forProvider.{path}KeyRef"
            for path in (
                "valuesFrom.*.secret",
                "valuesFrom.*.configMap",
                "set.*.valueFrom.secret",
                "set.*.valueFrom.configMap",
            )
        ),
    ),
    RemoteApplyKind("work.open-cluster-management.io/ManifestWork", _NAMESPACE, ELSEWHERE),
    RemoteApplyKind("work.open-cluster-management.io/ManifestWorkReplicaSet", (), ELSEWHERE),
    RemoteApplyKind("policy.open-cluster-management.io/Policy", (), ELSEWHERE),
    RemoteApplyKind("fleet.cattle.io/Bundle*", _NAMESPACE, ELSEWHERE, ("spec.helm.valuesFrom.*.secretKeyRef",)),
    RemoteApplyKind("fleet.cattle.io/HelmOp", _NAMESPACE, ELSEWHERE, ("spec.helm.valuesFrom.*.secretKeyRef",)),
    RemoteApplyKind("work.karmada.io/Work", (), ELSEWHERE),
    RemoteApplyKind("policy.karmada.io/*OverridePolicy", (), ELSEWHERE),
    RemoteApplyKind("policy.karmada.io/*PropagationPolicy", (), ELSEWHERE, ("spec.resourceSelectors.*",)),
    RemoteApplyKind("placement.kubernetes-fleet.io/*Placement", (), ELSEWHERE, ("spec.resourceSelectors.*",)),
    RemoteApplyKind(
        "config.projectsveltos.io/*Profile", (), ELSEWHERE, ("spec.policyRefs.*", "spec.helmCharts.*.valuesFrom.*")
    ),
    RemoteApplyKind("addons.cluster.x-k8s.io/ClusterResourceSet", (), ELSEWHERE, ("spec.resources.*",)),
    RemoteApplyKind("addons.cluster.x-k8s.io/HelmChartProxy", (), ELSEWHERE),
    RemoteApplyKind("bootstrap.cluster.x-k8s.io/*", (), ELSEWHERE, ("spec.files.*.contentFrom.secret",)),
    RemoteApplyKind(
        "controlplane.cluster.x-k8s.io/*", (), ELSEWHERE, ("spec.kubeadmConfigSpec.files.*.contentFrom.secret",)
    ),
    RemoteApplyKind("resources.gardener.cloud/ManagedResource", (), ELSEWHERE, ("spec.secretRefs.*",)),
    RemoteApplyKind("types.kubefed.io/Federated*", (), ELSEWHERE),
    RemoteApplyKind("apps.clusternet.io/*", (), ELSEWHERE),
    RemoteApplyKind("core.oam.dev/Application", ("spec.policies.*.properties.clusters.*",)),
)

PUSHER: Final = RemoteApplyKind(
    "external-secrets.io/PushSecret", ("spec.secretStoreRefs.*.name",), "", ("spec.selector.secret",)
)
"""It copies a Secret into stores; the Secret stays. Only a store's name shows its owner."""


class ProviderConfig(NamedTuple):
    """The Crossplane object that decides another object's destination. `through`: the URN of the provider of both, so
    that names of different clusters stay apart."""

    through: str
    group: str
    kind: str
    namespace: str
    name: str


def carried(
    here: Collection[Resource], elsewhere: Callable[[str], str], at_home: Set[ProviderConfig] = frozenset()
) -> dict[str, str]:
    """Destinations of one cluster's content, by URN: the objects that operators carry, and the objects that these refer
    to.

    here: the cluster's objects. elsewhere: the place of a name or an address; empty for this cluster. at_home:
    configurations that lead to their own cluster, beside those among the objects.
    """
    itself = at_home | configs_at_home(here)
    found: dict[str, str] = {}
    for resource in here:
        for carrier, manifest in carriers_in(resource):
            if itself and _config_of(resource, manifest) in itself:
                continue
            named = (normal_server(one) if "://" in one else one for one in carrier.destinations(manifest))
            others = (one for one in named if one not in HERE and not one.startswith(IN_CLUSTER))
            away = next(filter(None, map(elsewhere, others)), "")
            for one in (resource, *_taken_by(resource, carrier.taken(manifest), here)) if away else ():
                found.setdefault(one.urn, away)
    return found


def pushed(here: Collection[Resource]) -> Iterator[tuple[Resource, str, Resource]]:
    """Each object that copies a Secret into a store, the store's name, and the Secret, among one cluster's objects."""
    for resource in here:
        if f"{resource.group}/{resource.kind}" == PUSHER.kind:
            for secret in _taken_by(resource, PUSHER.taken(resource.body), here):
                yield from ((resource, store, secret) for store in PUSHER.destinations(resource.body))


_CONFIGS: Final = ("ProviderConfig", "ClusterProviderConfig")


def configs_at_home(here: Iterable[Resource]) -> frozenset[ProviderConfig]:
    """Configurations that lead to their own cluster: Crossplane's provider logs in with its Pod's account."""
    return frozenset(config for one in here if (config := config_in(one)) and leads_home(one))


def leads_home(config: Resource) -> bool:
    return bool(at(config.body, "spec", "credentials", "source") == "InjectedIdentity")


def config_in(resource: Resource) -> ProviderConfig | None:
    """The configuration that a resource is, by its name in other objects; else None."""
    if resource.kind not in _CONFIGS or not resource.group.endswith(".crossplane.io"):
        return None
    namespace = _namespace_of(resource.group, resource.kind, resource.namespace)
    return ProviderConfig(_through(resource), resource.group, resource.kind, namespace, resource.object_name)


def _config_of(resource: Resource, manifest: Tree) -> ProviderConfig | None:
    """The configuration that an object names. A kind with namespaces uses the cluster's unless
    `spec.providerConfigRef.kind` differs."""
    name = at(manifest, "spec", "providerConfigRef", "name")
    version = at(manifest, "apiVersion", default="")
    group = version.partition("/")[0] if isinstance(version, str) and version else resource.group
    usual = "ClusterProviderConfig" if _has_namespaces(group) else "ProviderConfig"
    kind = at(manifest, "spec", "providerConfigRef", "kind", default=usual)
    namespace = at(manifest, "metadata", "namespace", default="")
    if not all(isinstance(one, str) for one in (name, kind, namespace)):
        return None
    return ProviderConfig(_through(resource), group, kind, _namespace_of(group, kind, namespace), name)


def _through(resource: Resource) -> str:
    return resource.provider.urn if resource.provider else ""


def _namespace_of(group: str, kind: str, namespace: str) -> str:
    return namespace if kind == "ProviderConfig" and _has_namespaces(group) else ""


def _has_namespaces(group: str) -> bool:
    """True for the groups of Crossplane 2, such as `kubernetes.m.crossplane.io`."""
    return group.endswith(".m.crossplane.io")


def _taken_by(carrier: Resource, references: Iterable[Reference], here: Iterable[Resource]) -> Iterator[Resource]:
    for reference in references:
        for one in here:
            known = reference.name is not UNKNOWN or one.urn in carrier.depends_on
            if known and one.provider == carrier.provider and one.urn != carrier.urn and reference.means(one):
                yield one


def carriers_in(resource: Resource) -> Iterator[tuple[RemoteApplyKind, Tree]]:
    """Such an object, and those nested in it."""
    todo: list[tuple[str, Tree]] = [(f"{resource.group}/{resource.kind}", resource.body)]
    while todo:
        kind, tree = todo.pop()
        for carrier in CARRIERS if kind else ():
            if fnmatch.fnmatchcase(kind, carrier.kind):
                yield carrier, tree
        inside = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
        todo += [(_kind_of(one), one) for one in inside if isinstance(one, dict | list)]


def _kind_of(tree: Tree) -> str:
    version, kind = at(tree, "apiVersion"), at(tree, "kind")
    return f"{version.partition('/')[0]}/{kind}" if isinstance(version, str) and isinstance(kind, str) else ""


def _all(tree: Tree, path: str) -> list[Any]:
    found = [tree]
    for key in path.split("."):
        found = [inner for one in found for inner in (items(one) if key == "*" else [at(one, key)])]
    return [one for one in found if one is not None]
