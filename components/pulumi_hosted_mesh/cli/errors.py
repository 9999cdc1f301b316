"""The command line's errors for invalid input, and for a cluster that does not answer."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from pulumi_hosted_mesh.clusters.api_server import UnreachableError
from pulumi_hosted_mesh.problems import InvalidInputError


@contextmanager
def plain_errors() -> Iterator[None]:
    """Prints a user's mistake on standard error and exits with code 1, without a stack trace."""
    try:
        yield
    except (InvalidInputError, UnreachableError) as mistake:
        print(mistake, file=sys.stderr)
        raise typer.Exit(1) from None
