"""What objects say of the mesh that they belong to: labels, versions, and Istio's own configuration of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from pulumi_hosted_mesh.operations.discovery.observed import Manifest
from pulumi_hosted_mesh.spec.load import UNPARSABLE
from pulumi_hosted_mesh.vocabulary import DEFAULT_REVISION, MESH_LABEL, REVISION_LABEL, suffixed

VARIANTS = ("-distroless", "-debug")


@dataclass(frozen=True)
class Marks:
    """Empty where nothing says it. mesh: Istio's mesh ID."""

    mesh: str = ""
    trust_domain: str = ""
    cluster_id: str = ""
    network: str = ""


def marks_of(config_maps: Iterable[Manifest], namespace: str, revision: str, installation: Manifest) -> Marks:
    """From the mesh config and the chart's values of a revision, and this project's label.

    Istio's charts call them `istio` and `values`, with `-<revision>` but for the default one. What cannot be read as
    YAML says nothing: a user may have broken it, and discovery goes on.
    """
    by_name = {name_of(one): one.get("data") or {} for one in config_maps if namespace_of(one) == namespace}
    config = _mapping(by_name.get(suffixed("istio", revision), {}).get("mesh"))
    values = by_name.get(suffixed("values", revision), {})
    chart = _mapping(values.get("merged-values") or values.get("original-values"))
    settings = _part(chart, "global")
    mesh_id = _part(config, "defaultConfig").get("meshId") or settings.get("meshID")
    trust_domain = config.get("trustDomain") or _part(chart, "meshConfig").get("trustDomain")
    return Marks(
        str(labels_of(installation).get(MESH_LABEL) or mesh_id or ""),
        str(trust_domain or ("cluster.local" if config else "")),
        str(_part(settings, "multiCluster").get("clusterName") or ""),
        str(settings.get("network") or ""),
    )


def image_version(image: str) -> str:
    """The version that an image's tag says; empty for one that is named by its digest alone, or `latest`."""
    tag = image.partition("@")[0].rpartition("/")[2].partition(":")[2]
    for variant in VARIANTS:
        tag = tag.removesuffix(variant)
    return "" if tag == "latest" else tag


def name_of(manifest: Manifest) -> str:
    return str(manifest["metadata"]["name"])


def namespace_of(manifest: Manifest) -> str:
    return str(manifest["metadata"].get("namespace", ""))


def labels_of(manifest: Manifest) -> Mapping[str, str]:
    return (manifest.get("metadata") or {}).get("labels") or {}


def annotations_of(manifest: Manifest) -> Mapping[str, str]:
    return (manifest.get("metadata") or {}).get("annotations") or {}


def revision_of(manifest: Manifest) -> str:
    return labels_of(manifest).get(REVISION_LABEL) or DEFAULT_REVISION


def containers_of(workload: Manifest) -> list[Mapping[str, Any]]:
    """The containers of a Deployment's Pods."""
    return ((workload.get("spec") or {}).get("template") or {}).get("spec", {}).get("containers") or []


def environment_of(workload: Manifest) -> dict[str, str]:
    """Variables of the containers of a Deployment's Pods; empty for what is taken from elsewhere."""
    return {
        str(one["name"]): str(one.get("value", "")) for part in containers_of(workload) for one in part.get("env") or []
    }


def _mapping(text: object) -> Mapping[str, Any]:
    try:
        parsed = yaml.safe_load(str(text)) if text else None
    except UNPARSABLE:
        return {}
    return parsed if isinstance(parsed, Mapping) else {}


def _part(mapping: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = mapping.get(key)
    return found if isinstance(found, Mapping) else {}
