"""Outputs of other stacks, by the names in this stack's configuration. What is secret there is secret here."""

from __future__ import annotations

from typing import Any

import pulumi
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.load import whole

SOURCE = "the stack's configuration"


def stack(name: str | None, field: str) -> pulumi.StackReference:
    """Another stack. field: where its name belongs, for the error. Raises: InvalidInputError."""
    if name is None:
        fix = "Name the stack as organization/project/stack under hosted-mesh:references, or see the stack's examples"
        raise InvalidInputError([Problem(field, "is required by this stack", fix)], SOURCE)
    return pulumi.StackReference(name)


async def plain_output(reference: pulumi.StackReference, output: str, field: str) -> Any:
    """An output's value at once, not as an Output: for what the names of resources depend on. It must be public.

    Raises: InvalidInputError if the stack has no such output yet.
    """
    details = await reference.get_output_details(output)
    if details.value is None:
        rule = f"names a stack that has no public output {output!r}"
        raise InvalidInputError([Problem(field, rule, "Run `pulumi up` of that stack first")], SOURCE)
    return whole(details.value)
