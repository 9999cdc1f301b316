"""The files of a Secret, ConfigMap, downwardAPI or projected volume: pure, from objects that the caller has read."""

import base64
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from lightkube.models.core_v1 import (
    DownwardAPIVolumeFile,
    KeyToPath,
    ServiceAccountTokenProjection,
    Volume,
    VolumeProjection,
)
from lightkube.resources.core_v1 import ConfigMap, Pod, Secret

from sandbox.node.container import fields

Key = tuple[type[Secret] | type[ConfigMap], str]


class NotMountableError(Exception):
    """The volume cannot be filled (yet); the text is for the Pod's event."""


@dataclass(frozen=True)
class File:
    """mode: permission bits."""

    content: bytes
    mode: int


@dataclass(frozen=True)
class Inputs:
    """objects: those that exist, of the Pod's namespace. token: the current token of a projection."""

    pod: Pod
    facts: fields.Facts
    token: Callable[[ServiceAccountTokenProjection], str]
    secrets: Mapping[str, Secret] = field(default_factory=dict)
    config_maps: Mapping[str, ConfigMap] = field(default_factory=dict)


Files = dict[str, File]
_DEFAULT_MODE = 0o644


def _safe(path: str) -> str:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts:
        raise NotMountableError(f"path {path!r} leads out of the volume")
    return str(pure)


def _select(
    data: Mapping[str, bytes], items: Iterable[KeyToPath] | None, mode: int, what: str, optional: bool
) -> Files:
    if items is None:
        return {_safe(key): File(value, mode) for key, value in data.items()}
    files: Files = {}
    for item in items:
        if item.key in data:
            files[_safe(item.path)] = File(data[item.key], item.mode if item.mode is not None else mode)
        elif not optional:
            raise NotMountableError(f"{what} references non-existent key: {item.key}")
    return files


def _of_secret(inputs: Inputs, name: str, items: Iterable[KeyToPath] | None, mode: int, optional: bool) -> Files:
    secret = inputs.secrets.get(name)
    if secret is None:
        if optional:
            return {}
        raise NotMountableError(f'secret "{name}" not found')
    data = {key: base64.b64decode(value) for key, value in (secret.data or {}).items()}
    return _select(data, items, mode, f'secret "{name}"', optional)


def _of_config_map(inputs: Inputs, name: str, items: Iterable[KeyToPath] | None, mode: int, optional: bool) -> Files:
    config_map = inputs.config_maps.get(name)
    if config_map is None:
        if optional:
            return {}
        raise NotMountableError(f'configmap "{name}" not found')
    data = {key: value.encode() for key, value in (config_map.data or {}).items()}
    data |= {key: base64.b64decode(value) for key, value in (config_map.binaryData or {}).items()}
    return _select(data, items, mode, f'configmap "{name}"', optional)


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
        return _of_config_map(inputs, chosen.name or "", chosen.items, mode, bool(chosen.optional))
    if source.secret:
        asked = source.secret
        return _of_secret(inputs, asked.name or "", asked.items, mode, bool(asked.optional))
    if source.downwardAPI:
        return _of_pod(inputs, source.downwardAPI.items or [], mode)
    if source.clusterTrustBundle and source.clusterTrustBundle.optional:
        return {}
    raise NotMountableError("a projected source that this node does not know (clusterTrustBundle, podCertificate)")


def files(volume: Volume, inputs: Inputs) -> Files | None:
    """The volume's files by relative path; None if it is not a volume of files. Raises NotMountableError."""
    if volume.secret:
        secret = volume.secret
        mode = secret.defaultMode if secret.defaultMode is not None else _DEFAULT_MODE
        return _of_secret(inputs, secret.secretName or "", secret.items, mode, bool(secret.optional))
    if volume.configMap:
        chosen = volume.configMap
        mode = chosen.defaultMode if chosen.defaultMode is not None else _DEFAULT_MODE
        return _of_config_map(inputs, chosen.name or "", chosen.items, mode, bool(chosen.optional))
    if volume.downwardAPI:
        downward = volume.downwardAPI
        return _of_pod(inputs, downward.items or [], downward.defaultMode or _DEFAULT_MODE)
    if volume.projected:
        projected = volume.projected
        mode = projected.defaultMode if projected.defaultMode is not None else _DEFAULT_MODE
        found: Files = {}
        for source in projected.sources or []:
            found |= _of_projection(inputs, source, mode)
        return found
    return None


def references(volumes: Iterable[Volume]) -> set[Key]:
    """The Secrets and ConfigMaps that the volumes are made of."""
    found: set[Key] = set()
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
