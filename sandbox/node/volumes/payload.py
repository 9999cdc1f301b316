"""The files of a Secret, ConfigMap, downwardAPI or projected volume: pure, from objects that the caller has read."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from lightkube.models.core_v1 import (
    ConfigMapProjection,
    DownwardAPIProjection,
    DownwardAPIVolumeFile,
    KeyToPath,
    SecretProjection,
    ServiceAccountTokenProjection,
    Volume,
    VolumeProjection,
)
from lightkube.resources.core_v1 import ConfigMap, Pod, Secret

from sandbox.node import keyed_data
from sandbox.node.container import fields
from sandbox.node.keyed_data import MissingReferenceError, Objects, Reference


class NotMountableError(Exception):
    """The volume cannot be filled (yet); the text is for the Pod's event."""


@dataclass(frozen=True)
class File:
    """mode: permission bits."""

    content: bytes
    mode: int


@dataclass(frozen=True)
class Inputs:
    """token: the current token of a projection."""

    pod: Pod
    facts: fields.Facts
    token: Callable[[ServiceAccountTokenProjection], str]
    objects: Objects


Files = dict[str, File]
_DEFAULT_MODE = 0o644


def _safe(path: str) -> str:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts:
        raise NotMountableError(f"path {path!r} leads out of the volume")
    return str(pure)


def _of_object(
    inputs: Inputs, reference: Reference, items: Iterable[KeyToPath] | None, mode: int, optional: bool | None
) -> Files:
    try:
        data = keyed_data.values(inputs.objects, reference, optional=optional)
    except MissingReferenceError as error:
        raise NotMountableError(str(error)) from None
    if items is None:
        return {_safe(key): File(value, mode) for key, value in data.items()}
    files: Files = {}
    for item in items:
        if item.key in data:
            files[_safe(item.path)] = File(data[item.key], item.mode if item.mode is not None else mode)
        elif not optional:
            raise NotMountableError(f"{keyed_data.described(reference)} references non-existent key: {item.key}")
    return files


def _of_pod(inputs: Inputs, items: Iterable[DownwardAPIVolumeFile], mode: int) -> Files:
    assert inputs.pod.spec is not None
    containers = {one.name: one for one in [*inputs.pod.spec.containers, *(inputs.pod.spec.initContainers or [])]}
    files: Files = {}
    for item in items:
        try:
            if item.fieldRef:
                value = fields.field(inputs.pod, inputs.facts, item.fieldRef.fieldPath)
            else:
                assert item.resourceFieldRef is not None
                container = containers[item.resourceFieldRef.containerName or ""]
                value = fields.resource(container, inputs.facts, item.resourceFieldRef)
        except (fields.UnknownFieldError, KeyError) as error:
            raise NotMountableError(str(error)) from None
        files[_safe(item.path)] = File(value.encode(), item.mode if item.mode is not None else mode)
    return files


def _of_projection(inputs: Inputs, source: VolumeProjection, mode: int) -> Files:
    if source.serviceAccountToken:
        token = inputs.token(source.serviceAccountToken)
        return {_safe(source.serviceAccountToken.path): File(token.encode(), mode)}
    if held := source.secret or source.configMap:
        return _of_object(inputs, _reference(held), held.items, mode, held.optional)
    if source.downwardAPI:
        return _of_pod(inputs, source.downwardAPI.items or [], mode)
    if source.clusterTrustBundle and source.clusterTrustBundle.optional:
        return {}
    raise NotMountableError("a projected source that this node does not know (clusterTrustBundle, podCertificate)")


def _reference(source: SecretProjection | ConfigMapProjection) -> Reference:
    return (Secret if isinstance(source, SecretProjection) else ConfigMap, source.name or "")


def _sources(volume: Volume) -> list[VolumeProjection]:
    """What the volume's files come from; a volume of one source is as a projection of it alone."""
    if secret := volume.secret:
        return [VolumeProjection(secret=SecretProjection(secret.items, secret.secretName, secret.optional))]
    if config_map := volume.configMap:
        projection = ConfigMapProjection(config_map.items, config_map.name, config_map.optional)
        return [VolumeProjection(configMap=projection)]
    if volume.downwardAPI:
        return [VolumeProjection(downwardAPI=DownwardAPIProjection(volume.downwardAPI.items))]
    return (volume.projected.sources if volume.projected else None) or []


def files(volume: Volume, inputs: Inputs) -> Files | None:
    """The volume's files by relative path; None if it is not a volume of files. Raises NotMountableError."""
    held = volume.secret or volume.configMap or volume.downwardAPI or volume.projected
    if held is None:
        return None
    mode = held.defaultMode if held.defaultMode is not None else _DEFAULT_MODE
    found: Files = {}
    for source in _sources(volume):
        found |= _of_projection(inputs, source, mode)
    return found


def references(volumes: Iterable[Volume]) -> set[Reference]:
    """The Secrets and ConfigMaps that the volumes are made of."""
    held = (source.secret or source.configMap for volume in volumes for source in _sources(volume))
    return {_reference(one) for one in held if one}


def tokens(volumes: Iterable[Volume]) -> list[ServiceAccountTokenProjection]:
    """The token projections of the volumes."""
    sources = (source.serviceAccountToken for volume in volumes for source in _sources(volume))
    return [one for one in sources if one]
