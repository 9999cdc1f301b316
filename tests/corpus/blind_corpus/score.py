"""Every stranger judged: a table by theme, and what is known to be missed or refused wrongly, as data."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from .advised import advised
from .judge import Outcome, play
from .programs import CLEAN, LEAKS
from .stranger import Stranger
from .told import told

STAGES = ("preview", "before write", "end", "never")
KNOWN = Path(__file__).with_name("known.json")


def verdict(stranger: Stranger) -> str:
    """ "right", or what is wrong: how late a leak was stopped, or that a harmless program was refused."""
    outcome, _, _ = play(stranger)
    return graded(stranger, outcome)


def graded(stranger: Stranger, outcome: Outcome) -> str:
    if not stranger.leak:
        return "right" if outcome.stage == "never" else "refused"
    early = outcome.stage == "preview" or (outcome.stage == "before write" and (stranger.at != "preview"))
    return "right" if early else outcome.stage


def known() -> dict[str, str]:
    found: dict[str, str] = json.loads(KNOWN.read_text())
    return found


def table(outcomes: Mapping[str, Outcome], strangers: Iterable[Stranger]) -> str:
    """How many of each theme ended how."""
    counts: dict[str, Counter[str]] = {}
    for stranger in strangers:
        ended = outcomes[stranger.name].stage
        counts.setdefault(stranger.theme, Counter())[ended] += 1
        counts[stranger.theme]["right"] += graded(stranger, outcomes[stranger.name]) == "right"
    rows = [("theme", "programs", *STAGES, "right")]
    for theme, count in counts.items():
        numbers = [count[stage] for stage in STAGES]
        rows.append((theme, str(sum(numbers)), *map(str, numbers), str(count["right"])))
    total = sum(counts.values(), Counter())
    numbers = [total[stage] for stage in STAGES]
    rows.append(("all", str(sum(numbers)), *map(str, numbers), str(total["right"])))
    return "\n".join(" | ".join(f"{cell:>12}" if at else f"{cell:34}" for at, cell in enumerate(row)) for row in rows)


def main(arguments: list[str]) -> int:
    """Judges all cases, or those named; `--write` keeps what fails as known, `--told` tells the pack whose everything
    is, `--advised` counts the harmless ones that pass once their authors did what the verdicts end with."""
    is_told = "--told" in arguments
    if "--advised" in arguments:
        refused = [stranger for name, stranger in CLEAN.items() if known().get(name) == "refused"]
        passed = [stranger.name for stranger in refused if graded(stranger, play(advised(stranger))[0]) == "right"]
        print("\n".join(passed), f"{len(passed)} of {len(refused)} that are refused", sep="\n")
        return 0
    names = [name for name in arguments if not name.startswith("-")]
    every = {**LEAKS, **CLEAN}
    chosen = [stranger for name, stranger in every.items() if not names or any(part in name for part in names)]
    outcomes = {}
    for stranger in chosen:
        try:
            outcomes[stranger.name] = outcome = play(told(stranger) if is_told else stranger)[0]
        except Exception as error:
            error.add_note(f"in {stranger.name}")
            raise
        if names:
            print(stranger.name, "->", outcome.stage)
            for finding in (*outcome.said, *outcome.elsewhere):
                print("    ", finding.rule, finding.urn.rpartition("::")[2], finding.message)
        elif outcome.elsewhere:
            print(stranger.name, "also:", {(finding.rule, finding.what) for finding in outcome.elsewhere})
    for side in (LEAKS, CLEAN):
        if those := [stranger for stranger in chosen if stranger.name in side]:
            print(table(outcomes, those))
    if "--write" in arguments and not (names or is_told):
        failing = {s.name: graded(s, outcomes[s.name]) for s in chosen}
        kept = {name: how for name, how in sorted(failing.items()) if how != "right"}
        KNOWN.write_text(json.dumps(kept, indent=1) + "\n")
    return 0
