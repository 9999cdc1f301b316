"""The source of Istio's Helm charts and images."""

from __future__ import annotations

from pulumi_hosted_mesh.spec.fields import ChartRepository, ChartVersion, FilePath, ImageHub, ImageTag, Model

ISTIO_REPOSITORY = "https://istio-release.storage.googleapis.com/charts"


class ChartSource(Model):
    """The source of Istio's Helm charts (base, istiod, gateway) and images."""

    repository: ChartRepository = ISTIO_REPOSITORY
    """Helm repository, https:// or oci://. State and previews show it in plain text: give no user and password."""
    path: FilePath | None = None
    """Local directory with the charts as subdirectories `base`, `istiod` and `gateway`; replaces the repository."""
    hub: ImageHub | None = None
    """Registry and folder of the images; by default the charts' values."""
    tag: ImageTag | None = None
    """Tag of the images; by default the charts' values."""


class Charts(ChartSource):
    """The charts of one version of Istio."""

    version: ChartVersion = "1.31.1"
    """Version of the charts, and of istiod."""

    @classmethod
    def at(cls, source: ChartSource, version: str) -> Charts:
        """The charts of a version, from the given source."""
        return cls(**{**source.model_dump(), "version": version})
