"""The two clusters, typed by role: a swapped pair fails in the type checker and at run time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self, cast

import pulumi
import pulumi_kubernetes as kubernetes

from pulumi_hosted_mesh.boundary import guard
from pulumi_hosted_mesh.boundary.arguments import is_later, when_known
from pulumi_hosted_mesh.clusters.adoption import AdoptionCheck, adoption_check, adopts
from pulumi_hosted_mesh.clusters.arguments import Arguments
from pulumi_hosted_mesh.clusters.distinct import ClusterFacts, refuse_same_cluster
from pulumi_hosted_mesh.clusters.fields import ClientSettings, ClusterFields
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig, from_content, from_file, require_server
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.load import outputs_in
from pulumi_hosted_mesh.vocabulary import CONTROL_PLANE, DATA_PLANE, PROVIDER_NAME

if TYPE_CHECKING:
    # The fields are for the component host; in Python they are arguments, not attributes.
    _Fields = object
else:
    _Fields = ClusterFields


class Cluster(_Fields):
    """A cluster in one role; use `ControlPlaneCluster` or `DataPlaneCluster`.

    name: prefix of the provider resource's name, `<name>-<role>-cluster`; for two clusters of one role in a program.
    One of:
      kubeconfig: the content of a kubeconfig, a secret from here on. YAML or JSON text, or a mapping that may hold
        Outputs, or an Output of either, for example of a new cluster, another stack or a secret store.
      kubeconfig_file: its path; `~` and environment variables are expanded.
      provider: an existing Kubernetes provider. It requires `server`, which is not checked.
    context: the context to use; by default the kubeconfig's current context. Other contexts are not read.
    server: the kubeconfig's expected API server, `https://HOST[:PORT]`.
    identity: the cluster's name in the stack's state. A new identity replaces all objects of the cluster. Default: a
      hash of the kubeconfig's certificate authorities; for an Output, the wrapper's name.
    client: rate limits and timeout of the provider's client.
    parent: of the provider resource.
    Attributes: `name`, `identity`; `server`, text or an Output; `certificate_authority`, PEM, None or an Output (None
    for an existing provider); `config`, the parsed kubeconfig, None for an Output; `known`, whether it is plain.
    Raises: InvalidInputError for arguments that exclude each other, or an invalid kubeconfig: at once if it is plain,
    else when the Output resolves, before the first object is written.
    """

    # No annotation: the component host would treat it as a field.
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
        self._adoption: AdoptionCheck | None = None
        self._checks: list[pulumi.Output[Any]] = []
        self.config: Kubeconfig | None = None
        self._config: pulumi.Output[Kubeconfig] | None = None
        request = given.request()
        if kubeconfig_file is not None:
            self.config = from_file(kubeconfig_file, request)
        elif isinstance(kubeconfig, str | Mapping) and not any(outputs_in(kubeconfig)):
            self.config = from_content(kubeconfig, request)
        elif kubeconfig is not None:
            content: pulumi.Output[Any] = pulumi.Output.secret(cast(Any, kubeconfig))
            self._config = when_known(content, lambda found: from_content(found, request))
        self.server = self._server(when_known(server, given.https) if is_later(server) else server)
        self.certificate_authority = self._certificate_authority()
        if provider is None and server is not None and not isinstance(server, str):
            pair = pulumi.Output.all(self._whole(), server)
            self._checks.append(
                when_known(pair, lambda it: require_server(it[0].server, replace(request, server=it[1])))
            )

    @classmethod
    def from_config(
        cls,
        config: Kubeconfig,
        *,
        name: str | None = None,
        client: ClientSettings | None = None,
        parent: pulumi.Resource | None = None,
    ) -> Self:
        """The cluster of a validated kubeconfig (see `kubeconfig.read`)."""
        return cls(name, kubeconfig=config.text, identity=config.identity, client=client, parent=parent)

    @classmethod
    def of(cls, value: object, *, name: str, parent: pulumi.Resource | None = None) -> Self:
        """The cluster in a component's argument: a wrapper of this role, or a mapping of the constructor's arguments.

        Programs in other languages pass mappings. name: the component's. Raises: InvalidInputError.
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
        """Whether the kubeconfig is plain, and therefore checked."""
        return self.config is not None

    @property
    def called(self) -> str:
        """The cluster's name in errors."""
        return f"{type(self).__name__} {self.name}" if self.name else type(self).__name__

    def options(
        self,
        parent: pulumi.Resource,
        *,
        depends_on: Sequence[pulumi.Resource] = (),
        secret_outputs: Sequence[str] = (),
        adopt: bool = False,
    ) -> pulumi.ResourceOptions:
        """The options of a resource in this cluster, with the guard. Every object of the library uses them.

        adopt: adopt any existing object; otherwise only one that an earlier run of the stack left (see `adoption`). An
        existing provider keeps its own setting.
        """
        provider = self._provider(adopt=adopt)
        return pulumi.ResourceOptions(
            parent=parent,
            provider=provider,
            hooks=None if adopt else self.creation_hooks(),
            depends_on=list(depends_on),
            additional_secret_outputs=list(secret_outputs) or None,
            transformations=[self._watch],
        )

    def creation_hooks(self, more: pulumi.ResourceHookBinding | None = None) -> pulumi.ResourceHookBinding | None:
        """The hooks of an object, with more of them."""
        if self._adoption is None:
            return more
        binding = self._adoption.binding()
        return binding if more is None else pulumi.ResourceHookBinding.merge(binding, more)

    @property
    def has_kubeconfig(self) -> bool:
        """Whether there is a kubeconfig, known or not; an existing provider has none to read."""
        return self.config is not None or self._config is not None

    async def known_kubeconfig(self) -> Kubeconfig | None:
        """The kubeconfig, a secret; None while it is unknown, and for an existing provider."""
        return await self._whole().future()

    def check_before_objects(self, check: Callable[[Kubeconfig], None]) -> bool:
        """Adds a check of a kubeconfig that is an Output, before the cluster's first object. False without one."""
        if self._config is None:
            return False
        self._checks.append(when_known(self._config, check))
        return True

    def distinct_from(self, other: Cluster) -> None:
        """Rejects two wrappers of one cluster; call it before the first object in either.

        Raises: InvalidInputError, at once if both are plain; else when they resolve, before the first write to a
        cluster that is an Output.
        """
        _compare(self, other, (self.called, other.called), "the program's clusters")

    def _watch(self, args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        """A transformation of each object before its registration (see `guard`)."""
        raise NotImplementedError

    def _whole(self) -> pulumi.Output[Kubeconfig | None]:
        """The kubeconfig, as a secret; None for an existing provider."""
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
    def _facts(self) -> ClusterFacts | pulumi.Output[ClusterFacts]:
        if self.config is not None:
            return ClusterFacts.of(self.config)
        if self._config is not None:
            return self._config.apply(ClusterFacts.of)
        if isinstance(self.server, str):
            return ClusterFacts(self.server, self.identity)
        return self.server.apply(lambda server: ClusterFacts(server, self.identity))

    def _is_in_use(self) -> bool:
        return bool(self._given_provider or self._made_provider or self._adopting)

    def _provider(self, *, adopt: bool) -> kubernetes.Provider:
        """The provider, made at its first use: by then all checks are registered."""
        if self._given_provider is not None:
            return self._given_provider
        named = f"{self.name}-{PROVIDER_NAME[self.role]}" if self.name else PROVIDER_NAME[self.role]
        if adopt:
            self._adopting = self._adopting or self._make_provider(f"{named}-adopting", adopt=True)
            return self._adopting
        if self._made_provider is None:
            self._adoption = adoption_check(self, named)
            self._made_provider = self._make_provider(named, adopt=adopts(self))
        return self._made_provider

    def _make_provider(self, named: str, *, adopt: bool = False) -> kubernetes.Provider:
        identifier = self.config.identifier if self.config is not None else self.identity or self.name or "cluster"
        return kubernetes.Provider(
            named,
            # The kubeconfig resolves after the checks, so no object is written before they have passed. The provider
            # does not treat a kubeconfig as secret by itself.
            kubeconfig=pulumi.Output.all(self._whole(), *self._checks).apply(lambda found: found[0].text),
            # With the same identifier another kubeconfig updates the provider. With another, or without one, every
            # object of the cluster is replaced.
            cluster_identifier=f"{self.role}-{identifier}",
            # A rotated Secret changes in place: after a delete, it would be missing if the run ended early.
            enable_secret_mutable=True,
            enable_config_map_mutable=True,
            # Without it, a field changed by a controller or by kubectl scale is a conflict, which only the update
            # reports: the field is not reset, and later changes of it fail. Changes by kubectl patch are no conflict.
            enable_patch_force=True,
            kube_client_settings=self._client,
            upsert_existing_objects=adopt or None,
            opts=pulumi.ResourceOptions(parent=self._parent),
        )


class ControlPlaneCluster(Cluster):
    """The control plane's cluster: istiod and its management. It holds all secrets of the control plane."""

    role = CONTROL_PLANE

    @classmethod
    def of_single(cls, value: object, *, name: str, parent: pulumi.Resource | None = None) -> Self:
        """The cluster of a mesh with `split: false`, in its membership: a mapping, or a wrapper of either role.

        A provider of its own name: with the control plane's, a mesh that stops being split would delete its old objects
        in the new cluster. Raises: InvalidInputError.
        """
        single = f"{name}-single"
        if isinstance(value, DataPlaneCluster):
            if value.config is None:
                rule = "is a DataPlaneCluster without a plain kubeconfig, but with split: false istiod runs there too"
                fix = "Give ControlPlaneCluster(...), or a mapping with the kubeconfig"
                raise InvalidInputError([Problem("memberships[0].cluster", rule, fix)], f"{cls.__name__} of {name}")
            return cls.from_config(value.config, name=single, client=value._client, parent=parent)
        return cls.of(value, name=single, parent=parent)

    def _watch(self, args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        guard.remember(args)
        return None


class DataPlaneCluster(Cluster):
    """A data plane's cluster: proxies, gateways, Istio's objects. Its users can read all of its objects."""

    role = DATA_PLANE

    def _watch(self, args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        return guard.keep_secrets_out(args)


def refuse_one_given_twice(clusters: Mapping[str, Cluster], source: str) -> None:
    """Rejects two wrappers of one cluster in a component's arguments, as `Cluster.distinct_from` does.

    clusters: by field; the error names the later one. source: the fields' owner, for errors.
    """
    for (first, one), (second, other) in combinations(clusters.items(), 2):
        _compare(other, one, (second, first), source)


def refuse_providers(opts: pulumi.ResourceOptions | None, called: str) -> None:
    """Raises InvalidInputError for a Kubernetes provider in a component's options: without a role it has no effect.

    Inherited providers are accepted: they are for other children of the component's parent. called: the component. A
    component host passes no provider, so it cannot make this check.
    """
    if opts is None:
        return
    several = opts.providers.values() if isinstance(opts.providers, Mapping) else opts.providers or ()
    if any(isinstance(one, kubernetes.Provider) for one in (opts.provider, *several)):
        rule = "holds a Kubernetes provider, which has no role and would have no effect"
        fix = "Give it as a cluster: ControlPlaneCluster(provider=..., server=...), or DataPlaneCluster"
        raise InvalidInputError([Problem("opts.providers", rule, fix)], called)


def _compare(one: Cluster, other: Cluster, called: tuple[str, str], source: str) -> None:
    its, others = one._facts, other._facts
    if isinstance(its, ClusterFacts) and isinstance(others, ClusterFacts):
        refuse_same_cluster(its, others, called, source)
        return
    pair = pulumi.Output.all(its, others)
    check = when_known(pair, lambda facts: refuse_same_cluster(facts[0], facts[1], called, source))
    # A plain cluster does not wait for an Output, so its objects can be previewed.
    open_ones = [cluster for cluster in (one, other) if not cluster._is_in_use()]
    for cluster in [found for found in open_ones if not found.known] or open_ones:
        cluster._checks.append(check)


def _require(cluster: object, role: type[Cluster], called: str) -> None:
    if not isinstance(cluster, role):
        rule = f"must be a {role.__name__}, but is a {type(cluster).__name__}"
        swapped = isinstance(cluster, Cluster)
        fix = "Are the two clusters swapped?" if swapped else f"Give {role.__name__}(kubeconfig=..., server=...)"
        raise InvalidInputError([Problem("cluster", rule, fix)], called)
