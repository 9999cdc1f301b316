"""The program: reads what kind of stack this is and builds it."""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable
from typing import Any

import pulumi
from pulumi_hosted_mesh import StackSettings

from stacks import configuration

Build = Callable[[StackSettings], Awaitable[dict[str, Any]]]


async def program() -> dict[str, Any]:
    """Returns the stack's outputs by name. Raises: InvalidInputError, which is shown without a stack trace."""
    settings = configuration.settings()
    # Imported by name: the stack `trust`, for one, has no use for pulumi_kubernetes.
    build: Build = importlib.import_module(f"stacks.{settings.stack.name.lower()}").build
    return await build(settings)


pulumi.run(program)
