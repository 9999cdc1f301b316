"""The pack's work grows with a stack and no faster. Work is counted, in calls, so that no clock and no load decides."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from hosted_mesh_plan.model import Stack
from hosted_mesh_policies.detect.secrets import fingerprints
from hosted_mesh_policies.detect.value import cleared_texts
from hosted_mesh_policies.evaluation.context import Context
from hosted_mesh_policies.evaluation.rule import judge
from hosted_mesh_policies.rules.tenants import TENANTS

from tests.corpus import growing
from tests.support.nightly import all_but, nightly_if

SIZES = (10, 20, 40)
LARGE = (50, 100, 200, 400, 800)
MOST_GROWTH = 1.5
"""By how much one function's calls may grow faster than the stack: logarithms do, squares make it 2."""
MOST_GROWTH_OF_ALL = 1.1
CHANCE = 4
"""Calls for each step of size that need no reason: a made-up text looks like base32 by chance."""
ELSEWHERE = "https://elsewhere.example.com:6443"
MOST_PARSED = 8
"""Times that one write parses its kubeconfig: its provider's, its own, its own in base64."""


def calls(work: Callable[[], Any]) -> Counter[str]:
    """How often each function is called, or a generator goes on, while something runs; those written in C too."""
    counted: Counter[str] = Counter()

    def watch(frame: Any, event: str, called: Any) -> None:
        if event == "call":
            counted[f"{frame.f_code.co_filename.rpartition('/')[2]} {frame.f_code.co_qualname}"] += 1
        elif event == "c_call":
            counted[getattr(called, "__qualname__", "")] += 1

    fingerprints._remembered.cache_clear()  # or a small stack spares a large one what both hold
    gc.collect()
    gc.disable()  # or what others left behind is taken away, and counted, at some chance moment
    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return counted


def too_fast(counts: list[Counter[str]]) -> Iterator[str]:
    """The functions whose calls grow faster than a stack that doubles twice: what is added the second time is more than
    twice what was added the first time."""
    first, second, third = counts
    for name, most in third.items():
        added = most - second[name], second[name] - first[name]
        chance = CHANCE * SIZES[-1] + first[name] / 10
        if added[0] > 2 * MOST_GROWTH * max(added[1], 0) + chance:
            yield f"{name}: {first[name]}, {second[name]}, {most}"
    totals = [sum(one.values()) for one in counts]
    if totals[2] - totals[1] > 2 * MOST_GROWTH_OF_ALL * (totals[1] - totals[0]):
        yield f"all: {totals}"


@pytest.mark.parametrize(
    ("growth", "mode"),
    [
        *((growth, "preview") for growth in growing.GROWTHS),
        *(pytest.param(growth, "update", marks=nightly_if(growth != "meshes")) for growth in growing.GROWTHS),
    ],
)
def test_work_grows_with_the_stack(growth: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleared_texts, "TOGETHER", 1)  # one text more in a full batch is a batch more
    growing.judged(growing.GROWTHS[growth](2), preview=False)  # what is made once is no growth
    counts = []
    for size in SIZES:
        plan = growing.GROWTHS[growth](size)
        evidence = growing.judged(plan, preview=True)[1] if mode == "update" else None
        counts.append(calls(partial(growing.judged, plan, preview=mode == "preview", evidence=evidence)))
    assert list(too_fast(counts)) == []


@pytest.mark.parametrize("growth", growing.GROWTHS)
def test_nothing_leaks_but_what_is_made_to(growth: str) -> None:
    plan = growing.GROWTHS[growth](8)
    found, evidence = growing.judged(plan, preview=True)
    found += growing.judged(plan, preview=False, evidence=evidence)[0]
    assert bool(found) is (growth in growing.LEAKING)


def test_many_tenants_take_no_more_work_each_than_few() -> None:
    each = []
    for size in (LARGE[0], *LARGE):  # the first one also makes what is made once
        named = (one for one in growing.meshes(size) if one.kind in {"Namespace", "Service"})
        context = Context(Stack("growing", tuple(named)), growing.SETTINGS)
        counted = calls(partial(judge, TENANTS, context))
        each.append(sum(counted.values()) / size)
    assert max(each[1:]) < MOST_GROWTH_OF_ALL * min(each[1:])


@pytest.mark.parametrize("size", all_but({2, LARGE[-1]}, [2, *LARGE]))
def test_a_write_parses_only_its_own_kubeconfig(size: int) -> None:
    """However many clusters came before it."""
    session = growing.session(preview=False)
    for one in growing.clusters(size):
        if one.is_provider:
            session.before_write(one, [])
    counted = calls(partial(session.before_write, growing.kubeconfig_secret(ELSEWHERE), growing.BEFORE))
    assert 0 < counted["__init__.py load"] <= MOST_PARSED
