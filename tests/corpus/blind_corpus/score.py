"""Every program judged: a table by theme, and the known wrong verdicts as data."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from .full_settings import with_full_settings
from .judge import Outcome, play
from .program import BlindProgram
from .programs import CLEAN, LEAKS
from .settled import bare, initialised
from .suggested_settings import with_suggested_settings

STAGES = ("preview", "before write", "end", "never")
KNOWN = Path(__file__).with_name("known.json")


def verdict(program: BlindProgram) -> str:
    """ "right", or what is wrong: how late a leak was stopped, or that a harmless program was refused."""
    outcome, _, _ = play(program)
    return graded(program, outcome)


def graded(program: BlindProgram, outcome: Outcome) -> str:
    if not program.leak:
        return "right" if outcome.stage == "never" else "refused"
    early = outcome.stage == "preview" or (outcome.stage == "before write" and (program.at != "preview"))
    return "right" if early else outcome.stage


def known() -> dict[str, str]:
    found: dict[str, str] = json.loads(KNOWN.read_text())
    return found


def table(outcomes: Mapping[str, Outcome], programs: Iterable[BlindProgram]) -> str:
    """How many of each theme ended how."""
    counts: dict[str, Counter[str]] = {}
    for program in programs:
        ended = outcomes[program.name].stage
        counts.setdefault(program.theme, Counter())[ended] += 1
        counts[program.theme]["right"] += graded(program, outcomes[program.name]) == "right"
    rows = [("theme", "programs", *STAGES, "right")]
    for theme, count in counts.items():
        numbers = [count[stage] for stage in STAGES]
        rows.append((theme, str(sum(numbers)), *map(str, numbers), str(count["right"])))
    total = sum(counts.values(), Counter())
    numbers = [total[stage] for stage in STAGES]
    rows.append(("all", str(sum(numbers)), *map(str, numbers), str(total["right"])))
    return "\n".join(" | ".join(f"{cell:>12}" if at else f"{cell:34}" for at, cell in enumerate(row)) for row in rows)


def main(arguments: list[str]) -> int:
    """Judges all cases, or those named. `--write` keeps wrong verdicts in known.json. `--full-settings` declares every
    owner, `--bare` none, `--init` those that `hosted-mesh-policies init` guesses. `--suggested-settings` counts the
    harmless programs that pass with the settings that the verdicts suggest. `--every=N` judges each Nth."""
    has_all_settings = "--full-settings" in arguments
    settled = {"--full-settings": with_full_settings, "--bare": bare, "--init": initialised}
    prepare = next((settled[one] for one in arguments if one in settled), lambda program: program)
    if "--suggested-settings" in arguments:
        refused = [program for name, program in CLEAN.items() if known().get(name) == "refused"]
        passed = [
            program.name for program in refused if graded(program, play(with_suggested_settings(program))[0]) == "right"
        ]
        print("\n".join(passed), f"{len(passed)} of {len(refused)} that are refused", sep="\n")
        return 0
    names = [name for name in arguments if not name.startswith("-")]
    every = {**LEAKS, **CLEAN}
    chosen = [program for name, program in every.items() if not names or any(part in name for part in names)]
    if every_nth := next((int(one.removeprefix("--every=")) for one in arguments if one.startswith("--every=")), 0):
        chosen = chosen[::every_nth]
    outcomes = {}
    for program in chosen:
        try:
            outcomes[program.name] = outcome = play(prepare(program))[0]
        except Exception as error:
            error.add_note(f"in {program.name}")
            raise
        if names:
            print(program.name, "->", outcome.stage)
            for finding in (*outcome.said, *outcome.elsewhere):
                print("    ", finding.rule, finding.urn.rpartition("::")[2], finding.message)
        elif outcome.elsewhere:
            print(program.name, "also:", {(finding.rule, finding.what) for finding in outcome.elsewhere})
    for side in (LEAKS, CLEAN):
        if those := [program for program in chosen if program.name in side]:
            print(table(outcomes, those))
            warned = [one for one in those if outcomes[one.name].warned and outcomes[one.name].stage == "never"]
            print(f"{len(warned)} more with advisory verdicts only")
    if every_nth:
        print(
            "other than known:",
            {n: graded(every[n], o) for n, o in outcomes.items() if graded(every[n], o) != known().get(n, "right")},
        )
    if "--write" in arguments and not (
        names or has_all_settings or "--bare" in arguments or "--init" in arguments or every_nth
    ):
        failing = {s.name: graded(s, outcomes[s.name]) for s in chosen}
        kept = {name: how for name, how in sorted(failing.items()) if how != "right"}
        KNOWN.write_text(json.dumps(kept, indent=1) + "\n")
    return 0
