"""Outputs of other stacks, by the names in this stack's configuration. What is secret there is secret here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_hosted_mesh.boundary.arguments import when_known
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.load import whole
from pulumi_hosted_mesh.spec.stack import StackKind

SOURCE = "the stack's configuration"


@dataclass(frozen=True)
class Reference:
    """Another stack. field: where it is named. kinds: of which one it must be, for errors."""

    name: str
    field: str
    kinds: tuple[StackKind, ...]
    outputs: pulumi.StackReference

    def output(self, output: str, of: type = str) -> pulumi.Output[Any]:
        """An output. of: its type. Without one the run ends with InvalidInputError, once the stack has been read."""
        given = self.outputs.get_output(output)
        found: pulumi.Output[Any] = when_known(given, lambda value: self._there(value, of, f"output {output!r}"))
        return found

    async def plain_output(self, output: str, of: type) -> Any:
        """An output's value at once, not as an Output: for what the names of resources depend on. It must be public.

        of: its type. Raises: InvalidInputError if the stack has no such output.
        """
        details = await self.outputs.get_output_details(output)
        return whole(self._there(details.value, of, f"public output {output!r}"))

    def _there(self, value: Any, of: type, wanted: str) -> Any:
        if not isinstance(value, of):
            rule = f"names the stack {self.name}, which has no {wanted}{'' if value is None else ' of the right form'}"
            kinds = " or ".join(self.kinds)
            fix = (
                f"Run `pulumi up` of that stack first, with this hosted-mesh or a newer one; it must be of kind {kinds}"
            )
            raise InvalidInputError([Problem(self.field, rule, fix)], SOURCE)
        return value


def stack(name: str | None, field: str, *kinds: StackKind) -> Reference:
    """Another stack, of one of these kinds. field: where its name belongs. Raises: InvalidInputError without a name."""
    if name is None:
        fix = "Name the stack as organization/project/stack under hosted-mesh:references, or see the stack's examples"
        raise InvalidInputError([Problem(field, "is required by this stack", fix)], SOURCE)
    return Reference(name, field, kinds, pulumi.StackReference(name))
