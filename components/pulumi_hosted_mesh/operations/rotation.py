"""A new token for istiod over separate stacks, in an order that always leaves istiod a valid one.

1. `access` creates the next token and keeps the previous one. 2. `control-plane` gives it to istiod, and its Pods roll.
3. `access` removes the previous one. Each step is a `pulumi up` with its preview. An interrupted run continues at its
last step.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pulumi_hosted_mesh.problems import InvalidInputError, Problem

GENERATION: Final = "hosted-mesh:token.generation"
KEEP_PREVIOUS: Final = "hosted-mesh:token.keepPrevious"
OUTPUT: Final = "token_generation"
Pulumi = Callable[..., object]
"""Runs a command of the CLI; raises if it fails."""
SETTLE_SECONDS: Final = 120
Settled = Callable[[], bool]
Up = Callable[[str], object]
"""Runs `pulumi up` of a stack; raises if it fails or is declined."""


@dataclass(frozen=True)
class Stacks:
    """Names of the two stacks."""

    access: str
    control_plane: str


def rotate(
    stacks: Stacks,
    outputs: Mapping[str, Any],
    token: Mapping[str, Any],
    pulumi: Pulumi,
    up: Up,
    settled: Settled = lambda: False,
) -> Iterator[str]:
    """Replaces the token, and yields a line before each step.

    outputs: of the stack `access`. token: its setting `hosted-mesh:token`; empty without one.
    settled: whether to wait before the previous token is removed: with several memberships, because istiod reads the
    files of further ones while it runs, and a kubelet writes them after up to two minutes.
    Raises: InvalidInputError if that stack is not up, or creates no long-lived token; errors of `pulumi` and `up`.
    """
    current = outputs.get(OUTPUT)
    if not isinstance(current, int | float):
        rule = f"names a stack that has no output `{OUTPUT}`"
        fix = "Name a stack of kind access that is up and has access.token: long-lived"
        raise InvalidInputError([Problem("--access", rule, fix)], "the rotation")
    newest = int(current)
    if token.get("keepPrevious"):
        yield f"1 of 3: {stacks.access} continues with token {token.get('generation', newest)}, after an interruption"
    else:
        yield f"1 of 3: {stacks.access} creates token {newest + 1} and keeps token {newest}"
        # In one write: a new generation without keepPrevious would remove the previous token too early.
        settings = {GENERATION: str(newest + 1), KEEP_PREVIOUS: "true"}
        values = [part for key, value in settings.items() for part in ("--plaintext", f"{key}={value}")]
        pulumi("config", "set-all", "--path", *values, "--stack", stacks.access)
    up(stacks.access)
    yield f"2 of 3: {stacks.control_plane} gives it to istiod"
    up(stacks.control_plane)
    if settled():
        yield f"The previous token stays for {SETTLE_SECONDS} s: kubelets write the new one into istiod's Pods"
        time.sleep(SETTLE_SECONDS)
    yield f"3 of 3: {stacks.access} removes the previous one"
    pulumi("config", "set", "--path", KEEP_PREVIOUS, "false", "--stack", stacks.access)
    up(stacks.access)
