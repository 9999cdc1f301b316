"""A new token for istiod over separate stacks, in the one order in which istiod is never without a valid one.

1. `access` makes the next token and keeps the one before. 2. `control-plane` hands it to istiod, whose Pods roll.
3. `access` removes the one before. Each step is a `pulumi up` with its preview; a run that was interrupted goes on
where it ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pulumi_hosted_mesh.problems import InvalidInputError, Problem

GENERATION: Final = "hosted-mesh:token.generation"
KEEP_PREVIOUS: Final = "hosted-mesh:token.keepPrevious"
OUTPUT: Final = "token_generation"
Pulumi = Callable[..., object]
"""Runs a command of the CLI; raises if it fails."""
Up = Callable[[str], object]
"""Runs `pulumi up` of a stack; raises if it fails or is declined."""


@dataclass(frozen=True)
class Stacks:
    """Names of the two stacks."""

    access: str
    control_plane: str


def rotate(
    stacks: Stacks, outputs: Mapping[str, Any], token: Mapping[str, Any], pulumi: Pulumi, up: Up
) -> Iterator[str]:
    """Does it, and says each step before it is taken.

    outputs: of the stack `access`. token: its setting `hosted-mesh:token`, empty if there is none.
    Raises: InvalidInputError if that stack is not up, or makes no long-lived token; and what `pulumi` and `up` raise.
    """
    current = outputs.get(OUTPUT)
    if not isinstance(current, int | float):
        rule = f"names a stack that has no output `{OUTPUT}`"
        fix = "Name a stack of kind access that is up and has access.token: long-lived"
        raise InvalidInputError([Problem("--access", rule, fix)], "the rotation")
    newest = int(current)
    if token.get("keepPrevious"):
        yield f"1 of 3: {stacks.access} goes on with token {token.get('generation', newest)}, after an interruption"
    else:
        yield f"1 of 3: {stacks.access} makes token {newest + 1} and keeps token {newest}"
        # In one write: a generation without the word to keep the one before would remove that too early.
        settings = {GENERATION: str(newest + 1), KEEP_PREVIOUS: "true"}
        values = [part for key, value in settings.items() for part in ("--plaintext", f"{key}={value}")]
        pulumi("config", "set-all", "--path", *values, "--stack", stacks.access)
    up(stacks.access)
    yield f"2 of 3: {stacks.control_plane} hands it to istiod"
    up(stacks.control_plane)
    yield f"3 of 3: {stacks.access} removes the one before"
    pulumi("config", "set", "--path", KEEP_PREVIOUS, "false", "--stack", stacks.access)
    up(stacks.access)
