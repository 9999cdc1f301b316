"""The corpus, as files for any scanner: a preview's output, and the objects of an update.

Only credential leaks and clean programs: the corpus's other faults (a webhook without a time-out, excessive rights)
concern objects, and a scanner of secrets does not claim to find them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml
from hosted_mesh_plan.clusters import Clusters
from hosted_mesh_plan.model import Resource, Stack
from hosted_mesh_plan.tree import UNKNOWN, plain
from hosted_mesh_policies.evaluation.settings import Settings

from bench.samples import timed
from sandbox.errors import SandboxError
from sandbox.progress import Step

# The bench uses the corpus that proves the policies in the tests. A copy of it here would drift from that one, and a
# place of its own for both would be a folder of test programs outside tests/. Nothing else in bench/ imports tests/.
from tests.corpus import simulated_engine
from tests.corpus.case import Case
from tests.corpus.cases import CASES, CLEAN, LEAKS, batches
from tests.corpus.engine import Engine

AT_ONCE: Final = 2
NAMES: Final = tuple(
    name for name, case in CASES.items() if (case in LEAKS or case in CLEAN) and not case.only_simulated
)
FOLDERS: Final = {name: f"case-{number:03}" for number, name in enumerate(NAMES)}
"""Folder names without a hint for a scanner."""
IS_LEAK: Final = {FOLDERS[name]: not CASES[name].clean for name in NAMES}
LATE: Final = tuple(name for name in NAMES if CASES[name].moment == "update")
"""Cases with a secret that exists only from the update on."""


@dataclass(frozen=True)
class OnEngine:
    """The engine's results. `previews`: JSON by case. `refused`: folders of the rejected cases, each at its own moment.
    Seconds of all previews with the pack and of the same without."""

    previews: Mapping[str, Any]
    refused: frozenset[str]
    with_pack: float
    without: float


def on_engine(engine: Engine, step: Step) -> OnEngine:
    """Previews every case, once with the pack and once without; updates cases of an update, and removes them again."""
    _expect(engine.run("up", "producer", stack="producer", policies=False), "producer")
    shared = [*batches(NAMES), *([name] for name in NAMES if CASES[name].alone)]
    step.note(f"{len(shared)} previews with the pack and without")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        done = list(pool.map(lambda pair: _batch(engine, *pair), enumerate(shared)))
    return OnEngine(
        {name: preview for one in done for name, preview in one.previews.items()},
        frozenset(folder for one in done for folder in one.refused),
        sum(one.with_pack for one in done),
        sum(one.without for one in done),
    )


def _batch(engine: Engine, number: int, names: list[str]) -> OnEngine:
    """Programs that share a stack; or one, with an update before it or after."""
    name, case = names[0], CASES[names[0]]
    stack = case.stack if case.stack != "corpus" else f"batch{number}"
    prefix = f"bench{number}-" if case.before or name in LATE else ""
    if case.before:
        _expect(engine.run("up", name, stack=stack, policies=False, before=True, prefix=prefix), name)
    plain, without = _timed(engine, names, stack, prefix, policies=False)
    judged, with_pack = _timed(engine, names, stack, prefix, policies=True)
    if name in LATE:
        judged = engine.run("up", name, stack=stack, prefix=prefix)
    if prefix:
        engine.run("destroy", name, stack=stack, policies=False, prefix=prefix)
    refused = frozenset(FOLDERS[found] for found in _accused([said.urn for said in judged.refused], names))
    return OnEngine(split(_first_json(plain.output), names), refused, with_pack, without)


def _timed(engine: Engine, names: Sequence[str], stack: str, prefix: str, *, policies: bool) -> tuple[Any, float]:
    more = ["--json", "--show-secrets"]
    return timed(
        lambda: engine.run("preview", "|".join(names), stack=stack, policies=policies, prefix=prefix, more=more)
    )


def _expect(run: Any, name: str) -> None:
    if run.code:
        raise SandboxError(f"The corpus's program {name!r} failed.", why=run.output[-2000:])


def _first_json(output: str) -> Any:
    """A preview's output, without the warnings around it."""
    return json.JSONDecoder().raw_decode(output[output.index("{") :])[0]


def _accused(urns: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    for urn in urns:
        owner = _owner(urn)
        if owner is not None:
            yield names[owner]
        elif len(names) == 1:
            yield names[0]


def _owner(urn: str) -> int | None:
    """The number of a resource's program, among those that share a stack."""
    found = re.search(r"::case(\d+)(?:-|$)", urn)
    return int(found.group(1)) if found else None


def split(preview: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """One preview for each program: its own steps, and those of the shared stack and providers."""
    if len(names) == 1:
        return {names[0]: preview}
    found = {}
    for number, name in enumerate(names):
        steps = [step for step in preview["steps"] if _step_owner(step) in (None, number)]
        found[name] = {**preview, "steps": steps, "diagnostics": []}
    return found


def _step_owner(step: Mapping[str, Any]) -> int | None:
    by_name = _owner(step["urn"])
    return by_name if by_name is not None else _owner((step.get("newState") or {}).get("parent") or "")


def write_previews(previews: Mapping[str, Any], folder: Path) -> None:
    """case-000/preview.json and so on."""
    for name, preview in previews.items():
        place = folder / FOLDERS[name]
        place.mkdir(parents=True)
        (place / "preview.json").write_text(json.dumps(preview, indent=4), encoding="utf-8")


def write_manifests(folder: Path, control_plane: Path) -> None:
    """case-000/manifests.yaml and so on: the objects of an update without policies, with all values known and unmasked.
    `folder` holds those of data planes, `control_plane` those of the control plane."""
    for name in NAMES:
        for place, objects in zip((folder, control_plane), _objects(CASES[name]), strict=True):
            file = place / FOLDERS[name] / "manifests.yaml"
            file.parent.mkdir(parents=True)
            file.write_text(yaml.safe_dump_all(objects, sort_keys=False), encoding="utf-8")


def _objects(case: Case) -> tuple[list[Any], list[Any]]:
    """A data plane's and the control plane's."""
    state: dict[str, Any] = {}
    if case.before:
        simulated_engine.run(case.before, preview=False, state=state, rules=(), stack=case.stack)
    *_, resources = simulated_engine.run(case.program, preview=False, state=state, rules=(), stack=case.stack)
    servers = {f"{word}Servers": [simulated_engine.SERVERS[side]] for word, side in _SIDES}
    clusters = Clusters(Stack(case.stack, tuple(resources)), Settings.read({"": servers}).clusters)
    mine = [resource for resource in resources if resource.is_kubernetes]
    return (
        [_manifest(resource) for resource in mine if clusters.on_data_plane(resource)],
        [_manifest(resource) for resource in mine if clusters.on_control_plane(resource)],
    )


_SIDES: Final = (("controlPlane", "cp"), ("dataPlane", "dp"))


def _manifest(resource: Resource) -> Any:
    return _known(plain(resource.asked))


def _known(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {str(key): _known(value) for key, value in tree.items() if value is not UNKNOWN}
    if isinstance(tree, list):
        return [_known(value) for value in tree if value is not UNKNOWN]
    return tree
