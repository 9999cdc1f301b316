"""The result of an experiment, property by property."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from hosted_mesh_plan.annotations import declassified
from hosted_mesh_plan.tree import is_covered

from ..runner.capture import PropertyRef
from ..runner.places import Known, Side
from ..runner.values import show
from .compare import value_at
from .experiment import Experiment
from .ownership import Owners


class Kind(Enum):
    """The verdict on a property."""

    LEAK = "leak"
    UNDECIDED = "undecided"
    DECLARED = "declared public"
    PUBLIC = "public fact"
    OWN = "its own secret"


@dataclass(frozen=True)
class Finding:
    """One property of a data plane. secrets: the smallest set of secrets that it depends on. Never a value."""

    kind: Kind
    place: str
    resource: str
    path: str
    secrets: tuple[str, ...] = ()
    why: str = ""
    urn: str = ""


@dataclass
class Verdict:
    """unsure: parts that could not run as in an update, so nothing is proven. problems: the reasons that no run
    succeeded."""

    findings: list[Finding] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    sides: dict[str, str] = field(default_factory=dict)
    secrets: int = 0
    values: int = 0
    runs: int = 0

    def of(self, kind: Kind) -> list[Finding]:
        return [finding for finding in self.findings if finding.kind is kind]

    @property
    def exit_code(self) -> int:
        """0: proven. 1: a leak. 2: undecided."""
        if self.of(Kind.LEAK):
            return 1
        return 2 if self.problems or self.unsure or self.of(Kind.UNDECIDED) else 0


def verdict(experiment: Experiment, known: Known) -> Verdict:
    """Performs an experiment and returns its verdict."""
    experiment.perform()
    found = Verdict(problems=experiment.problems, unsure=experiment.unsure, remarks=experiment.first.remarks)
    if not experiment.problems:
        sides = dict(experiment.first.sides)
        sources = experiment.generator.sources
        for source in sources.values():
            if source.place and source.place not in sides:
                sides[source.place] = known.side_of(source.place) or Side.UNKNOWN
        theirs = (name for name, side in sides.items() if side is Side.DATA_PLANE)
        owners = Owners(experiment, sides, {name: tenant for name in theirs if (tenant := known.tenant_of(name))})
        for spot, ids in experiment.depends.items():
            why = {one: owners.why_not(sources[one], spot) for one in ids}
            guilty = [one for one in ids if why[one]]
            kind = Kind.OWN if not guilty else Kind.DECLARED if _declared(experiment, spot, guilty) else Kind.LEAK
            reason = "; ".join(sorted({why[one] for one in guilty}))
            names = tuple(sorted(sources[one].name for one in guilty or ids))
            found.findings.append(_finding(experiment, kind, spot, names, reason))
        found.findings += [_finding(experiment, Kind.PUBLIC, spot) for spot in experiment.public]
        own = "differs from run to run with the same secrets: made from the program's own random numbers"
        later = "only an update computes it"
        found.findings += [
            _finding(experiment, Kind.UNDECIDED, spot, (), later if spot in experiment.unknown else own)
            for spot in experiment.undecided
        ]
        order = list(Kind)
        found.findings.sort(key=lambda one: (order.index(one.kind), one.place, one.resource, one.path))
        found.sides = {name: side.value for name, side in sorted(sides.items())}
    found.values = experiment.first.count()
    found.secrets, found.runs = len(experiment.generator.sources), experiment.runs
    return found


def _finding(
    experiment: Experiment, kind: Kind, spot: PropertyRef, secrets: tuple[str, ...] = (), why: str = ""
) -> Finding:
    both = spot.urn in experiment.first.resources and spot.path
    type_, _, name = spot.urn.split("::", 2)[2].rpartition("::")
    short = type_.rpartition("$")[2].rpartition(":")[2]
    # A name that differs between runs contains a secret: it is not shown.
    resource = f"{short} {name}" if both else f"{short} (its name or its existence depends on it)"
    return Finding(kind, experiment.place_name(spot), resource, show(spot.path), secrets, why, spot.urn if both else "")


def _declared(experiment: Experiment, spot: PropertyRef, guilty: list[str]) -> bool:
    """True if the object declassifies this value with a reason, and the plain secret is not in it."""
    asked = experiment.asked(spot)
    if asked is None or not is_covered(show(spot.path), declassified(asked)):
        return False
    value = str(value_at(experiment.first, spot))
    texts = {text for source, texts in experiment.generator.by_source() if source in guilty for text in texts}
    return not any(text.strip() in value for text in texts if text.strip())
