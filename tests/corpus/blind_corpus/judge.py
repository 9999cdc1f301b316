"""Plays a program's program before the pack, or without it, and says what was sent to a user and what was said."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from google.protobuf import json_format, struct_pb2
from hosted_mesh_plan.evidence import Evidence
from hosted_mesh_policies.evaluation.finding import Finding
from hosted_mesh_policies.rules.catalogue import RULES
from pulumi.runtime.proto import resource_pb2

from tests.corpus.case import EXPOSURE, OPERATORS, PROVIDERS, RIGHTS, TRUST, WEBHOOKS
from tests.corpus.simulated_engine import UNKNOWN_TEXT, Monitor, run

from .material import Material
from .program import BlindProgram
from .scene import Scene, Stage

SIGNATURE = "4dabf18193072939515e22adb298388d"
MARKED = "1b47061264138c4ac30d75fd1eb44270"
NOT_OF_SECRETS = frozenset({PROVIDERS, WEBHOOKS, RIGHTS, EXPOSURE, OPERATORS, TRUST})
"""Rules that speak of other faults: a leak that only one of these stops was stopped by chance."""
NOWHERE = ("pulumi:", "tls:", "random:", "time:")
"""Packages that keep what they make in the engine's state."""


def bare(value: Any) -> Any:
    """A message's value without its secret marks."""
    if isinstance(value, Mapping):
        if value.get(SIGNATURE) == MARKED:
            return bare(value.get("value"))
        return {key: bare(inner) for key, inner in value.items()}  # assets have signatures too
    return [bare(inner) for inner in value] if isinstance(value, list) else value


@dataclass
class Sent:
    """What the resources of a user's side were given, by URN, and their URNs with those of their parents; and the scene
    in which the program ran."""

    inputs: dict[str, Any] = field(default_factory=dict)
    urns: set[str] = field(default_factory=set)
    scene: Scene | None = None

    def leaves(self) -> dict[str, bytes]:
        named = ((urn.rpartition("::")[2], tree) for urn, tree in self.inputs.items())
        return {place: leaf for name, tree in named for place, leaf in _leaves(tree, name)}


def _leaves(tree: Any, place: str, *, encoded: bool = False) -> Iterator[tuple[str, bytes]]:
    if isinstance(tree, Mapping):
        is_secret = tree.get("kind") == "Secret"
        for key, value in tree.items():
            yield from _leaves(value, f"{place}.{key}", encoded=encoded or (is_secret and key == "data"))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from _leaves(value, f"{place}.{index}", encoded=encoded)
    elif tree is not None:
        text = str(tree).encode()
        try:
            yield place, base64.b64decode(text, validate=True) if encoded else text
        except binascii.Error:
            yield place, text


