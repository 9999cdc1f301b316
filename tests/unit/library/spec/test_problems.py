"""A refusal in a Pulumi program is a RunError, which the language host prints plainly."""

from __future__ import annotations

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
