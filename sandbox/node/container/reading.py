"""Reads what a container's environment refers to, at its start, as kubelet does."""

from typing import TypeVar

from lightkube import ApiError, AsyncClient
from lightkube.models.core_v1 import Container
from lightkube.resources.core_v1 import ConfigMap, Secret

from sandbox.node.container import environment

T = TypeVar("T", Secret, ConfigMap)
_NOT_FOUND = 404


async def _read(client: AsyncClient, kind: type[T], names: set[str], namespace: str) -> dict[str, T]:
    found: dict[str, T] = {}
    for name in names:
        try:
            found[name] = await client.get(kind, name, namespace=namespace)
        except ApiError as error:
            if error.status.code != _NOT_FOUND:
                raise
    return found


async def sources(client: AsyncClient, container: Container, namespace: str) -> environment.Sources:
    """Those that exist. Raises httpx2.HTTPError."""
    secrets, config_maps = environment.references(container)
    return environment.Sources(
        secrets=await _read(client, Secret, secrets, namespace),
        config_maps=await _read(client, ConfigMap, config_maps, namespace),
    )
