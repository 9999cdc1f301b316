"""A preview by the engine as a run's capture: from an update plan, the preview's digest, and its calls.

`pulumi preview --json` prints `[secret]` for every secret, so values come from the plan of `--save-plan
--show-secrets`; read resources and diagnostics are in the digest alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from hosted_mesh_plan.clusters import KUBECONFIG_KEYS
from hosted_mesh_plan.decode import SECRET, SIGNATURE
from hosted_mesh_plan.model import PROVIDER_PREFIX, REFERENCE_TYPE

from ...runner.capture import Capture, Registered
from ...runner.places import Known, Place, Places, Side, server_of
from ...runner.values import UNKNOWN, Leaf, leaves, plain, substitution

PURE: Final = frozenset({
    "pulumi:pulumi:getResource", "pulumi:pulumi:readStackOutputs",
    "kubernetes:yaml:decode", "kubernetes:helm:template", "kubernetes:kustomize:directory",
})  # fmt: skip
"""Functions with a result that follows from their arguments, or is made up."""
_DYNAMIC: Final = re.compile(r"pulumi-\w+:dynamic")
_AUTONAMED: Final = "pulumi.com/autonamed"
ALWAYS: Final = "a preview does not show resources made inside apply from values that only an update computes"


def captured(
    plan: Mapping[str, Any],
    digest: Mapping[str, Any],
    calls: Collection[str],
    known: Known,
    *,
    before: Mapping[str, Mapping[str, Any]] | None = None,
    instead: Mapping[str, str] | None = None,
    keep: Collection[str] = (),
) -> Capture:
    """One preview. calls: the called functions of providers.

    before: each resource's inputs at the last update, by its URN; empty for a new stack. instead: texts that differ
    from run to run by themselves, and their replacements (a private folder's path). keep: types, names and functions
    that may stay the same in all runs.
    """
    plans = _mapping(plan.get("resourcePlans"))
    goals = {urn: _mapping(one.get("goal")) for urn, one in plans.items() if one.get("goal")}
    steps = [_mapping(step) for step in digest.get("steps") or ()]
    old = {str(step.get("urn")): str(_mapping(step.get("oldState")).get("urn") or step.get("urn")) for step in steps}
    inputs = {urn: _inputs(goal, _mapping(before).get(old.get(urn, urn), {})) for urn, goal in goals.items()}
    stable = substitution({**(instead or {}), **_generated(inputs)})
    places = Places(known)
    found = Capture(remarks=[ALWAYS], places=places)
    for urn, goal in goals.items():
        if str(goal["type"]).startswith(PROVIDER_PREFIX):
            add_provider(places, urn, str(goal["type"]), inputs[urn])
    for urn, goal in goals.items():
        if goal.get("custom") and not str(goal["type"]).startswith(PROVIDER_PREFIX):
            kind = str(goal["type"])
            to = place_of(places, kind, goal.get("provider"))
            sources = tuple(one for urns in _mapping(goal.get("propertyDependencies")).values() for one in urns or ())
            found.resources[urn] = Registered(urn, kind, _name(urn), _everywhere(stable, inputs[urn]), to, sources)
            _tell_what_is_later(found, urn, plans[urn], keep)
    for step in steps:
        if step.get("op") == "read":
            _take_read(found, _mapping(step.get("newState")), places, keep)
    for call in sorted({*calls} - PURE):
        text = f"function {call}: it returns the same in each run, so dependence on it stays unseen"
        found.tell(text, {call}, keep)
    return found


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def tree_of_plan(value: Any) -> Any:
    """A tree of the engine in the protocol's form: a secret's plain text is JSON there."""
    if isinstance(value, Mapping):
        if value.get(SIGNATURE) == SECRET:
            return {SIGNATURE: SECRET, "value": tree_of_plan(json.loads(value.get("plaintext") or "null"))}
        return {key: tree_of_plan(one) for key, one in value.items()}
    return [tree_of_plan(one) for one in value] if isinstance(value, list) else value


def _inputs(goal: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """All inputs of a resource: the plan has only their changes."""
    change = _mapping(goal.get("inputDiff"))
    gone = {*(change.get("deletes") or ())}
    made: dict[str, Any] = {key: value for key, value in before.items() if key not in gone}
    made |= tree_of_plan({**_mapping(change.get("adds")), **_mapping(change.get("updates"))})
    if goal.get("id"):
        made["(import id)"] = goal["id"]
    return made


def _name(urn: str) -> str:
    return urn.rpartition("::")[2]


def add_provider(places: Places, urn: str, kind: str, inputs: Mapping[str, Any]) -> None:
    """A default provider is a separate place only if its configuration has a destination."""
    inputs, name = plain(inputs), _name(urn)
    unknown = {key for key in KUBECONFIG_KEYS if inputs.get(key) == UNKNOWN}  # it has no destination
    inputs = {key: None if key in unknown else value for key, value in inputs.items()}
    if not name.startswith("default") or server_of(inputs):
        places.add_provider(urn, kind.rpartition(":")[2], name, inputs)


def place_of(places: Places, kind: str, provider: Any) -> Place | None:
    if _DYNAMIC.match(kind):
        return Place(Side.UNKNOWN, "a dynamic provider")
    return places.place_of(kind, str(provider or "").rpartition("::")[0])


def _tell_what_is_later(found: Capture, urn: str, plan: Mapping[str, Any], keep: Collection[str]) -> None:
    """Records the parts of a resource that only an update makes or computes. An unchanged resource is complete."""
    goal = _mapping(plan.get("goal"))
    kind = str(goal["type"])
    called = f"{kind} {_name(urn)}"
    if _DYNAMIC.match(kind):
        found.tell(f"{called}: a dynamic provider's code was not run", {kind, _name(urn)}, keep)
    made = dict(leaves(tree_of_plan(_mapping(plan.get("state")))))
    later = any(leaf.secret and _is_unknown(leaf) for leaf in made.values())
    stays = plan.get("steps") == ["same"]
    for key in goal.get("additionalSecretOutputs") or ():
        there = [leaf for path, leaf in made.items() if path[:1] == (key,)]
        later = later or any(map(_is_unknown, there)) or not (there or stays)
    if later:
        unseen = "only an update computes its secret, so resources made from it inside apply stay unseen"
        found.tell(f"{called}: {unseen}", {kind, _name(urn)}, keep)


def _is_unknown(leaf: Leaf) -> bool:
    return bool(leaf.value == UNKNOWN)


def _take_read(found: Capture, state: Mapping[str, Any], places: Places, keep: Collection[str]) -> None:
    """A read resource goes nowhere but for its id, and no run can change it."""
    urn, kind = str(state.get("urn")), str(state.get("type"))
    place = place_of(places, kind, state.get("provider"))
    if place is not None:
        found.resources[urn] = Registered(urn, kind, _name(urn), {"id": state.get("id")}, place)
    if kind != REFERENCE_TYPE:
        text = f"{kind} {_name(urn)}: it reads the same in each run, so dependence on it stays unseen"
        found.tell(text, {kind, _name(urn)}, keep)


def _generated(given: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Names that plug-ins made from the resource's own and random letters, by the plug-ins' marks alone."""
    found = {}
    for urn, tree in given.items():
        inputs = plain(tree)
        metadata = _mapping(inputs.get("metadata"))
        made = [metadata.get("name")] if _mapping(metadata.get("annotations")).get(_AUTONAMED) == "true" else []
        defaults = inputs.get("__defaults")
        made += [inputs.get(key) for key in defaults if isinstance(key, str)] if isinstance(defaults, list) else []
        for name in made:
            if isinstance(name, str) and re.fullmatch(re.escape(_name(urn)) + r"[-_.]?[0-9a-zA-Z]{6,12}", name):
                found[name] = f"{_name(urn)}-(generated)"
    return found


def _everywhere(stable: Callable[[str], str], value: Any) -> Any:
    if isinstance(value, str):
        return stable(value)
    if isinstance(value, dict):
        return {stable(key): _everywhere(stable, one) for key, one in value.items()}
    return [_everywhere(stable, one) for one in value] if isinstance(value, list) else value


_NOISE: Final = frozenset(["preview failed", "update failed"])
_BEFORE: Final = re.compile(r"^(?:error: |Preview failed: |\d+ errors? occurred:$)+")
_OTHER_STACK: Final = re.compile(r"unknown stack|no stack named|referenced stack", re.IGNORECASE)
_LOGIN: Final = re.compile(
    r"unreachable|unauthori[sz]ed|unauthenticated|forbidden|denied|credential|log ?in|\b40[13]\b", re.IGNORECASE
)
MOST_ERRORS, MOST_LETTERS = 3, 400


def problem(digest: Mapping[str, Any], stderr: str) -> str:
    """The reason of a failed preview, in one line."""
    text = f"the preview fails: {reasons(digest, stderr)}"
    if _OTHER_STACK.search(text):
        return f"{text}. Give the other stack's outputs with --stack-outputs STACK=FILE"
    if _LOGIN.search(text):
        return f"{text}. A plug-in's login is made up: keep a necessary one with --keep"
    return text


def reasons(digest: Mapping[str, Any], stderr: str) -> str:
    """The engine's messages; they may contain a program's texts and values."""
    told = digest.get("diagnostics") or ()
    by_severity = ([one for one in told if one.get("severity") == wanted] for wanted in ("error", "info#err"))
    said = next((some for some in by_severity if some), [{"message": stderr}])
    lines = dict.fromkeys(f"{_whose(one)}{line}" for one in said for line in _telling(str(one.get("message", ""))))
    return "; ".join(list(lines)[:MOST_ERRORS])[:MOST_LETTERS] or "the engine gives no reason"


def _whose(diagnostic: Mapping[str, Any]) -> str:
    """The resource of a diagnostic; empty for the whole program."""
    types, _, name = str(diagnostic.get("urn", "")).rpartition("::")
    kind = types.rpartition("::")[2].rpartition("$")[2].rpartition(":")[2]
    return f"{kind} {name}: " if kind not in {"", "Stack"} else ""


def _telling(text: str) -> Iterator[str]:
    """The meaningful lines: without places in a program's libraries, and without consequences of other failures."""
    for line in text.splitlines():
        telling = _BEFORE.sub("", line.rstrip())
        if not telling or telling[0].isspace() or telling.startswith(("Traceback", "During handling", "warning: ")):
            continue
        if telling.lower() not in _NOISE and not telling.endswith("exception:"):
            yield telling


def calls_of(log: Iterable[str]) -> set[str]:
    """The provider functions and methods that a run called, from the engine's log of its own protocol."""
    found = set()
    for line in log:
        if "/pulumirpc.ResourceMonitor/" not in line:
            continue  # mostly long output of plug-ins
        try:
            entry = json.loads(line)
        except ValueError:
            continue  # an incomplete line of a killed engine
        if str(entry.get("method")) in {"/pulumirpc.ResourceMonitor/Invoke", "/pulumirpc.ResourceMonitor/Call"}:
            found.add(str(_mapping(entry.get("request")).get("tok")))
    return found
