"""Refusals of what a program learns only while it runs, printed before Pulumi would print them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pulumi
from pulumi.runtime.settings import get_root_resource

from pulumi_hosted_mesh.problems import InvalidInputError


@contextmanager
def printed_at_once() -> Iterator[None]:
    """Prints an InvalidInputError that passes through, for code that runs when an Output is known.

    Of a program Pulumi prints it again at the end, but first closes it to the charts that still ask for their
    transforms (run_pulumi_func). These then fail, and the engine may have ended before it hears why. What the program
    raises by itself needs no such care: Pulumi waits for the charts before it closes. Nor does a component in another
    language's program, which has no stack here: the engine prints what making it failed with.
    """
    try:
        yield
    except InvalidInputError as refusal:
        if get_root_resource() is not None:
            pulumi.log.error(str(refusal))
        raise
