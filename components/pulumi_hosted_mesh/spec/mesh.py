"""The mesh document: one per mesh, and the only input of every stack."""

from __future__ import annotations

from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, model_validator

from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.control_plane import CHARTS_ENVIRONMENT, OUR_ENVIRONMENT, ControlPlane
from pulumi_hosted_mesh.spec.data_plane import DataPlane
from pulumi_hosted_mesh.spec.fields import (
    ChartRepository,
    ChartVersion,
    Domain,
    FilePath,
    MeshName,
    Model,
    Revision,
    Text,
)
from pulumi_hosted_mesh.spec.trust import Trust
from pulumi_hosted_mesh.vocabulary import DEFAULT_REVISION, HTTPS_PORT, namespace_of

ISTIO_REPOSITORY = "https://istio-release.storage.googleapis.com/charts"


class Charts(Model):
    """Where Istio's Helm charts (base, istiod, gateway) and images come from."""

    repository: ChartRepository = ISTIO_REPOSITORY
    """Helm repository, https:// or oci://, without user and password: it is stored and shown in plain text."""
    version: ChartVersion = "1.31.1"
    """Version of the charts, and of istiod."""
    path: FilePath | None = None
    """A local directory with the charts as subdirectories `base`, `istiod` and `gateway`; instead of a repository."""
    hub: Text | None = None
    """Registry and folder of the images; by default the charts' own."""
    tag: Text | None = None
    """Tag of the images; by default the charts' own."""


def chosen_profile(values: dict[str, object]) -> dict[str, object]:
    """Refuses a profile: it decides which side a chart is for. The chart reads it at two places."""
    settings = values.get("global")
    if "profile" in values or (isinstance(settings, dict) and "profile" in settings):
        raise RuleBrokenError(
            "must not choose a profile: it says whether the chart runs istiod, which the split decides",
            "Leave profile out, and set the values that you want from it",
        )
    return values


def environment_once(values: dict[str, object]) -> dict[str, object]:
    """Refuses in `env` and `envVarFrom` what would be in istiod's environment twice."""
    env, more = values.get("env"), values.get("envVarFrom")
    names = set(env) & CHARTS_ENVIRONMENT if isinstance(env, dict) else set()
    if isinstance(more, list):
        names |= {str(one.get("name")) for one in more if isinstance(one, dict)} & (
            CHARTS_ENVIRONMENT | OUR_ENVIRONMENT
        )
    if names:
        raise RuleBrokenError(
            f"sets {', '.join(sorted(names))} in istiod's environment, which is set already, by the chart or for the "
            "split",
            "Leave it out",
        )
    return values


Values = Annotated[dict[str, object], AfterValidator(chosen_profile)]


class ChartValues(Model):
    """An escape hatch: more Helm values, merged under those that the split depends on."""

    control_plane: Annotated[Values, AfterValidator(environment_once)] = {}
    """For the istiod chart in the provider's cluster. No `profile`."""
    data_plane: Values = {}
    """For the istiod chart with the remote profile in the user's cluster. No `profile`."""


class Mesh(Model):
    """One service mesh: its control plane in the provider's cluster, its proxies in the user's."""

    name: MeshName
    """The mesh's name; its namespace in both clusters is `mesh-<name>`."""
    revision: Revision = DEFAULT_REVISION
    """Istio's revision of this control plane."""
    trust_domain: Domain = "cluster.local"
    """Trust domain of the workloads' identities, `spiffe://<trustDomain>/ns/...`."""
    cluster_domain: Domain = "cluster.local"
    """DNS domain of the user's cluster."""
    control_plane: ControlPlane
    """What is made in the provider's cluster."""
    data_plane: DataPlane
    """What is made in the user's cluster."""
    trust: Trust = Trust()
    """Certificate authorities and lifetimes."""
    charts: Charts = Charts()
    """Where Istio's charts and images come from."""
    chart_values: ChartValues = ChartValues()
    """More Helm values; an escape hatch, not needed for the split to work."""

    @property
    def namespace(self) -> str:
        """The mesh's namespace, the same in both clusters."""
        return namespace_of(self.name)

    @property
    def cluster_name(self) -> str:
        """Istio's cluster ID of the data plane."""
        return self.data_plane.cluster_name or self.name

    @property
    def api_server_port(self) -> int:
        """Port of the user's API server."""
        return urlsplit(self.data_plane.access.api_server).port or HTTPS_PORT

    @model_validator(mode="after")
    def _ranges_limit_something(self) -> Self:
        policy = self.control_plane.network_policy
        if policy.api_server_ranges and policy.fetch_jwks and self.api_server_port == HTTPS_PORT:
            raise RuleBrokenError(
                "controlPlane.networkPolicy.apiServerRanges would limit nothing: that server's port is 443, which is "
                "open to any address for the keys of token issuers",
                "Set fetchJwks: false beside it, or leave the ranges out",
            )
        return self

    @model_validator(mode="after")
    def _gateways_have_names_of_their_own(self) -> Self:
        names = [gateway.name for gateway in self.data_plane.gateways]
        if len(set(names)) != len(names):
            raise RuleBrokenError("dataPlane.gateways has two gateways of one name", "Give each its own name")
        return self
