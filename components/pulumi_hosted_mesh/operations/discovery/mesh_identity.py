"""The mesh that objects belong to, from labels, versions and Istio's own configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pulumi_hosted_mesh import yaml_text
from pulumi_hosted_mesh.operations.discovery.cluster_observation import Manifest
from pulumi_hosted_mesh.vocabulary import DEFAULT_REVISION, MESH_LABEL, REVISION_LABEL, TENANT_LABEL, suffixed

HOSTS = "ISTIOD_CUSTOM_HOST"
VARIANTS = ("-distroless", "-debug")


@dataclass(frozen=True)
class MeshIdentity:
    """The names of a mesh and of its part in one cluster; empty if not found.

    mesh: Istio's mesh ID. tenant: by this project's label, which is on the control plane alone. hosts: of its istiod.
    """

    mesh: str = ""
    trust_domain: str = ""
    cluster_id: str = ""
    network: str = ""
    tenant: str = ""
    hosts: tuple[str, ...] = ()


def identity_of(config_maps: Iterable[Manifest], namespace: str, revision: str, installation: Manifest) -> MeshIdentity:
    """From the mesh config and the chart's values of a revision, and this project's label.

    Istio's charts name them `istio` and `values`, with `-<revision>` but for the default one. Text that is not YAML
    is ignored: a user may have broken it, and discovery continues.
    """
    by_name = {name_of(one): one.get("data") or {} for one in config_maps if namespace_of(one) == namespace}
    config = _mapping(by_name.get(suffixed("istio", revision), {}).get("mesh"))
    values = by_name.get(suffixed("values", revision), {})
    chart = _mapping(values.get("merged-values") or values.get("original-values"))
    settings = _part(chart, "global")
    mesh_id = _part(config, "defaultConfig").get("meshId") or settings.get("meshID")
    trust_domain = config.get("trustDomain") or _part(chart, "meshConfig").get("trustDomain")
    return MeshIdentity(
        str(labels_of(installation).get(MESH_LABEL) or mesh_id or ""),
        str(trust_domain or ("cluster.local" if config else "")),
        str(_part(settings, "multiCluster").get("clusterName") or ""),
        str(settings.get("network") or ""),
        str(labels_of(installation).get(TENANT_LABEL) or ""),
        tuple(filter(None, environment_of(installation).get(HOSTS, "").split(","))),
    )


def image_version(image: str) -> str:
    """The version in an image's tag; empty for a digest without a tag, and for `latest`."""
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
    """Variables of the containers of a Deployment's Pods; empty for values from Secrets and other objects."""
    return {
        str(one["name"]): str(one.get("value", "")) for part in containers_of(workload) for one in part.get("env") or []
    }


def _mapping(text: object) -> Mapping[str, Any]:
    try:
        parsed = yaml_text.load(str(text)) if text else None
    except yaml_text.UNPARSABLE:
        return {}
    return parsed if isinstance(parsed, Mapping) else {}


def _part(mapping: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = mapping.get(key)
    return found if isinstance(found, Mapping) else {}
