"""One case, from its first check to its end, and what the plug-in said to each question: the facts."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any, Final, Protocol

from sandbox.plugins.protocol.stubs import provider_pb2
from sandbox.plugins.protocol.values import contains_unknown, read_struct
from tests.recorded.cases import Case, ProviderCase, Step, merged, resolved
from tests.recorded.plain import changed, shown
from tests.recorded.plugin import SEED, Plugin, Refused

Facts = dict[str, Any]
Outputs = dict[str, Any]
_WIRE: Final = provider_pb2.DiffResponse
_DETAIL: Final = provider_pb2.PropertyDiff
_HELD: Final = {"metadata": {"finalizers": ["recorded.test/held"]}}
_RELEASED: Final = {"metadata": {"finalizers": None}}


class World(Protocol):
    """Where a package's resources live, and how its states are shown without what differs from run to run."""

    def state(self, outputs: Outputs, inputs: Outputs, before: Outputs) -> Facts:
        """What there is to say of a state that was made for these inputs. before: the one before it, {} if none."""

    def planned(self, outputs: Outputs, inputs: Outputs, before: Outputs) -> Facts:
        """The same of a preview's."""

    def identity(self, identity: str) -> str:
        """An id."""

    def message(self, text: str) -> str:
        """A message."""

    def drift(self, outputs: Outputs, patch: Mapping[str, Any]) -> None:
        """Changes the live object, as somebody else."""


def play(case: Case, plugin: Plugin, world: World, made: MutableMapping[str, Outputs]) -> Facts:
    """The facts of a case. made: the outputs of earlier cases, to which this one adds its own."""
    return _Life(case, plugin, world).run(made)


