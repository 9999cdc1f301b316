"""The files of a Secret, ConfigMap, downwardAPI or projected volume: pure, from objects that the caller has read."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from lightkube.models.core_v1 import (
    DownwardAPIVolumeFile,
    KeyToPath,
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
    if source.configMap:
        chosen = source.configMap
        return _of_object(inputs, (ConfigMap, chosen.name or ""), chosen.items, mode, chosen.optional)
    if source.secret:
        asked = source.secret
        return _of_object(inputs, (Secret, asked.name or ""), asked.items, mode, asked.optional)
    if source.downwardAPI:
        return _of_pod(inputs, source.downwardAPI.items or [], mode)
    if source.clusterTrustBundle and source.clusterTrustBundle.optional:
        return {}
    raise NotMountableError("a projected source that this node does not know (clusterTrustBundle, podCertificate)")


def files(volume: Volume, inputs: Inputs) -> Files | None:
    """The volume's files by relative path; None if it is not a volume of files. Raises NotMountableError."""
    source = volume.secret or volume.configMap or volume.downwardAPI or volume.projected
    if source is None:
        return None
    mode = source.defaultMode if source.defaultMode is not None else _DEFAULT_MODE
    if volume.secret:
        secret = volume.secret
        return _of_object(inputs, (Secret, secret.secretName or ""), secret.items, mode, secret.optional)
    if volume.configMap:
        chosen = volume.configMap
        return _of_object(inputs, (ConfigMap, chosen.name or ""), chosen.items, mode, chosen.optional)
    if volume.downwardAPI:
        return _of_pod(inputs, volume.downwardAPI.items or [], mode)
    found: Files = {}
    for projection in (volume.projected.sources if volume.projected else None) or []:
        found |= _of_projection(inputs, projection, mode)
    return found


def references(volumes: Iterable[Volume]) -> set[Reference]:
    """The Secrets and ConfigMaps that the volumes are made of."""
    found: set[Reference] = set()
    for volume in volumes:
        if volume.secret:
            found.add((Secret, volume.secret.secretName or ""))
        if volume.configMap:
            found.add((ConfigMap, volume.configMap.name or ""))
        for source in (volume.projected.sources if volume.projected else None) or []:
            if source.secret:
                found.add((Secret, source.secret.name or ""))
            if source.configMap:
                found.add((ConfigMap, source.configMap.name or ""))
    return found


def tokens(volumes: Iterable[Volume]) -> list[ServiceAccountTokenProjection]:
    """The token projections of the volumes."""
    sources = (source for volume in volumes if volume.projected for source in volume.projected.sources or [])
    return [source.serviceAccountToken for source in sources if source.serviceAccountToken]
