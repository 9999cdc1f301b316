"""Each rule, and each decoder, taken away: something in the corpus is then missed. So each earns its place."""

from __future__ import annotations

import pytest
from hosted_mesh_policies.detect.decoders import layers
from hosted_mesh_policies.rules.catalogue import RULES

from tests.corpus.cases import CASES
from tests.corpus.simulated_engine import simulate


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.mandatory], ids=lambda rule: rule.name)
def test_without_a_rule_a_leak_is_missed(rule) -> None:
    without = [other for other in RULES if other is not rule]
    only_its = [case for case in CASES.values() if case.rules == {rule.name}]
    missed = next((case for case in only_its[:40] if not _caught(case, without)), None)
    assert missed is not None, f"nothing in the corpus needs {rule.name}"


def _caught(case, rules) -> bool:
    verdict = simulate(case, rules)
    said = verdict.preview if case.moment == "preview" else verdict.before_write
    return bool({finding.rule for finding in said} & case.rules)


DECODERS = sorted({name for name, _ in (*layers.TEXT_DECODERS, *layers.BINARY_DECODERS)})


@pytest.mark.parametrize("decoder", DECODERS)
def test_without_a_decoder_a_wrapping_hides_a_secret(decoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for table in ("TEXT_DECODERS", "BINARY_DECODERS"):
        monkeypatch.setattr(layers, table, tuple(row for row in getattr(layers, table) if row[0] != decoder))
    wrapped = [case for case in CASES.values() if case.family == "wrapped value"]
    assert any(not simulate(case).preview for case in wrapped), f"no wrapping needs {decoder}"
