"""What an experiment has shown, property by property."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from ..plan.annotations import declassified
from ..plan.tree import is_covered
from .capture import Spot
from .compare import value_at
from .experiment import Experiment
from .ownership import Owners
from .places import Known, Side
from .values import show


class Kind(Enum):
    """What is known of a property."""

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
    """unsure: what could not be run as it would be, so nothing is proven. problems: why there was no run at all."""

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
        """0: proven. 1: a leak. 2: could not be decided."""
        if self.of(Kind.LEAK):
            return 1
        return 2 if self.problems or self.unsure or self.of(Kind.UNDECIDED) else 0


def verdict(experiment: Experiment, known: Known) -> Verdict:
    """Performs an experiment and says what it has shown."""
    experiment.perform()
    found = Verdict(problems=experiment.problems, unsure=experiment.unsure, remarks=experiment.first.remarks)
    if not experiment.problems:
        sides = dict(experiment.first.sides)
        sources = experiment.vault.sources
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
        own = "differs from run to run with the same secrets: made from random numbers of the program's own"
        later = "only an update knows it"
        found.findings += [
            _finding(experiment, Kind.UNDECIDED, spot, (), later if spot in experiment.unknown else own)
            for spot in experiment.undecided
        ]
        order = list(Kind)
        found.findings.sort(key=lambda one: (order.index(one.kind), one.place, one.resource, one.path))
        found.sides = {name: side.value for name, side in sorted(sides.items())}
    found.values = experiment.first.count()
    found.secrets, found.runs = len(experiment.vault.sources), experiment.runs
    return found


def _finding(experiment: Experiment, kind: Kind, spot: Spot, secrets: tuple[str, ...] = (), why: str = "") -> Finding:
    both = spot.urn in experiment.first.resources and spot.path
    type_, _, name = spot.urn.split("::", 2)[2].rpartition("::")
    short = type_.rpartition("$")[2].rpartition(":")[2]
    # A name that is not the same in all runs has a secret in it: it is not shown.
    resource = f"{short} {name}" if both else f"{short} (its name or its being there depends on it)"
    return Finding(kind, experiment.place_name(spot), resource, show(spot.path), secrets, why, spot.urn if both else "")


def _declared(experiment: Experiment, spot: Spot, guilty: list[str]) -> bool:
    """True if the object says with a reason that this value is public, and the secret is not there as it is."""
    asked = experiment.asked(spot)
    if asked is None or not is_covered(show(spot.path), declassified(asked)):
        return False
    value = str(value_at(experiment.first, spot))
    texts = {text for source, texts in experiment.vault.by_source() if source in guilty for text in texts}
    return not any(text.strip() in value for text in texts if text.strip())
