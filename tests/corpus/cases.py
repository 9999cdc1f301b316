"""The whole corpus, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.corpus.case import Case
from tests.corpus.clean import all_clean
from tests.corpus.faults import all_faults
from tests.corpus.leaks import all_leaks

LEAKS = all_leaks()
FAULTS = all_faults()
CLEAN = all_clean()
CASES: Mapping[str, Case] = {f"{case.family}: {case.name}": case for case in (*LEAKS, *FAULTS, *CLEAN)}
assert len(CASES) == len(LEAKS) + len(FAULTS) + len(CLEAN), "two cases have one name"
BATCH = 75


def batches(names: Sequence[str]) -> list[list[str]]:
    """The programs that may share a stack, some seventy to a preview, each under a component of its own."""
    together = [name for name in names if not CASES[name].alone]
    count = -(-len(together) // BATCH)
    return [together[start::count] for start in range(count)]
