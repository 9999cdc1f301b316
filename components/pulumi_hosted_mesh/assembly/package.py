"""The components as a package for programs in other languages."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, Final

import pulumi
from pulumi.errors import InputPropertiesError
from pulumi.provider import server
from pulumi.provider.experimental import component_provider_host

from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.vocabulary import PACKAGE

DISTRIBUTION: Final = "pulumi-hosted-mesh"


class _Servicer(server.ProviderServicer):
    async def _construct(self, request: Any, context: Any) -> Any:
        """Pulumi shows the stack trace of what a component raises, but not of what it takes for the caller's mistake.

        The message alone: with a field's path beside it the engine would print the field's value, a secret perhaps.
        """
        try:
            return await super()._construct(request, context)
        except (server.ComponentInitError, InvalidInputError) as error:
            cause = error.inner if isinstance(error, server.ComponentInitError) else error
            if isinstance(cause, InvalidInputError):
                raise InputPropertiesError(str(cause), []) from None
            raise


def serve(components: Sequence[type[pulumi.ComponentResource]]) -> None:
    """Serves the components to the engine until it goes; refuses input with the message that a Python program gets."""
    # Pulumi's host makes its server itself and has no place for another.
    server.ProviderServicer = _Servicer  # type: ignore[misc]
    component_provider_host(list(components), PACKAGE, version=version(DISTRIBUTION))
