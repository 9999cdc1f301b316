"""Prints errors about resolved Outputs at once, before Pulumi prints them at the program's end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pulumi
from pulumi.runtime.settings import get_root_resource

from pulumi_hosted_mesh.problems import InvalidInputError


@contextmanager
def printed_at_once() -> Iterator[None]:
    """Prints an InvalidInputError of code that runs when an Output resolves, and raises it again.

    Pulumi prints the error again at the program's end. Before that it stops serving the transforms of charts
    (run_pulumi_func), so these fail, and the engine may exit before it receives the error. Errors outside of Outputs
    need no such care, because Pulumi waits for the charts first. Neither do components in other languages' programs:
    there is no stack here, and the engine prints the error of the construction.
    """
    try:
        yield
    except InvalidInputError as refusal:
        if get_root_resource() is not None:
            pulumi.log.error(str(refusal))
        raise
