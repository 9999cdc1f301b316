"""What a stack lacks whose outputs another one reads: one message with the stack, the output, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pulumi
import pytest
from pulumi_hosted_mesh.problems import InvalidInputError

from stacks import control_plane, references
from tests.unit.library.program import run
from tests.unit.library.stacks.referenced_stacks import (
    MESH,
    SETTINGS,
    Outputs,
)


def authority() -> None:
    pulumi.export("it", control_plane.signed_elsewhere(MESH.name, SETTINGS).files)


def kubeconfigs() -> None:
    pulumi.export("it", control_plane._kubeconfigs(MESH, SETTINGS))


@pytest.mark.parametrize(
    ("program", "others", "field", "said"),
    [
        (kubeconfigs, {"a": {}}, "access", "the stack a, which has no output 'kubeconfig'"),
        (
            kubeconfigs,
            {"a": {"kubeconfig": {}}},
            "access",
            "the stack a, which has no output 'kubeconfig' of the right form",
        ),
        (authority, {"r": {}, "t": {"private_key": "x"}}, "root", "the stack r, which has no output 'certificates?'"),
        (
            authority,
            {"r": {"certificates": {"demo": "x"}}, "t": {"private_key": "x"}},
            "root",
            "the stack r, which has no output 'certificate'",
        ),
        (
            authority,
            {"r": {"certificates": {}, "certificate": "x"}, "t": {"private_key": "x"}},
            "root",
            "a stack that has not signed mesh demo",
        ),
        (
            authority,
            {"r": {"certificates": {"demo": "x"}, "certificate": "x"}},
            "trust",
            "the stack t, which has no output 'private_key'",
        ),
    ],
)
def test_an_output_that_is_missing(
    program: Callable[[], None], others: dict[str, Any], field: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(references.pulumi, "StackReference", lambda name: Outputs(others.get(name, {})))
    with pytest.raises(InvalidInputError, match=rf"references\.{field}: names {said}") as refused:
        run(program)
    if "signed" not in said:
        fix = "Run `pulumi up` of that stack first, with this hosted-mesh or a newer one; it must be of kind"
        assert f". {fix} {field}." in str(refused.value)
