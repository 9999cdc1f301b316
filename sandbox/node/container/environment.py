"""A container's environment variables, as kubelet computes them: pure, from objects that the caller has read."""

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from lightkube.models.core_v1 import Container, EnvVar
from lightkube.resources.core_v1 import ConfigMap, Pod, Secret

from sandbox.node.container import fields

_REFERENCE = re.compile(r"\$\$|\$\((?P<name>[^()$]+)\)")


class MissingReferenceError(LookupError):
    """A Secret, ConfigMap or key that is not optional does not exist; the text is kubelet's."""


@dataclass(frozen=True)
class Sources:
    """The objects a container may refer to, by name, all of the Pod's namespace; absent ones are left out."""

    secrets: Mapping[str, Secret] = field(default_factory=dict)
    config_maps: Mapping[str, ConfigMap] = field(default_factory=dict)


def expand(text: str, known: Mapping[str, str]) -> str:
    """``$(NAME)`` becomes the variable's value, ``$$`` one dollar sign; an unknown name stays as it is."""

    def replace(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        return known.get(match["name"], match[0])

    return _REFERENCE.sub(replace, text)


def references(container: Container) -> tuple[set[str], set[str]]:
    """Names of the Secrets and of the ConfigMaps that the container's environment refers to."""
    secrets: set[str] = set()
    config_maps: set[str] = set()
    for variable in container.env or []:
        source = variable.valueFrom
        if source and source.secretKeyRef:
            secrets.add(source.secretKeyRef.name or "")
        if source and source.configMapKeyRef:
            config_maps.add(source.configMapKeyRef.name or "")
    for whole in container.envFrom or []:
        if whole.secretRef:
            secrets.add(whole.secretRef.name or "")
        if whole.configMapRef:
            config_maps.add(whole.configMapRef.name or "")
    return secrets, config_maps


def secret_data(secret: Secret) -> dict[str, bytes]:
    """A Secret's values, decoded."""
    return {key: base64.b64decode(value) for key, value in (secret.data or {}).items()}


def _whole(container: Container, sources: Sources) -> dict[str, str]:
    variables: dict[str, str] = {}
    for whole in container.envFrom or []:
        values: dict[str, str] = {}
        if whole.configMapRef:
            name, optional = whole.configMapRef.name or "", whole.configMapRef.optional
            config_map = sources.config_maps.get(name)
            if config_map is None and not optional:
                raise MissingReferenceError(f'configmap "{name}" not found')
            values = dict((config_map.data if config_map else None) or {})
        elif whole.secretRef:
            name, optional = whole.secretRef.name or "", whole.secretRef.optional
            secret = sources.secrets.get(name)
            if secret is None and not optional:
                raise MissingReferenceError(f'secret "{name}" not found')
            data = secret_data(secret) if secret else {}
            values = {key: value.decode(errors="surrogateescape") for key, value in data.items()}
        variables |= {f"{whole.prefix or ''}{key}": value for key, value in values.items()}
    return variables


def _referred(pod: Pod, container: Container, variable: EnvVar, facts: fields.Facts, sources: Sources) -> str | None:
    """The value of a valueFrom; None if it is optional and absent."""
    source = variable.valueFrom
    assert source is not None
    if source.fieldRef:
        return fields.field(pod, facts, source.fieldRef.fieldPath)
    if source.resourceFieldRef:
        return fields.resource(container, facts, source.resourceFieldRef)
    if source.configMapKeyRef:
        kind, key, name = "configmap", source.configMapKeyRef.key, source.configMapKeyRef.name or ""
        optional = source.configMapKeyRef.optional
        config_map = sources.config_maps.get(name)
        found = config_map is not None
        value = ((config_map.data if config_map else None) or {}).get(key)
    elif source.secretKeyRef:
        kind, key, name = "secret", source.secretKeyRef.key, source.secretKeyRef.name or ""
        optional = source.secretKeyRef.optional
        secret = sources.secrets.get(name)
        found = secret is not None
        data = secret_data(secret).get(key) if secret else None
        value = data.decode(errors="surrogateescape") if data is not None else None
    else:
        raise fields.UnknownFieldError(f"variable {variable.name} has a valueFrom that this node does not know")
    if value is None and not optional:
        raise MissingReferenceError(
            f'couldn\'t find key {key} in {kind} "{name}"' if found else f'{kind} "{name}" not found'
        )
    return value


def resolve(pod: Pod, container: Container, facts: fields.Facts, sources: Sources) -> dict[str, str]:
    """All of it; later ones win: the API server's address, envFrom, env in order.

    Raises MissingReferenceError, UnknownFieldError.
    """
    variables = {"KUBERNETES_SERVICE_HOST": facts.api_server, "KUBERNETES_SERVICE_PORT": "443"}
    variables |= _whole(container, sources)
    for variable in container.env or []:
        if variable.valueFrom is not None:
            value = _referred(pod, container, variable, facts, sources)
            if value is not None:
                variables[variable.name] = value
        else:
            variables[variable.name] = expand(variable.value or "", variables)
    return variables