class StageMonitor(Monitor):
    """The corpus's monitor, with answers from a stage, and an eye on what goes to a user."""

    stage: Stage
    sent: Sent

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        answer = super().RegisterResource(request)
        if self.refused and request.type != "pulumi:pulumi:Stack":  # so that a program that needs an answer runs on
            answer.object.CopyFrom(self._outputs(answer.urn, request))
        provider = request.provider.rpartition("::")[0].rpartition("::")[2]
        owned = {provider, request.name} & self.stage.provider_owned
        nowhere = request.type.startswith(NOWHERE) and not request.type.startswith("pulumi:providers:")
        if request.custom and not nowhere and (not owned or request.name in self.stage.delivered):
            self.sent.inputs[answer.urn] = bare(json_format.MessageToDict(request.object))
            self.sent.urns |= {answer.urn, request.parent} - {""}
        return answer

    def RegisterResourceOutputs(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        if request.urn == self.stack_urn:
            self.sent.inputs["outputs"] = bare(json_format.MessageToDict(request.outputs))
        return super().RegisterResourceOutputs(request)

    def _outputs(self, urn: str, request: Any) -> struct_pb2.Struct:
        made: dict[str, Any] = json_format.MessageToDict(request.object)
        added = dict(self.stage.answers.get(request.name, {}))
        known = self.state.get(urn) == bare(made)
        if not known and self.session.preview:
            added = dict.fromkeys(added, UNKNOWN_TEXT)
        elif not self.session.preview:
            self.state[urn] = bare(made)
        made = {**made, **added}
        if request.type.startswith("kubernetes:"):
            made.setdefault("status", {})
            if request.type == "kubernetes:core/v1:Secret":
                made.setdefault("data", {})
        for key in request.additionalSecretOutputs:
            if key in made and not (isinstance(made[key], dict) and SIGNATURE in made[key]):
                made[key] = {SIGNATURE: MARKED, "value": made[key]}
        return json_format.ParseDict(made, struct_pb2.Struct())

    def ReadResource(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        urn = self.make_urn(request.parent, request.type, request.name)
        state = dict(self.stage.answers[request.name])
        marked = set(self.stage.secret_answers.get(request.name, ()))
        if "outputs" in state:
            state["outputs"] = {
                key: {SIGNATURE: MARKED, "value": value} if key in marked else value
                for key, value in state["outputs"].items()
            }
        for key in request.additionalSecretOutputs:
            state[key] = {SIGNATURE: MARKED, "value": state.get(key)}
        struct = json_format.ParseDict(state, struct_pb2.Struct())  # the engine does not show reads to policies
        return resource_pb2.ReadResourceResponse(urn=urn, properties=struct)

    def Invoke(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        fields = json_format.ParseDict(self.stage.invokes[request.tok], struct_pb2.Struct()).fields
        return resource_pb2.ResourceInvokeResponse(**{"return": struct_pb2.Struct(fields=fields)})


@dataclass(frozen=True)
class Outcome:
    """`stage` is when the pack spoke about the leak: "preview", "before write", "end" or "never". `elsewhere` is what
    else it said, about other faults or other resources."""

    stage: str
    said: tuple[Finding, ...] = ()
    elsewhere: tuple[Finding, ...] = ()
    warned: bool = False
    """True if a verdict was advisory because nobody declared an owner."""


def play(program: BlindProgram, *, seed: int = 0, judged: bool = True) -> tuple[Outcome, Sent, Material]:
    """The program's runs with one set of the provider's secrets: the verdict, what was sent, and the secrets."""
    state: dict[str, Any] = {}
    cp, dp = Material("cp", seed), Material("dp", 0)
    config = dict(program.config(cp, dp)) if program.config else {}
    known = {"config": config, "secret_config_keys": frozenset(config)} if config else {}

    def perform(started: Any, *, preview: bool, rules: Any, evidence: Evidence | None = None) -> tuple[Any, ...]:
        stage, sent = Stage(cp, dp, config), Sent()

        def monitors(*args: Any) -> StageMonitor:
            made = StageMonitor(*args)
            made.stage, made.sent = stage, sent
            return made

        def world(*_: str) -> Scene:
            sent.scene = Scene(stage)
            return sent.scene

        refused, said, kept, _ = run(
            started,
            preview=preview,
            state=state,
            rules=rules,
            evidence=evidence,
            stack=program.stack,
            more=dict(program.pack),
            monitors=monitors,
            worlds=world,
            surroundings=known,
        )
        return refused, said, kept, sent

    if program.before:
        perform(program.before, preview=False, rules=())
    if not judged:
        return Outcome("unjudged"), perform(program.play, preview=False, rules=())[3], cp
    rules = tuple(RULES)
    mandatory = {rule.name for rule in rules if rule.mandatory}
    outcome, sent, evidence, warned = Outcome("never"), Sent(), None, False
    for preview in (True, False)[program.unseen :]:
        refused, said, evidence, sent = perform(program.play, preview=preview, rules=rules, evidence=evidence)
        for stage, found in (("before write", refused), ("preview" if preview else "end", said)):
            warned = warned or any(finding.advisory for finding in found)
            found = [finding for finding in found if finding.rule in mandatory and not finding.advisory]
            own = [finding for finding in found if _about(finding, sent) or not program.leak]
            others = tuple(finding for finding in found if finding not in own)
            if own:
                return Outcome(stage, tuple(own), others, warned), sent, cp
            if others:
                outcome = Outcome("never", (), (*outcome.elsewhere, *others))
        if outcome.elsewhere:
            break  # the engine would go no further
    return replace(outcome, warned=warned), sent, cp


def _about(finding: Finding, sent: Sent) -> bool:
    here = finding.urn in sent.urns or "pulumi:pulumi:Stack" in finding.urn
    return here and finding.rule not in NOT_OF_SECRETS
