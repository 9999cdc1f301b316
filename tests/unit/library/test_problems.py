"""A refusal in a Pulumi program is a RunError, which the language host prints plainly; elsewhere it needs no Pulumi."""

from __future__ import annotations

import subprocess
import sys

import pulumi
import pytest
from pulumi_hosted_mesh.boundary.guard import BoundaryError
from pulumi_hosted_mesh.problems import InvalidInputError, Problem

PROBLEMS = [Problem("a.b", "is too old", "Take a newer one"), Problem("c", "is no name", "Which one?")]


def test_a_program_sees_a_run_error_with_the_same_message():
    with pytest.raises(pulumi.RunError) as caught:
        raise InvalidInputError(PROBLEMS, "mesh.yaml")
    assert isinstance(caught.value, InvalidInputError)
    assert caught.value.problems == tuple(PROBLEMS)
    assert str(caught.value) == (
        "mesh.yaml cannot be used:\n  a.b: is too old. Take a newer one.\n  c: is no name. Which one?"
    )
    assert type(caught.value).__name__ == "InvalidInputError"


def test_a_subclass_stays_itself():
    assert isinstance(BoundaryError(PROBLEMS, "x"), BoundaryError)
    assert isinstance(BoundaryError(PROBLEMS, "x"), pulumi.RunError)


def test_the_order_of_imports_does_not_matter_and_the_command_line_leaves_pulumi_alone():
    program = (
        "import sys, pulumi_hosted_mesh.cli.command\n"
        "from pulumi_hosted_mesh.problems import InvalidInputError, Problem\n"
        "alone = InvalidInputError([Problem('a', 'b', 'c')])\n"
        "assert 'pulumi' not in sys.modules\n"
        "import pulumi\n"
        "assert not isinstance(alone, pulumi.RunError)\n"
        "assert isinstance(InvalidInputError([Problem('a', 'b', 'c')]), pulumi.RunError)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
