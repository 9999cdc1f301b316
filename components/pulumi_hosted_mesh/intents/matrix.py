"""All callers by all callees, by the evaluator; and the calls that a change opens and closes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pulumi_hosted_mesh.intents.calls import OUTSIDE, Call
from pulumi_hosted_mesh.intents.compiled import Compiled
from pulumi_hosted_mesh.intents.evaluator import CallVerdict, Evaluator, Operation
from pulumi_hosted_mesh.spec.inventory import Inventory, PlacedService

EVERYTHING: Final = "all"
UNNAMED_METHOD, UNNAMED_PATH = "PROBE", "/not-named-by-any-policy"


@dataclass(frozen=True)
class Cell:
    """Calls of one caller to one callee. calls: `all`, or methods and paths. refused: those within. reason: if none."""

    caller: str
    callee: str
    calls: tuple[str, ...]
    refused: tuple[str, ...]
    intents: tuple[str, ...]
    objects: tuple[str, ...]
    reason: str

    @property
    def is_open(self) -> bool:
        """Whether a call is allowed."""
        return bool(self.calls)


@dataclass(frozen=True)
class Matrix:
    """rows and columns: names of callers and callees. cells: by both."""

    callers: tuple[str, ...]
    callees: tuple[str, ...]
    cells: dict[tuple[str, str], Cell]


@dataclass(frozen=True)
class Change:
    """Calls of one caller to one callee that a change opens or closes."""

    caller: str
    callee: str
    opened: tuple[str, ...]
    closed: tuple[str, ...]
    intents: tuple[str, ...]


def matrix(compiled: Compiled, inventory: Inventory) -> Matrix:
    """Each placed service and `outside`, by each service and external host."""
    evaluator = Evaluator(compiled, inventory)
    services = sorted(inventory.services, key=lambda one: one.key)
    placed = [one for one in services if one.clusters]
    hosts = sorted(
        {
            host
            for objects in compiled.objects.values()
            for one in objects
            if one["kind"] == "ServiceEntry"
            and one["metadata"]["annotations"].get("hosted-mesh.io/intent-field") == "external"
            for host in one["spec"]["hosts"]
        }
    )
    callers = [*(f"{one.namespace}/{one.name}" for one in placed), OUTSIDE]
    callees: list[tuple[str, PlacedService | str]] = [(f"{one.namespace}/{one.name}", one) for one in services]
    callees += [(host, host) for host in hosts]
    cells = {}
    for name, callee in callees:
        operations = evaluator.operations(callee)
        for caller in callers:
            if caller != name and not (caller == OUTSIDE and name in hosts):
                cells[caller, name] = _cell(evaluator, caller, name, operations)
    return Matrix(tuple(callers), tuple(name for name, _ in callees), cells)


def _cell(evaluator: Evaluator, caller: str, callee: str, operations: Iterable[Operation]) -> Cell:
    ports = evaluator.ports(callee if caller != OUTSIDE else "")
    several = len(ports) > 1
    calls, refused = list[str](), list[str]()
    deciding, first = list[CallVerdict](), list[CallVerdict]()
    for port, is_http in ports:
        label = f":{port} " if several else ""
        everything = evaluator.judge(Call(caller, callee, UNNAMED_METHOD, UNNAMED_PATH, port))
        first.append(everything)
        found = [EVERYTHING] if everything.allowed else list[str]()
        deciding += [everything] if everything.allowed else []
        for operation in sorted(operations, key=str) if is_http else ():
            if operation == (None, None, ()):
                continue
            verdict = evaluator.judge(_sample(caller, callee, operation, port))
            if verdict.allowed and not everything.allowed:
                found.append(_text(operation))
                deciding.append(verdict)
            elif everything.allowed and not verdict.allowed:
                refused.append(f"{label}{_text(operation)}")
        calls += [f"{label}{one}" for one in _without_covered(found)]
    if several and all(one.allowed for one in first):
        calls = [EVERYTHING]
    return Cell(
        caller,
        callee,
        tuple(calls),
        tuple(refused),
        tuple(dict.fromkeys(name for one in deciding for name in one.intents)),
        tuple(dict.fromkeys(name for one in deciding for name in one.objects)),
        "" if calls else first[0].reasons[-1],
    )


def _without_covered(calls: Sequence[str]) -> tuple[str, ...]:
    """Methods without a path cover the same method with one, and so on."""
    kept = list[str]()
    for one in dict.fromkeys(calls):
        method, _, rest = one.partition(" ")
        wider = {f"{method} *", f"* {rest}", "* *"} - {one}
        if not wider & {*calls}:
            kept.append(one)
    return tuple(kept)


def _sample(caller: str, callee: str, operation: Operation, port: int | None) -> Call:
    """One call of an operation, that no narrower one covers."""
    method, path, claims = operation
    concrete = path.replace("*", "sample") if path else UNNAMED_PATH
    return Call(caller, callee, method or UNNAMED_METHOD, concrete, port, dict(claims))


def _text(operation: Operation) -> str:
    method, path, claims = operation
    holder = f" with a token {' '.join(f'{key}={value}' for key, value in claims)}" if claims else ""
    return f"{method or '*'} {path or '*'}{holder}"


def diff(before: Matrix, after: Matrix) -> list[Change]:
    """The calls that a change opens and closes."""
    changes = []
    for key in sorted({*before.cells, *after.cells}):
        old, new = before.cells.get(key), after.cells.get(key)
        was = _effective(old)
        now = _effective(new)
        if was != now:
            intents = tuple(dict.fromkeys([*(new.intents if new else ()), *(old.intents if old else ())]))
            changes.append(Change(*key, tuple(sorted(now - was)), tuple(sorted(was - now)), intents))
    return changes


def _effective(cell: Cell | None) -> set[str]:
    if cell is None:
        return set()
    return {*cell.calls, *(f"not {one}" for one in cell.refused)}


def explain(compiled: Compiled, inventory: Inventory, call: Call) -> CallVerdict:
    """The verdict of one call, with the pending intents that may be about it."""
    verdict = Evaluator(compiled, inventory).judge(call)
    if verdict.allowed:
        return verdict
    names = [one for one in compiled.pending if call.callee.rpartition("/")[2] in one.reason]
    waiting = tuple(f"intent {one.intent} is pending: {one.reason}" for one in names)
    return CallVerdict(False, (*verdict.reasons, *waiting), verdict.intents, verdict.objects)
