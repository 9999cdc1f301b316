"""A verdict as a table, as JSON, and as SARIF 2.1.0 for code-scanning services."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from typing import Any, Final

from hosted_mesh_plan import sarif
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .verdict import Finding, Kind, Verdict

URL: Final = "https://github.com/hosted-mesh/hosted-mesh/blob/main/docs/policies/prove.md"
WHAT_IT_MEANS: Final = {
    Kind.LEAK: "depends on",
    Kind.UNDECIDED: "is undecided:",
    Kind.DECLARED: "is declared public and depends on",
    Kind.PUBLIC: "public keys and certificates alone",
    Kind.OWN: "a secret of its own:",
}
_STYLES: Final = {Kind.LEAK: "red", Kind.UNDECIDED: "yellow", Kind.DECLARED: "yellow"}


def as_table(verdict: Verdict, console: Console) -> None:
    """The table, the failed parts, and a summary line."""
    if verdict.findings:
        console.print(_table(verdict))
    for name, side in verdict.sides.items():
        console.print(f"place: {name} ({side})", highlight=False, soft_wrap=True)
    for text in sorted(set(verdict.remarks)):
        console.print(f"note: {text}", highlight=False, markup=False, soft_wrap=True)
    for text in dict.fromkeys([*verdict.problems, *verdict.unsure]):
        console.print(f"could not run: {text}", highlight=False, markup=False, soft_wrap=True)
    console.print(summary(verdict), highlight=False, soft_wrap=True)


def _table(verdict: Verdict) -> Table:
    """A row per resource and dependency of its properties; `[*]` stands for every item of a list."""
    table = Table(show_lines=True, pad_edge=False)
    for heading in ("", "sent to a data plane", "dependencies"):
        table.add_column(heading, overflow="fold")
    rows: dict[tuple[Kind, str, str, str], list[str]] = {}
    for finding in verdict.findings:
        row = (finding.kind, finding.place, finding.resource, _depends(finding))
        paths = rows.setdefault(row, [])
        path = re.sub(r"\[\d+\]", "[*]", finding.path)
        if path and path not in paths:
            paths.append(path)
    for (kind, place, resource, depends), paths in rows.items():
        what = "\n".join([resource, f"at {place}", *(f"  {path}" for path in paths)])
        table.add_row(kind.value, escape(what), escape(depends), style=_STYLES.get(kind))
    return table


def _depends(finding: Finding) -> str:
    if finding.kind is Kind.PUBLIC:
        return WHAT_IT_MEANS[finding.kind]
    if finding.kind is Kind.UNDECIDED:
        return finding.why
    return ", ".join(finding.secrets) + (f" ({finding.why})" if finding.why else "")


def summary(verdict: Verdict) -> str:
    """One line: the answer, and its basis."""
    if verdict.problems:
        return "not proven: the program could not be run"
    rests_on = f"{verdict.values} values for data planes, {verdict.secrets} secrets, {verdict.runs} runs"
    leaks, undecided = len(verdict.of(Kind.LEAK)), len(verdict.of(Kind.UNDECIDED))
    if verdict.remarks:
        rests_on += f", {len(dict.fromkeys(verdict.remarks))} notes"
    if leaks:
        which = "1 property depends" if leaks == 1 else f"{leaks} properties depend"
        return f"{which} on the control plane's secrets ({rests_on})"
    if undecided or verdict.unsure:
        return f"not proven: no leak was seen, but a part stays undecided ({rests_on})"
    return f"proven: no property of a data plane depends on a secret of the control plane ({rests_on})"


def as_json(verdict: Verdict) -> str:
    """One object: `proven`, `findings` (kind, place, resource, path, secrets, why, urn), and the failed parts."""
    found: dict[str, Any] = dataclasses.asdict(verdict)
    found["findings"] = [{**dataclasses.asdict(one), "kind": one.kind.value} for one in verdict.findings]
    return json.dumps({"proven": verdict.exit_code == 0, **found}, indent=2)


_LEVELS: Final = {Kind.LEAK: "error", Kind.UNDECIDED: "warning", Kind.DECLARED: "note"}


def as_sarif(verdict: Verdict, program: str) -> str:
    """Leaks are errors, undecided properties are warnings. `program` is the file of results."""
    told = [one for one in verdict.findings if one.kind in _LEVELS]
    results = [_result(one, program) for one in told]
    results += [
        {
            "ruleId": "not-run",
            "level": "warning",
            "message": {"text": text},
            "locations": [sarif.location(program, "program")],
        }
        for text in dict.fromkeys([*verdict.problems, *verdict.unsure])
    ]
    rules = [
        {"id": _rule(kind), "shortDescription": {"text": f"{kind.value} on a data plane"}, "helpUri": URL}
        for kind in _LEVELS
    ]
    rules.append({"id": "not-run", "shortDescription": {"text": "could not be run"}, "helpUri": URL})
    return sarif.document("hosted-mesh prove", URL, rules, results)


def _rule(kind: Kind) -> str:
    return kind.value.replace(" ", "-")


def _result(finding: Finding, program: str) -> dict[str, Any]:
    where = f"{finding.urn or finding.resource}#{finding.path}"
    return {
        "ruleId": _rule(finding.kind),
        "level": _LEVELS[finding.kind],
        "message": {"text": f"{finding.resource} {finding.path}: {WHAT_IT_MEANS[finding.kind]} {_depends(finding)}"},
        "partialFingerprints": {"place/v1": hashlib.sha256(f"{_rule(finding.kind)} {where}".encode()).hexdigest()},
        "locations": [sarif.location(program, where)],
    }
