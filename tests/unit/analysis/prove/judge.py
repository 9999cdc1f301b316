"""The oracle judges the pack: the same programs, what leaks by experiment and what is refused by rule."""

from __future__ import annotations

import base64
import contextlib
import random
import re
import secrets
import unittest.mock
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from google.protobuf import json_format
from hosted_mesh_analysis.prove.experiment import Experiment
from hosted_mesh_analysis.prove.verdict import Kind, verdict
from hosted_mesh_analysis.runner.places import Known
from hosted_mesh_analysis.runner.program.monitor import RunOptions
from hosted_mesh_analysis.runner.program.started import same_time
from hosted_mesh_analysis.runner.secrets.credentials import replaced
from hosted_mesh_analysis.runner.secrets.generator import SecretGenerator, SecretVariant
from hosted_mesh_plan.decode import SECRET, SIGNATURE
from hosted_mesh_plan.evidence import Evidence
from hosted_mesh_policies.evaluation.finding import Finding
from hosted_mesh_policies.evaluation.rule import Rule
from hosted_mesh_policies.evaluation.settings import Settings
from hosted_mesh_policies.pack.session import Session
from hosted_mesh_policies.rules.catalogue import RULES
from pulumi.runtime import settings

from tests.corpus import literals
from tests.corpus.case import FLOW, SHAPE, UNPROVEN, VALUE
from tests.corpus.simulated_engine import Monitor
from tests.corpus.world import World
from tests.support.without_engine import perform
from tests.unit.analysis.prove import in_process
from tests.unit.analysis.prove.in_process import OUTPUTS, Outputs
from tests.unit.analysis.prove.programs import SERVERS, TIMES, Batch, Program

CONFIGURED: Final = "kq7zw93ka0ck2tbn4xhd81mv"
SECRETS: Final = frozenset({FLOW, VALUE, UNPROVEN})
"""The rules that say that a control-plane secret arrives. Shape says only that a credential does, whoever's."""
KNOWN: Final = Known((SERVERS["cp"],), (SERVERS["dp"], SERVERS["other"]))
MISSED: Final = "missed"
TOO_LATE: Final = "seen when it was written"
FALSE_ALARM: Final = "false alarm"
PROJECT: Final = "hosted-mesh-corpus"
SETTINGS: Final = Settings.read(
    {"x": {"controlPlaneServers": [SERVERS["cp"]], "dataPlaneServers": [SERVERS["dp"], SERVERS["other"]]}}
)
_PREFIX: Final = re.compile(r"\bp(\d+)-")
_RULES: Final = tuple(rule for rule in RULES if rule.name in SECRETS | {SHAPE})


def _program(text: str) -> int | None:
    found = _PREFIX.search(text)
    return int(found.group(1)) if found else None


class SideBySide(Experiment):
    """An experiment on programs that share nothing: one run tries one secret of every program."""

    def _attribute(self, variant: int, spots: Any) -> None:
        mine: dict[int, list[str]] = {}
        for one in sorted(self.generator.sources):
            if (program := _program(one)) is not None:
                mine.setdefault(program, []).append(one)
        for turn in range(max(map(len, mine.values()), default=0)):
            fresh = {ids[turn]: program for program, ids in mine.items() if turn < len(ids)}
            changed = self._changed(fresh, variant)
            for one, program in fresh.items():
                self._alone.setdefault(one, set()).update(s for s in changed if _program(s.urn) == program)
        for spot in spots:
            ids = {one for one in mine.get(_program(spot.urn) or 0, ()) if spot in self._alone[one]}
            self.depends[spot] = self.depends.get(spot, set()) | ids


class _World(World):
    """The corpus's world with a second data plane. A run of the oracle makes its configuration up anew."""

    def __init__(self, control_plane: str, data_plane: str) -> None:
        super().__init__(control_plane, data_plane)
        monitor: Any = settings.get_monitor()
        self.proves = isinstance(monitor, in_process.Local)
        other = literals.kubeconfig(SERVERS["other"])
        self.kubeconfigs["other"] = replaced(other, "configuration other", monitor.answers) if self.proves else other

    def configured(self, name: str) -> Any:
        return in_process.secret_of_world(name, CONFIGURED) if self.proves else super().configured(name)


def leaking(programs: Sequence[Program], seed: int) -> set[int]:
    """Which of some programs leak, by experiment."""
    generator = SecretGenerator(seed=seed)
    options = RunOptions(PROJECT, "corpus", KNOWN, Outputs())
    batch = Batch(programs)

    def build(world: World) -> None:
        batch.build(_World(world.kubeconfigs["cp"], world.kubeconfigs["dp"]))

    def run_all(variants: Sequence[SecretVariant]) -> list[Any]:
        return [in_process.captured(build, variant, generator, options) for variant in variants]

    found = verdict(SideBySide(run_all, generator, rounds=1), KNOWN)
    unproven = [*found.problems, *found.unsure, *found.of(Kind.UNDECIDED)]
    assert unproven == [], unproven[:3]
    return {program for one in found.of(Kind.LEAK) if (program := _program(one.resource)) is not None}


