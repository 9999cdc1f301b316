"""A container's environment variables, as kubelet computes them from objects that are read at its start."""

import re
from collections.abc import Mapping

from lightkube import ApiError, AsyncClient
from lightkube.models.core_v1 import Container, EnvVar, EnvVarSource
from lightkube.resources.core_v1 import ConfigMap, Pod, Secret

from sandbox.node import keyed_data
from sandbox.node.container import fields
from sandbox.node.keyed_data import MissingReferenceError, Objects, Reference

_REFERENCE = re.compile(r"\$\$|\$\((?P<name>[^()$]+)\)")
_NOT_FOUND = 404


def expand(text: str, known: Mapping[str, str]) -> str:
    """``$(NAME)`` becomes the variable's value, ``$$`` one dollar sign; an unknown name stays as it is."""

    def replace(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        return known.get(match["name"], match[0])

    return _REFERENCE.sub(replace, text)


def _reference(source: EnvVarSource) -> Reference | None:
    if source.secretKeyRef:
        return (Secret, source.secretKeyRef.name or "")
    return (ConfigMap, source.configMapKeyRef.name or "") if source.configMapKeyRef else None


async def read(client: AsyncClient, container: Container, namespace: str) -> Objects:
    """The objects that the container's environment refers to. Raises httpx2.HTTPError."""
    sources = [variable.valueFrom for variable in container.env or [] if variable.valueFrom]
    found: dict[Reference, Secret | ConfigMap | None] = {}
    for kind, name in {reference for source in sources if (reference := _reference(source))}:
        try:
            found[(kind, name)] = await client.get(kind, name, namespace=namespace)
        except ApiError as error:
            if error.status.code != _NOT_FOUND:
                raise
    return found


def _referred(pod: Pod, container: Container, variable: EnvVar, facts: fields.Facts, objects: Objects) -> str | None:
    """The value of a valueFrom; None if it is optional and absent."""
    source = variable.valueFrom
    assert source is not None
    if source.fieldRef:
        return fields.field(pod, facts, source.fieldRef.fieldPath)
    if source.resourceFieldRef:
        return fields.resource(container, facts, source.resourceFieldRef)
    selector, reference = source.secretKeyRef or source.configMapKeyRef, _reference(source)
    if selector is None or reference is None:
        raise fields.UnknownFieldError(f"variable {variable.name} has a valueFrom that this node does not know")
    value = keyed_data.values(objects, reference, optional=selector.optional).get(selector.key)
    if value is None and not selector.optional:
        raise MissingReferenceError(f"couldn't find key {selector.key} in {keyed_data.described(reference)}")
    return None if value is None else value.decode(errors="surrogateescape")


def resolve(pod: Pod, container: Container, facts: fields.Facts, objects: Objects) -> dict[str, str]:
    """The API server's address, then those of the container in order. Pure.

    Raises MissingReferenceError, UnknownFieldError.
    """
    variables = {"KUBERNETES_SERVICE_HOST": facts.api_server, "KUBERNETES_SERVICE_PORT": "443"}
    if container.envFrom:
        raise fields.UnknownFieldError("envFrom is not offered by this node: name each variable in env")
    for variable in container.env or []:
        if variable.valueFrom is not None:
            value = _referred(pod, container, variable, facts, objects)
            if value is not None:
                variables[variable.name] = value
        else:
            variables[variable.name] = expand(variable.value or "", variables)
    return variables
