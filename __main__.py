"""The program: reads the stack's document and builds the stack that it names."""

from __future__ import annotations

import gc
import importlib
import os
from collections.abc import Awaitable, Callable
from typing import Any

import pulumi
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.stack import StackSettings

from stacks import configuration

Build = Callable[[Mesh, StackSettings], Awaitable[dict[str, Any]]]

# The classes of pulumi_kubernetes are some hundred thousand objects that live until the end. Python's collector would
# walk them again and again while they are made, and all of them once more when the process ends: 0.2 s of each run.
gc.disable()

# The SDK would look up each object of a chart once more, to hand the program a resource that nobody here asks for: 0.1
# to 0.3 s of each run. A setting of Pulumi's own; with it `Chart.resources` holds URNs.
os.environ.setdefault("PULUMI_DISABLE_RESOURCE_REFERENCES", "true")


async def program() -> dict[str, Any]:
    """Returns the stack's outputs by name. Raises: InvalidInputError, which is shown without a stack trace."""
    try:
        settings, mesh = configuration.read_configuration()
        # Imported by name: the stack `trust`, for one, has no use for pulumi_kubernetes.
        build: Build = importlib.import_module(f"stacks.{settings.stack.name.lower()}").build
        return await build(mesh, settings)
    finally:
        gc.freeze()
        gc.enable()


pulumi.run(program)