class _SideBySide(Monitor):
    """The simulated engine with many programs in one stack: a program that is refused before a write ends there, and
    its neighbours go on, as each would in a stack of its own."""

    def __init__(self, session: Session, state: dict[str, Any], rules: Iterable[Rule]) -> None:
        super().__init__(session, state, rules)
        self.ended: set[int | None] = set()
        self.all_refused: list[Finding] = []

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        program = _program(self.make_urn(request.parent, request.type, request.name))
        self.refused = self.all_refused[:1] if program in self.ended else []
        answer = super().RegisterResource(request)
        if self.refused and program not in self.ended:
            self.all_refused += self.refused
            self.ended.add(program)
        return answer

    def ReadResource(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        """Each stack has a token of its own, so that one program's does not give another's away."""
        answer, stack = super().ReadResource(request), request.properties["name"]
        token = {SIGNATURE: SECRET, "value": literals.opaque(f"stack {stack}")}
        outputs = {key: token if value == "[secret]" else value for key, value in OUTPUTS.items()}
        json_format.ParseDict({"outputs": outputs}, answer.properties)
        return answer


def judged(
    batch: Batch, rules: Sequence[Rule], state: dict[str, Any], *, preview: bool, evidence: Evidence | None = None
) -> tuple[list[Finding], list[Finding], Evidence]:
    """One preview or update: findings before a write or at a preview, findings of an update's end, the evidence for the
    update."""
    names = [f"p{place}-token" for place in batch.places or range(len(batch.programs))]
    config = {f"{PROJECT}:{name}": literals.opaque(name) for name in names}
    session = Session("corpus", PROJECT, preview, config, frozenset(config), SETTINGS, evidence=evidence)
    monitor = _SideBySide(session, state, rules)
    kubeconfigs = [literals.kubeconfig(SERVERS[side], literals.opaque(side, 40)) for side in ("cp", "dp")]
    with same_time(1_800_000_000), same_chance(repr((batch, preview))):
        perform(lambda: batch.build(_World(*kubeconfigs)), monitor, project=PROJECT, stack="corpus", preview=preview)
    said, kept = session.at_end(monitor.found, rules)
    mandatory = {rule.name for rule in rules if rule.mandatory}
    said = [one for one in said if one.rule in mandatory]
    in_time, late = ([*monitor.all_refused, *said], []) if preview else (monitor.all_refused, said)
    return in_time, late, kept


@contextlib.contextmanager
def same_chance(seed: str) -> Iterator[None]:
    """Inside, what is random is the same each time, but for private keys: a verdict can be had again."""
    chance = random.Random(seed)
    with unittest.mock.patch.multiple(
        secrets,
        choice=chance.choice,
        randbits=chance.getrandbits,
        token_bytes=chance.randbytes,
        token_hex=lambda size=16: chance.randbytes(size).hex(),
        token_urlsafe=lambda size=16: base64.urlsafe_b64encode(chance.randbytes(size)).decode().rstrip("="),
    ):
        yield


def refused(programs: Sequence[Program]) -> tuple[dict[int, set[str]], dict[int, set[str]]]:
    """Which of some programs the pack refuses, and by which rules: in a preview or before a write in the update after
    it; and at the update's end, when all is written."""
    found: dict[int, set[str]] = {}
    late: dict[int, set[str]] = {}
    for when in TIMES:
        places = [place for place, program in enumerate(programs) if program.when == when]
        state: dict[str, Any] = {}
        if when == TIMES[1]:
            judged(_batch(programs, places), (), state, preview=False)
        said, _, evidence = judged(_batch(programs, places), _RULES, state, preview=True)
        _note(found, said)
        left = [place for place in places if place not in found]
        before, after, _ = judged(_batch(programs, left), _RULES, state, preview=False, evidence=evidence)
        _note(found, before)
        _note(late, after)
    return found, late


def _batch(programs: Sequence[Program], places: Sequence[int]) -> Batch:
    return Batch([programs[place] for place in places], places)


def _note(found: dict[int, set[str]], said: Iterable[Any]) -> None:
    for finding in said:
        program = _program(finding.urn)
        assert program is not None, f"{finding.rule} speaks about none of the programs"
        found.setdefault(program, set()).add(finding.rule)


class Disagreement(NamedTuple):
    """how: a miss or a false alarm. rules: what the pack said."""

    program: Program
    how: str
    rules: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"{self.how}{' of ' * bool(self.rules)}{', '.join(sorted(self.rules))}: {self.program}"


def disagreements(programs: Sequence[Program], seed: int = 0) -> list[Disagreement]:
    """The programs about which the oracle and the pack disagree, each in a stack of its own."""
    found = _compared(programs, seed)
    if len(programs) == 1:
        return found
    return [alone for one in found for alone in _compared([one.program], seed)]


def _compared(programs: Sequence[Program], seed: int) -> list[Disagreement]:
    leaks, (said, late) = leaking(programs, seed), refused(programs)
    found = []
    for place, program in enumerate(programs):
        if place in leaks and place not in said:
            found.append(Disagreement(program, TOO_LATE if place in late else MISSED))
        rules = frozenset(said.get(place, set()) | late.get(place, set()))
        if place not in leaks and rules & SECRETS:
            found.append(Disagreement(program, FALSE_ALARM, rules & SECRETS))
    return found
