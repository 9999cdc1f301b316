"""The pack, its offline scan, and others' scanners on the same corpus: caught, false alarms, seconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from hosted_mesh_policies.evaluation.settings import Settings
from hosted_mesh_policies.rules.catalogue import RULES
from hosted_mesh_policies.scan.command import findings_in
from hosted_mesh_policies.scan.sources import UnreadableError, from_paths

from bench.grid import Grid
from bench.policies import corpus
from bench.policies.counting import Score, cases_of
from bench.policies.scanners.others import SCANNERS, Scanner
from bench.samples import timed
from sandbox.clusters import Sandbox
from sandbox.errors import SandboxError
from sandbox.progress import Progress
from sandbox.toolchain import Tools
from tests.corpus.engine import Engine

PLAN: Final = "preview's JSON"
WRITTEN: Final = "manifests as written"
SCAN: Final = "hosted-mesh scan"
MANDATORY: Final = frozenset(rule.name for rule in RULES if rule.mandatory)
# A preview's JSON masks kubeconfigs, so provider names declare the side of each cluster to the scan.
PROVIDERS: Final = {"controlPlaneProviders": ["cp-cluster"], "dataPlaneProviders": ["dp-cluster"]}


def measure(sandbox: Sandbox, tools: Tools, folder: Path, progress: Progress) -> list[Score]:
    """All tools on both forms. Nothing stays on the clusters."""
    plans, written, kept = (folder / name for name in ("plans", "written", "kept"))
    with progress.step("the corpus on the engine") as step:
        results = corpus.on_engine(Engine.on(sandbox, tools, folder / "corpus"), step)
    corpus.write_previews(results.previews, plans)
    corpus.write_manifests(written, kept)
    added = results.with_pack - results.without
    scores = [Score.of("hosted-mesh, the pack on the engine", "the run itself", results.refused, corpus.IS_LEAK, added)]
    with progress.step("hosted-mesh scan"):
        scores += [
            _scanned(PLAN, lambda case: ((plans / case,), ())),
            _scanned(f"{WRITTEN}, both clusters'", lambda case: ((written / case,), (kept / case,))),
            _scanned(WRITTEN, lambda case: ((written / case,), ())),
        ]
    for scanner in SCANNERS:
        for fed, place in ((PLAN, plans), (WRITTEN, written)):
            if fed == WRITTEN or scanner.reads_plans:
                scores.append(_other(scanner, fed, place, progress))
    return scores


def _scanned(fed: str, paths: Callable[[str], tuple[tuple[Path, ...], tuple[Path, ...]]]) -> Score:
    settings = Settings.read({"": PROVIDERS})

    def is_flagged(case: str) -> bool:
        try:
            found = findings_in(from_paths(*paths(case))[0], settings)
        except UnreadableError:  # no object goes to the data plane, so there is none to judge
            return False
        return any(finding.rule in MANDATORY for finding in found)

    flagged, seconds = timed(lambda: [case for case in corpus.IS_LEAK if is_flagged(case)])
    return Score.of(SCAN, fed, flagged, corpus.IS_LEAK, seconds)


def _other(scanner: Scanner, fed: str, place: Path, progress: Progress) -> Score:
    try:
        command = scanner.command(progress)
        with progress.step(f"{scanner.name} on {fed}"):
            files, seconds = timed(lambda: scanner.files_with_findings(command, place))
    except SandboxError as problem:
        return Score(scanner.name, fed, why_not=problem.what)
    return Score.of(scanner.name, fed, cases_of(files), corpus.IS_LEAK, seconds)


def grid(scores: list[Score]) -> Grid:
    columns = ["tool", "fed with", "leaks caught", "clean programs flagged", "time"]
    return Grid("the corpus side by side", columns, [score.row() for score in scores])


def size(is_leak: Mapping[str, bool]) -> str:
    leaks = sum(is_leak.values())
    return f"{leaks} leaks and {len(is_leak) - leaks} clean programs"
