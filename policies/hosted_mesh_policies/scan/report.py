"""A scan's findings as text, as JSON, and as SARIF 2.1.0 for code-scanning services."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from hosted_mesh_plan import sarif

from ..evaluation.finding import Finding, Severity
from ..evaluation.rule import Rule
from ..rules.catalogue import RULES

SARIF_LEVELS: Final = {
    Severity.CRITICAL: "error",
    Severity.HIGH: "error",
    Severity.MEDIUM: "warning",
    Severity.LOW: "note",
}
SCORES: Final = {Severity.CRITICAL: "9.5", Severity.HIGH: "8.0", Severity.MEDIUM: "5.0", Severity.LOW: "2.0"}
"""The order of code-scanning services (`security-severity`)."""


def as_text(findings: Sequence[Finding], rules: Sequence[Rule]) -> str:
    """One block per rule: its findings, then the fix."""
    lines: list[str] = []
    for rule in rules:
        found = [finding for finding in findings if finding.rule == rule.name]
        if found:
            for level, those in _by_level(rule, found):
                lines.append(f"{level}  {rule.severity.value}  {rule.name}")
                lines += [f"  {finding.urn}\n    {finding.message}" for finding in those]
                lines.append(f"  fix: {rule.remedy}\n")
    by_name = _by_name(rules)
    mandatory = sum(by_name[finding.rule].mandatory and not finding.advisory for finding in findings)
    lines.append(f"{mandatory} mandatory and {len(findings) - mandatory} advisory findings")
    return "\n".join(lines)


def _by_level(rule: Rule, found: Sequence[Finding]) -> Iterator[tuple[str, list[Finding]]]:
    for level, is_advisory in (("mandatory", False), ("advisory", True)):
        if those := [one for one in found if (one.advisory or not rule.mandatory) is is_advisory]:
            yield level, those


def _by_name(rules: Sequence[Rule]) -> dict[str, Rule]:
    return {rule.name: rule for rule in rules}


def as_json(findings: Sequence[Finding], rules: Sequence[Rule] = RULES) -> str:
    """A list of objects: policy, mandatory, severity, resource, path, message, cure, url."""
    by_name = _by_name(rules)
    return json.dumps([_object(finding, by_name[finding.rule]) for finding in findings], indent=2)


def _object(finding: Finding, rule: Rule) -> dict[str, Any]:
    return {
        "policy": rule.name,
        "mandatory": rule.mandatory and not finding.advisory,
        "severity": rule.severity.value,
        "resource": finding.urn,
        "path": finding.path,
        "message": finding.what,
        "cure": rule.remedy,
        "url": rule.url,
    }


def as_sarif(findings: Sequence[Finding], rules: Sequence[Rule], scanned: str) -> str:
    """SARIF with one rule per policy. `scanned` is the file of results, for services that require one."""
    told = {finding.rule for finding in findings}
    used = {rule.name: (place, rule) for place, rule in enumerate(rule for rule in rules if rule.name in told)}
    results = [_result(finding, *used[finding.rule], scanned) for finding in findings]
    return sarif.document(
        "hosted-mesh", RULES[0].url.rsplit("/", 1)[0], [_rule(rule) for _, rule in used.values()], results
    )


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.name,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.description},
        "help": {"text": rule.remedy},
        "helpUri": rule.url,
        "defaultConfiguration": {"level": SARIF_LEVELS[rule.severity]},
        "properties": {"security-severity": SCORES[rule.severity]},
    }


def _result(finding: Finding, place: int, rule: Rule, scanned: str) -> dict[str, Any]:
    file = finding.urn.split("::")[0] if not finding.urn.startswith("urn:") and "::" in finding.urn else scanned
    name = f"{finding.urn}#{finding.path}" if finding.path else finding.urn
    return {
        "ruleId": rule.name,
        "ruleIndex": place,
        "level": "note" if finding.advisory else SARIF_LEVELS[rule.severity],
        "message": {"text": finding.message},
        "partialFingerprints": {"place/v1": hashlib.sha256(f"{rule.name} {name}".encode()).hexdigest()},
        "locations": [sarif.location(file, name)],
    }