class _Life:
    """A resource between check and delete."""

    def __init__(self, case: Case, plugin: Plugin, world: World) -> None:
        self._case = case
        self._plugin = plugin
        self._world = world
        self._known = {"urn": case.urn, "name": case.resource, "type": case.type}
        self._program: Outputs = {}
        self._inputs: Outputs = {}
        self._outputs: Outputs = {}
        self._checked: Facts = {}
        self._id = ""

    def run(self, made: MutableMapping[str, Outputs]) -> Facts:
        self._program = resolved(self._case.inputs, made)
        facts: Facts = {}
        checked = self._check(self._program, {}, facts)
        if checked is None:
            return facts
        self._inputs = checked
        facts["preview"] = self._create(preview=True)
        if self._case.planned or contains_unknown(checked):
            return facts
        facts["create"] = self._create(preview=False)
        if "error" in facts["create"] and "state" not in facts["create"]:
            return facts
        made[self._case.name] = self._outputs
        try:
            facts["unchanged"] = self._diff(self._inputs)
            facts["read"] = self._read()
            steps = {step.name: self._step(step, made) for step in self._case.steps}
            if steps:
                facts["steps"] = steps
        finally:
            if self._case.held:
                self._world.drift(self._outputs, _HELD)
            facts["delete"] = self._delete()
            if self._case.held:
                self._world.drift(self._outputs, _RELEASED)
        return facts

    def _step(self, step: Step, made: Mapping[str, Outputs]) -> Facts:
        facts: Facts = {}
        if step.drift is not None:
            self._world.drift(self._outputs, step.drift)
            facts["read"] = self._read()
        program = merged(self._program, resolved(step.edit or {}, made))
        news = self._check(program, self._inputs, facts)
        if news is None:
            return facts
        facts["diff"] = self._diff(news)
        if facts["diff"].get("replaces") or facts["diff"].get("changes") != "DIFF_SOME":
            return facts
        facts["preview"] = self._update(news, preview=True)
        if not contains_unknown(news):
            facts["update"] = self._update(news, preview=False)
            if "error" not in facts["update"]:
                self._program, self._inputs = program, news
                facts["afterwards"] = self._diff(news)
        return facts

    def _check(self, news: Outputs, olds: Outputs, facts: Facts) -> Outputs | None:
        """The checked inputs, None where they are refused; what is to be said of them goes into the facts."""
        try:
            response = self._plugin.call("Check", **self._known, olds=olds, news=news, randomSeed=SEED)
        except Refused as error:
            facts["check"] = self._error(error)
            return None
        failures = [{"property": one.property, "reason": self._world.message(one.reason)} for one in response.failures]
        if failures:
            facts["check"] = {"failures": sorted(failures, key=lambda one: one["property"])}
            return None
        checked = read_struct(response.inputs)
        difference = changed(news, checked)
        if difference != self._checked:  # said once, not again for each step
            facts["check"] = {"changed": difference}
        if not olds:
            self._checked = difference
        return checked

    def _create(self, *, preview: bool) -> Facts:
        try:
            response = self._plugin.call("Create", **self._known, properties=self._inputs, preview=preview)
        except Refused as error:
            return self._error(error)
        outputs = read_struct(response.properties)
        if preview:
            return self._world.planned(outputs, self._inputs, {})
        self._id = response.id
        return {"its id": self._world.identity(response.id), **self._becomes(outputs, self._inputs)}

    def _diff(self, news: Outputs) -> Facts:
        try:
            response = self._plugin.call(
                "Diff", **self._known, id=self._id, olds=self._outputs, news=news, old_inputs=self._inputs
            )
        except Refused as error:
            return self._error(error)
        return _told(response)

    def _update(self, news: Outputs, *, preview: bool) -> Facts:
        try:
            response = self._plugin.call(
                "Update",
                **self._known,
                id=self._id,
                olds=self._outputs,
                news=news,
                old_inputs=self._inputs,
                preview=preview,
            )
        except Refused as error:
            return self._error(error)
        outputs = read_struct(response.properties)
        if preview:
            return self._world.planned(outputs, news, self._outputs)
        return self._becomes(outputs, news)

    def _becomes(self, outputs: Outputs, inputs: Outputs) -> Facts:
        facts = self._world.state(outputs, inputs, self._outputs)
        self._outputs = outputs
        return facts

    def _read(self) -> Facts:
        try:
            response = self._plugin.call(
                "Read", **self._known, id=self._id, properties=self._outputs, inputs=self._inputs
            )
        except Refused as error:
            return self._error(error)
        if not response.id:
            return {"its id": ""}
        facts = {
            "its id": self._world.identity(response.id),
            **self._becomes(read_struct(response.properties), self._inputs),
        }
        difference = changed(self._inputs, read_struct(response.inputs))
        return {**facts, "changed inputs": shown(difference)} if difference else facts

    def _delete(self) -> Facts:
        try:
            self._plugin.call("Delete", **self._known, id=self._id, properties=self._outputs, old_inputs=self._inputs)
            left = self._plugin.call("Read", **self._known, id=self._id, properties=self._outputs, inputs=self._inputs)
        except Refused as error:
            return self._error(error)
        return {"left": bool(left.id)}

    def _error(self, error: Refused) -> Facts:
        facts: Facts = {"error": self._world.message(str(error))}
        if error.state is not None:
            self._id = error.identity or self._id
            facts["state"] = self._becomes(error.state, self._inputs)
        return facts


def play_provider(case: ProviderCase, plugin: Plugin) -> Facts:
    """What a plug-in that was not configured says of a change of its provider's settings."""
    urn = "urn:pulumi:recorded::recorded::pulumi:providers:kubernetes::it"
    facts: Facts = {}
    try:
        checked = plugin.call("CheckConfig", urn=urn, olds=case.olds, news=case.news)
        facts["failures"] = [{"property": one.property, "reason": one.reason} for one in checked.failures]
        facts["changed"] = changed(case.news, read_struct(checked.inputs))
        facts["diff"] = _told(plugin.call("DiffConfig", urn=urn, olds=case.olds, news=case.news, old_inputs=case.olds))
    except Refused as error:
        facts["error"] = str(error)
    return {name: value for name, value in facts.items() if value}


def _told(response: Any) -> Facts:
    """A DiffResponse, without what it does not say."""
    facts: Facts = {"changes": _WIRE.DiffChanges.Name(response.changes)}
    for name in ("replaces", "diffs", "stables"):
        if getattr(response, name):
            facts[name] = sorted(set(getattr(response, name)))
    if response.deleteBeforeReplace:
        facts["deleteBeforeReplace"] = True
    if response.hasDetailedDiff and facts["changes"] != "DIFF_NONE":
        facts["detail"] = {
            path: _DETAIL.Kind.Name(one.kind) + (" of input" if one.inputDiff else "")
            for path, one in sorted(response.detailedDiff.items())
        }
    return facts
