"""The two clusters, typed by role, so that a swapped pair does not type-check and does not run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import pulumi
import pulumi_kubernetes as kubernetes

from pulumi_hosted_mesh.boundary import guard
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.vocabulary import CONTROL_PLANE, DATA_PLANE, PROVIDER_NAME


class Cluster:
    """A cluster in one role; use `ControlPlaneCluster` or `DataPlaneCluster`.

    config: one context of a kubeconfig, see `preflight` and `kubeconfig.read`.
    name: of the provider resource; by default it is named after the role.
    Attributes, all of them plain facts: `server` (address of the API server), `certificate_authority` (PEM or None),
    `context`. The credential is in the provider alone, as a secret.
    """

    role: ClassVar[str]

    def __init__(self, config: Kubeconfig, *, name: str | None = None, parent: pulumi.Resource | None = None) -> None:
        if type(self) is Cluster:
            raise TypeError("a cluster has a role: use ControlPlaneCluster or DataPlaneCluster")
        self.server = config.server
        self.certificate_authority = config.certificate_authority
        self.context = config.context
        self._config = config
        self._name = name or PROVIDER_NAME[self.role]
        self._parent = parent
        self._provider = self._make_provider(self._name)
        self._adopting: kubernetes.Provider | None = None

    def options(
        self,
        parent: pulumi.Resource,
        *,
        depends_on: Sequence[pulumi.Resource] = (),
        secret_outputs: Sequence[str] = (),
        adopt: bool = False,
    ) -> pulumi.ResourceOptions:
        """The options of a resource in this cluster; every object is sent with these, so a check here sees them all.

        adopt: take over an object that exists already, instead of failing.
        """
        if adopt and self._adopting is None:
            self._adopting = self._make_provider(f"{self._name}-adopting", adopt=True)
        return pulumi.ResourceOptions(
            parent=parent,
            provider=self._adopting if adopt else self._provider,
            depends_on=list(depends_on),
            additional_secret_outputs=list(secret_outputs) or None,
            transformations=[self._watch],
        )

    def _watch(self, args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        """Sees each object before it is registered (see `guard`)."""
        raise NotImplementedError

    def _make_provider(self, name: str, *, adopt: bool = False) -> kubernetes.Provider:
        return kubernetes.Provider(
            name,
            # The provider does not treat a kubeconfig as secret by itself.
            kubeconfig=pulumi.Output.secret(self._config.text),
            # While it stays, another kubeconfig updates the provider; without it, or with another, every object of the
            # cluster is replaced.
            cluster_identifier=f"{self.role}-{self._config.identifier}",
            upsert_existing_objects=adopt or None,
            opts=pulumi.ResourceOptions(parent=self._parent),
        )


class ControlPlaneCluster(Cluster):
    """The provider's cluster: istiod and all that manages it. Holds every secret of the control plane."""

    role = CONTROL_PLANE

    def _watch(self, args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        guard.remember(args)
        return None


class DataPlaneCluster(Cluster):
    """The user's cluster: proxies, gateways, Istio's objects. Whatever is sent here, the user can read."""

    role = DATA_PLANE

    def _watch(self, args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        return guard.keep_secrets_out(args)


def require_control_plane(cluster: object) -> None:
    """Raises InvalidInputError unless this is the provider's cluster; for programs that no type checker has seen."""
    _require(cluster, ControlPlaneCluster)


def require_data_plane(cluster: object) -> None:
    """Raises InvalidInputError unless this is the user's cluster."""
    _require(cluster, DataPlaneCluster)


def _require(cluster: object, role: type[Cluster]) -> None:
    if not isinstance(cluster, role):
        rule = f"must be a {role.__name__}, but a {type(cluster).__name__} was given"
        problem = Problem("cluster", rule, "Are the two clusters swapped?")
        raise InvalidInputError([problem], "the component's arguments")
