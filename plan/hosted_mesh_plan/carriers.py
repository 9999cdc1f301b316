"""Objects by which an operator writes to another cluster than its own: which one they name, what they take along.

Argo CD, Flux, Crossplane, Cluster API, Fleet, Karmada and the like are given objects in one cluster, and apply what
these have, or refer to, in others.
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
"""What operators call the cluster that they are in."""


@dataclass(frozen=True, slots=True)
class Carrier:
    """One kind of such objects, as `group/Kind` (* matches anything). `names` are the paths at which one names the
    other cluster, `otherwise` is where it goes if none of them is there: empty for its own cluster. `takes` are the
    paths of its references to objects beside it whose content goes along. `*` in a path is every item of a list.
    """

    kind: str
    names: tuple[str, ...] = ()
    otherwise: str = ""
    takes: tuple[str, ...] = ()

    def destinations(self, manifest: Tree) -> list[str]:
        """The other clusters, as the object calls them."""
        found = [
            one if isinstance(one, str) else ELSEWHERE for path in self.names for one in _all(manifest, path) if one
        ]
        return found or ([self.otherwise] if self.otherwise else [])

    def taken(self, manifest: Tree) -> Iterator[Reference]:
        """What goes along."""
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
    """Objects of one cluster: by their name, or by their labels where there is none."""

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
    Carrier("argoproj.io/Application", tuple(f"spec.{path}" for path in _DESTINATION)),
    Carrier("argoproj.io/ApplicationSet", tuple(f"spec.template.spec.{path}" for path in _DESTINATION)),
    Carrier("helm.toolkit.fluxcd.io/HelmRelease", _KUBECONFIG, takes=("spec.valuesFrom.*",)),
    Carrier("kustomize.toolkit.fluxcd.io/Kustomization", _KUBECONFIG, takes=("spec.postBuild.substituteFrom.*",)),
    Carrier("kubernetes*.crossplane.io/*Object*", _PROVIDER, takes=("spec.references.*.patchesFrom",)),
    Carrier(
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
    Carrier("work.open-cluster-management.io/ManifestWork", _NAMESPACE, ELSEWHERE),
    Carrier("work.open-cluster-management.io/ManifestWorkReplicaSet", (), ELSEWHERE),
    Carrier("policy.open-cluster-management.io/Policy", (), ELSEWHERE),
    Carrier("fleet.cattle.io/Bundle*", _NAMESPACE, ELSEWHERE, ("spec.helm.valuesFrom.*.secretKeyRef",)),
    Carrier("fleet.cattle.io/HelmOp", _NAMESPACE, ELSEWHERE, ("spec.helm.valuesFrom.*.secretKeyRef",)),
    Carrier("work.karmada.io/Work", (), ELSEWHERE),
    Carrier("policy.karmada.io/*OverridePolicy", (), ELSEWHERE),
    Carrier("policy.karmada.io/*PropagationPolicy", (), ELSEWHERE, ("spec.resourceSelectors.*",)),
    Carrier("placement.kubernetes-fleet.io/*Placement", (), ELSEWHERE, ("spec.resourceSelectors.*",)),
    Carrier(
        "config.projectsveltos.io/*Profile", (), ELSEWHERE, ("spec.policyRefs.*", "spec.helmCharts.*.valuesFrom.*")
    ),
    Carrier("addons.cluster.x-k8s.io/ClusterResourceSet", (), ELSEWHERE, ("spec.resources.*",)),
    Carrier("addons.cluster.x-k8s.io/HelmChartProxy", (), ELSEWHERE),
    Carrier("bootstrap.cluster.x-k8s.io/*", (), ELSEWHERE, ("spec.files.*.contentFrom.secret",)),
    Carrier("controlplane.cluster.x-k8s.io/*", (), ELSEWHERE, ("spec.kubeadmConfigSpec.files.*.contentFrom.secret",)),
    Carrier("resources.gardener.cloud/ManagedResource", (), ELSEWHERE, ("spec.secretRefs.*",)),
    Carrier("types.kubefed.io/Federated*", (), ELSEWHERE),
    Carrier("apps.clusternet.io/*", (), ELSEWHERE),
    Carrier("core.oam.dev/Application", ("spec.policies.*.properties.clusters.*",)),
)

PUSHER: Final = Carrier(
    "external-secrets.io/PushSecret", ("spec.secretStoreRefs.*.name",), "", ("spec.selector.secret",)
)
"""It copies a Secret into stores, and the Secret stays. Whose a store is, nothing shows but its name."""


class ProviderConfig(NamedTuple):
    """By which of Crossplane's objects another one goes where it goes. `through` is the provider of both, by URN, so
    that no other cluster's is meant."""

    through: str
    group: str
    kind: str
    namespace: str
    name: str


def carried(
    here: Collection[Resource], elsewhere: Callable[[str], str], at_home: Set[ProviderConfig] = frozenset()
) -> dict[str, str]:
    """Where operators carry what one cluster has, by URN: the objects that are made for this, and those that these
    refer to.

    here: the cluster's objects. elsewhere: the place that is called by a name or an address; empty if that is here.
    at_home: configurations that lead to the cluster that they are in, beside those among the objects.
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
    """What copies a Secret into a store, the store as it is called, and the Secret, of one cluster's objects."""
    for resource in here:
        if f"{resource.group}/{resource.kind}" == PUSHER.kind:
            for secret in _taken_by(resource, PUSHER.taken(resource.body), here):
                yield from ((resource, store, secret) for store in PUSHER.destinations(resource.body))


_CONFIGS: Final = ("ProviderConfig", "ClusterProviderConfig")


def configs_at_home(here: Iterable[Resource]) -> frozenset[ProviderConfig]:
    """Those that lead to the cluster that they are in: Crossplane's provider logs in as the Pod that it is."""
    return frozenset(config for one in here if (config := config_in(one)) and leads_home(one))


def leads_home(config: Resource) -> bool:
    return bool(at(config.body, "spec", "credentials", "source") == "InjectedIdentity")


def config_in(resource: Resource) -> ProviderConfig | None:
    """How others call it, if it is one."""
    if resource.kind not in _CONFIGS or not resource.group.endswith(".crossplane.io"):
        return None
    namespace = _namespace_of(resource.group, resource.kind, resource.namespace)
    return ProviderConfig(_through(resource), resource.group, resource.kind, namespace, resource.object_name)


def _config_of(resource: Resource, manifest: Tree) -> ProviderConfig | None:
    """The one that an object names. Where its kind has namespaces, one of the whole cluster's is meant if it does not
    say which: `spec.providerConfigRef.kind`."""
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


def carriers_in(resource: Resource) -> Iterator[tuple[Carrier, Tree]]:
    """Such an object, and those inside of it, as one operator's object has another's."""
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
