"""Outputs of other stacks, by the names in this stack's configuration. Their secrets stay secret here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_hosted_mesh import (
    GatewayFacts,
    GatewayFactsArgs,
    InvalidInputError,
    Problem,
    StackKind,
    read_document,
    when_known,
    whole_numbers,
)

SOURCE = "the stack's configuration"


@dataclass(frozen=True)
class Reference:
    """Another stack. field: the place of its name. kinds: the permitted kinds, for errors."""

    name: str
    field: str
    kinds: tuple[StackKind, ...]
    outputs: pulumi.StackReference

    def output(self, output: str, of: type = str) -> pulumi.Output[Any]:
        """An output. of: its type. If it is missing, the run ends with InvalidInputError after reading the stack."""
        given = self.outputs.get_output(output)
        found: pulumi.Output[Any] = when_known(given, lambda value: self._there(value, of, f"output {output!r}"))
        return found

    async def plain_output(self, output: str, of: type) -> Any:
        """An output's value at once, not as an Output: for resources' names that depend on it. It must be public.

        of: its type. Raises: InvalidInputError if the stack has no such output.
        """
        details = await self.outputs.get_output_details(output)
        return whole_numbers(self._there(details.value, of, f"public output {output!r}"))

    async def optional_output(self, output: str, of: type) -> Any:
        """As `plain_output`; None if the stack has no such output."""
        details = await self.outputs.get_output_details(output)
        if details.value is None and details.secret_value is None:
            return None
        return whole_numbers(self._there(details.value, of, f"public output {output!r}"))

    async def is_empty(self, left_out: str) -> bool:
        """Whether the stack has no outputs: it is not deployed yet, or it was destroyed. Then this run warns.

        left_out: the part that this run leaves out. One tenant's missing stack must not end the run for all.
        """
        outputs: Any = await self.outputs.outputs.future()
        if outputs:
            return False
        pulumi.log.warn(f"{self.field}: the stack {self.name} has no outputs. {left_out}")
        return True

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
    """Another stack, of one of these kinds. field: the place of its name. Raises: InvalidInputError without a name."""
    if name is None:
        fix = "Name the stack as organization/project/stack under hosted-mesh:references, or see the stack's examples"
        raise InvalidInputError([Problem(field, "is required by this stack", fix)], SOURCE)
    return Reference(name, field, kinds, pulumi.StackReference(name))


async def gateway(name: str | None) -> GatewayFactsArgs | None:
    """The facts of the stack `gateway` as plain values; None without its name. Raises: InvalidInputError."""
    if name is None:
        return None
    facts = await stack(name, "references.gateway", StackKind.GATEWAY).plain_output("facts", dict)
    read = read_document(GatewayFacts, facts, "the output facts of the stack under references.gateway")
    arguments: GatewayFactsArgs = read.arguments()
    return arguments
