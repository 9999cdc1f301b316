"""How the command line says that something given cannot be used, or that a cluster does not answer."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from pulumi_hosted_mesh.clusters.api_server import UnreachableError
from pulumi_hosted_mesh.problems import InvalidInputError


@contextmanager
def plain_errors() -> Iterator[None]:
    """A user's mistake is a message on standard error and exit code 1, never a stack trace."""
    try:
        yield
    except (InvalidInputError, UnreachableError) as mistake:
        print(mistake, file=sys.stderr)
        raise typer.Exit(1) from None
