"""A generated password is the control plane's whatever it looks like: one in 300 has the form of something public."""

from __future__ import annotations

from typing import Any

import pytest
from hosted_mesh_policies.detect.leaf.public_structure import is_public

from tests.corpus import simulated_engine
from tests.corpus.programs_for_modes import mark_removed
from tests.corpus.simulated_engine import run

LOOK_PUBLIC = ["ukQqrfcJT=_*EXQkjv)3Ud-W", "C@h[MJlwo)gk@j{tRHK][<ut", "c>mH9{(tpBiqjzh@){{CXML>"]


@pytest.mark.parametrize("password", LOOK_PUBLIC)
def test_what_is_made_of_one_is_seen_when_both_are_known(password: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plainly = simulated_engine.made_by_provider

    def made(kind: str, inputs: Any, *, preview: bool) -> dict[str, Any]:
        found = plainly(kind, inputs, preview=preview)
        return found | {"result": password} if "randomPassword" in kind else found

    monkeypatch.setattr(simulated_engine, "made_by_provider", made)
    assert is_public(password.encode())
    state: dict[str, Any] = {}
    refused, said, *_ = run(mark_removed, preview=False, state=state)
    assert refused == []
    assert [one.rule for one in said] == ["control-plane-secrets-do-not-flow-to-data-plane"]
    _, again, *_ = run(mark_removed, preview=True, state=state)
    assert [one.rule for one in again] == ["control-plane-secrets-do-not-flow-to-data-plane"]
