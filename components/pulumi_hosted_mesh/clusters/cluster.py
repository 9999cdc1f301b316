"""The two clusters, typed by role, so that a swapped pair does not type-check and does not run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self, cast

import pulumi
import pulumi_kubernetes as kubernetes

from pulumi_hosted_mesh.boundary import guard
from pulumi_hosted_mesh.boundary.arguments import is_later, when_known
from pulumi_hosted_mesh.clusters.arguments import Arguments
from pulumi_hosted_mesh.clusters.distinct import Facts, refuse_same_cluster
from pulumi_hosted_mesh.clusters.fields import ClientSettings, ClusterFields
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig, from_content, from_file, require_server
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.load import outputs_in
from pulumi_hosted_mesh.vocabulary import CONTROL_PLANE, DATA_PLANE, PROVIDER_NAME

if TYPE_CHECKING:
    # The fields are for the component host; a Python program has them as arguments, not as attributes.
    _Fields = object
else:
    _Fields = ClusterFields


class Cluster(_Fields):
    """A cluster in one role; use `ControlPlaneCluster` or `DataPlaneCluster`.

    name: of the wrapper, for two of one role in a program: the provider resource is `<name>-<role>-cluster`.
    Where it is, one of:
      kubeconfig: the content of a kubeconfig, YAML or JSON or the mapping that it parses to, or an Output of it (a
        cluster that this program makes, another stack's output, an environment of secrets), or with Outputs in the
        mapping. It is a secret from here on.
      kubeconfig_file: the path of one; `~` and environment variables are expanded.
      provider: a Kubernetes provider that exists; `server` must be stated then, and is believed.
    context: the context to use; by default the kubeconfig's current one. Nothing but it leaves the kubeconfig.
    server: the API server that the kubeconfig must point at, `https://HOST[:PORT]`.
    identity: what the cluster is called in the stack's state. While it stays, objects are updated in place; when it
      changes, all of them are replaced. Default: a hash of the kubeconfig's authorities; for one that is an Output, the
      wrapper's name.
    client: how fast, and how patiently, the provider calls the API server.
    parent: of the provider resource.
    Attributes: `name`, `identity`; `server`, text if it is plain, else an Output; `certificate_authority`, PEM or None,
    or an Output of it (None for an existing provider); `config`, what the kubeconfig says, or None while that is an
    Output; `known`, whether it is plain.
    Raises: InvalidInputError for arguments that do not fit each other, or a kubeconfig that cannot be used: at once if
    it is plain, else when it is known, before the first object is written.
    """

    # No annotation: the component host would take it for a field.
    role = ""

    def __init__(
        self,
        name: str | None = None,
        *,
        kubeconfig: pulumi.Input[str] | Mapping[str, Any] | None = None,
        kubeconfig_file: str | None = None,
        context: str | None = None,
        server: pulumi.Input[str] | None = None,
        identity: str | None = None,
        client: ClientSettings | None = None,
        provider: kubernetes.Provider | None = None,
        parent: pulumi.Resource | None = None,
    ) -> None:
        if type(self) is Cluster:
            raise TypeError("a cluster has a role: use ControlPlaneCluster or DataPlaneCluster")
        self.name, self.identity = name, identity
        given = Arguments(self.called, name, kubeconfig, kubeconfig_file, context, server, identity, client, provider)
        given.check()
        self._client, self._parent = given.client_settings(), parent
        self._given_provider = provider
        self._made_provider: kubernetes.Provider | None = None
        self._adopting: kubernetes.Provider | None = None
        self._checks: list[pulumi.Output[Any]] = []
        self.config: Kubeconfig | None = None
        self._config: pulumi.Output[Kubeconfig] | None = None
        asked = given.asked()
        if kubeconfig_file is not None:
            self.config = from_file(kubeconfig_file, asked)
        elif isinstance(kubeconfig, str | Mapping) and not any(outputs_in(kubeconfig)):
            self.config = from_content(kubeconfig, asked)
        elif kubeconfig is not None:
            content: pulumi.Output[Any] = pulumi.Output.secret(cast(Any, kubeconfig))
            self._config = when_known(content, lambda found: from_content(found, asked))
        self.server = self._server(when_known(server, given.https) if is_later(server) else server)
        self.certificate_authority = self._certificate_authority()
        if provider is None and server is not None and not isinstance(server, str):
            pair = pulumi.Output.all(self._whole(), server)
            self._checks.append(when_known(pair, lambda it: require_server(it[0].server, replace(asked, server=it[1]))))

    @classmethod
    def from_config(
        cls,
        config: Kubeconfig,
        *,
        name: str | None = None,
        client: ClientSettings | None = None,
        parent: pulumi.Resource | None = None,
    ) -> Self:
        """The cluster of a kubeconfig that has been read already (see `kubeconfig.read`)."""
        return cls(name, kubeconfig=config.text, identity=config.identity, client=client, parent=parent)

    @classmethod
    def of(cls, value: object, *, name: str, parent: pulumi.Resource | None = None) -> Self:
        """The cluster that a component was given: a wrapper of this role as it is, or one made from a mapping of the
        constructor's arguments, as a program in another language gives it.

        name: of the component. Raises: InvalidInputError, with the name of the field.
        """
        called = f"{cls.__name__} of {name}"
        if isinstance(value, Mapping):
            found = Arguments.named(value, called)
            return cls(name, parent=parent, **found)
        _require(value, cls, called)
        assert isinstance(value, cls)
        return value

    @property
    def known(self) -> bool:
        """Whether the kubeconfig is plain, and so has been checked already."""
        return self.config is not None

    @property
    def called(self) -> str:
        """What errors call the cluster."""
        return f"{type(self).__name__} {self.name}" if self.name else type(self).__name__

    def options(
        self,
        parent: pulumi.Resource,
        *,
        depends_on: Sequence[pulumi.Resource] = (),
        secret_outputs: Sequence[str] = (),
        adopt: bool = False,
    ) -> pulumi.ResourceOptions:
        """The options of a resource in this cluster; every object is sent with these, so a check here sees them all.

        adopt: take over an object that exists already, instead of failing; an existing provider does as it is set up.
        """
        return pulumi.ResourceOptions(
            parent=parent,
            provider=self._provider(adopt=adopt),
            depends_on=list(depends_on),
            additional_secret_outputs=list(secret_outputs) or None,
            transformations=[self._watch],
        )

    def distinct_from(self, other: Cluster) -> None:
        """Refuses two wrappers of one cluster; call it before the first object is made in either.

        Raises: InvalidInputError, at once if both are known; else the run ends with it when they are, before a cluster
        that is an Output is written to.
        """
        _compare(self, other, (self.called, other.called), "the program's clusters")

    def _watch(self, args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        """Sees each object before it is registered (see `guard`)."""
        raise NotImplementedError

    def _whole(self) -> pulumi.Output[Kubeconfig | None]:
        """What the kubeconfig says, as a secret; None for an existing provider."""
        return self._config if self._config is not None else pulumi.Output.secret(self.config)

    def _server(self, stated: pulumi.Input[str] | None) -> str | pulumi.Output[str]:
        if self.config is not None:
            return self.config.server
        if isinstance(stated, str):
            return stated.rstrip("/")
        if self._config is not None:
            return pulumi.Output.unsecret(self._config.apply(lambda config: config.server))
        return pulumi.Output.from_input(stated or "")

    def _certificate_authority(self) -> str | pulumi.Output[str | None] | None:
        if self._config is not None:
            return pulumi.Output.unsecret(self._config.apply(lambda config: config.certificate_authority))
        return self.config.certificate_authority if self.config is not None else None

    @cached_property
    def _facts(self) -> Facts | pulumi.Output[Facts]:
        if self.config is not None:
            return Facts.of(self.config)
        if self._config is not None:
            return self._config.apply(Facts.of)
        if isinstance(self.server, str):
            return Facts(self.server, self.identity)
        return self.server.apply(lambda server: Facts(server, self.identity))

    def _is_in_use(self) -> bool:
        return bool(self._given_provider or self._made_provider or self._adopting)

    def _provider(self, *, adopt: bool) -> kubernetes.Provider:
        """The provider, made when it is first used: by then it is known what has to be checked before."""
        if self._given_provider is not None:
            return self._given_provider
        named = f"{self.name}-{PROVIDER_NAME[self.role]}" if self.name else PROVIDER_NAME[self.role]
        if adopt:
            self._adopting = self._adopting or self._make_provider(f"{named}-adopting", adopt=True)
            return self._adopting
        self._made_provider = self._made_provider or self._make_provider(named)
        return self._made_provider

    def _make_provider(self, named: str, *, adopt: bool = False) -> kubernetes.Provider:
        identifier = self.config.identifier if self.config is not None else self.identity or self.name or "cluster"
        return kubernetes.Provider(
            named,
            # With the checks inside the kubeconfig nothing can be written before they have passed. The provider does
            # not treat a kubeconfig as secret by itself.
            kubeconfig=pulumi.Output.all(self._whole(), *self._checks).apply(lambda found: found[0].text),
            # While it stays, another kubeconfig updates the provider; without it, or with another, every object of the
            # cluster is replaced.
            cluster_identifier=f"{self.role}-{identifier}",
            # A rotated Secret changes in place: deleted and made anew, it would be missing if the run died between.
            enable_secret_mutable=True,
            enable_config_map_mutable=True,
            # Else a field that a controller, or kubectl scale, has changed is a conflict, found out only in the update:
            # neither put back nor, from then on, to be changed. What kubectl patch has changed is taken over anyway.
            enable_patch_force=True,
            kube_client_settings=self._client,
            upsert_existing_objects=adopt or None,
            opts=pulumi.ResourceOptions(parent=self._parent),
        )


class ControlPlaneCluster(Cluster):
    """The control plane's cluster: istiod and all that manages it. Holds every secret of the control plane."""

    role = CONTROL_PLANE

    def _watch(self, args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        guard.remember(args)
        return None


class DataPlaneCluster(Cluster):
    """A data plane's cluster: proxies, gateways, Istio's objects. Whatever is sent here, its users can read."""

    role = DATA_PLANE

    def _watch(self, args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        return guard.keep_secrets_out(args)


def refuse_one_given_twice(clusters: Mapping[str, Cluster], source: str) -> None:
    """Refuses two wrappers of one cluster among all that a component was given, as `Cluster.distinct_from` does.

    clusters: by the field where each stands; the error is about the later one. source: what the fields belong to.
    """
    for (first, one), (second, other) in combinations(clusters.items(), 2):
        _compare(other, one, (second, first), source)


def refuse_providers(opts: pulumi.ResourceOptions | None, called: str) -> None:
    """Raises InvalidInputError for a Kubernetes provider among a component's own options: it would have no effect, for
    it says nothing of a role. One that is inherited is for the other children of the component's parent.

    called: the component. A component host hands over no provider itself, and so cannot tell the two apart.
    """
    if opts is None:
        return
    several = opts.providers.values() if isinstance(opts.providers, Mapping) else opts.providers or ()
    if any(isinstance(one, kubernetes.Provider) for one in (opts.provider, *several)):
        rule = "holds a Kubernetes provider, which says nothing of the cluster's role and would have no effect"
        fix = "Give it as a cluster: ControlPlaneCluster(provider=..., server=...), or DataPlaneCluster"
        raise InvalidInputError([Problem("opts.providers", rule, fix)], called)


def _compare(one: Cluster, other: Cluster, called: tuple[str, str], source: str) -> None:
    its, others = one._facts, other._facts
    if isinstance(its, Facts) and isinstance(others, Facts):
        refuse_same_cluster(its, others, called, source)
        return
    pair = pulumi.Output.all(its, others)
    check = when_known(pair, lambda facts: refuse_same_cluster(facts[0], facts[1], called, source))
    # A cluster that is known does not wait for one that is not: what belongs to it can be previewed.
    open_ones = [cluster for cluster in (one, other) if not cluster._is_in_use()]
    for cluster in [found for found in open_ones if not found.known] or open_ones:
        cluster._checks.append(check)


def _require(cluster: object, role: type[Cluster], called: str) -> None:
    if not isinstance(cluster, role):
        rule = f"must be a {role.__name__}, but a {type(cluster).__name__} was given"
        swapped = isinstance(cluster, Cluster)
        fix = "Are the two clusters swapped?" if swapped else f"Give {role.__name__}(kubeconfig=..., server=...)"
        raise InvalidInputError([Problem("cluster", rule, fix)], called)
