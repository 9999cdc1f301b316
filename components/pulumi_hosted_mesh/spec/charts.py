"""Where Istio's Helm charts and images come from."""

from __future__ import annotations

from pulumi_hosted_mesh.spec.fields import ChartRepository, ChartVersion, FilePath, ImageHub, ImageTag, Model

ISTIO_REPOSITORY = "https://istio-release.storage.googleapis.com/charts"


class ChartSource(Model):
    """Where Istio's Helm charts (base, istiod, gateway) and images come from."""

    repository: ChartRepository = ISTIO_REPOSITORY
    """Helm repository, https:// or oci://, without user and password: it is stored and shown in plain text."""
    path: FilePath | None = None
    """A local directory with the charts as subdirectories `base`, `istiod` and `gateway`; instead of a repository."""
    hub: ImageHub | None = None
    """Registry and folder of the images; by default the charts' own."""
    tag: ImageTag | None = None
    """Tag of the images; by default the charts' own."""


class Charts(ChartSource):
    """The charts of one version of Istio."""

    version: ChartVersion = "1.31.1"
    """Version of the charts, and of istiod."""

    @classmethod
    def at(cls, source: ChartSource, version: str) -> Charts:
        """A version's charts from somewhere else."""
        return cls(**{**source.model_dump(), "version": version})
