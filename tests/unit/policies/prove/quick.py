"""A world without Pulumi's SDK, for programs by the thousand: it registers the same in a tenth of the time.

Nearly all of a run's time is the SDK's event loop. The corpus's worlds need little of it: values that are known or not,
marked or not, and depend on resources. A test compares what is registered with what the SDK registers.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import random
import secrets
import unittest.mock
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Final

from hosted_mesh_policies.evaluation.finding import Finding
from hosted_mesh_policies.evaluation.rule import Rule
from hosted_mesh_policies.evaluation.settings import Settings
from hosted_mesh_policies.pack.session import Session
from hosted_mesh_policies.plan.decode import SECRET, SIGNATURE, from_plain
from hosted_mesh_policies.plan.evidence import Evidence
from hosted_mesh_policies.plan.model import Provider, Resource
from hosted_mesh_policies.prove.capture import Capture
from hosted_mesh_policies.prove.program.monitor import LISTS, SWITCHES, Monitor, Surroundings
from hosted_mesh_policies.prove.program.started import same_time
from hosted_mesh_policies.prove.secrets.credentials import replaced
from hosted_mesh_policies.prove.secrets.vault import Vault
from hosted_mesh_policies.prove.secrets.vault import World as Secrets
from hosted_mesh_policies.prove.values import UNKNOWN, plain

from tests.corpus import literals
from tests.corpus import simulated_engine as simulated
from tests.corpus.world import SCOPE, World
from tests.unit.policies.prove.in_process import OUTPUTS
from tests.unit.policies.prove.programs import SERVERS, Batch

KUBECONFIGS: Final = {side: literals.kubeconfig(server) for side, server in SERVERS.items()}
CONFIGURED: Final = "kq7zw93ka0ck2tbn4xhd81mv"
SETTINGS: Final = Settings.read(
    {"x": {"controlPlaneServers": [SERVERS["cp"]], "dataPlaneServers": [SERVERS["dp"], SERVERS["other"]]}}
)
STACK: Final = "pulumi:pulumi:Stack"
PROJECT: Final = "hosted-mesh-corpus"
_URN: Final = f"urn:pulumi:corpus::{PROJECT}::"


class Stopped(Exception):
    """The engine goes no further with a program."""


@dataclass(frozen=True, slots=True)
class Value:
    """What Pulumi's Output is. value: plain data; None while it is not known."""

    value: Any
    sources: frozenset[str] = frozenset()
    secret: bool = False
    known: bool = True

    def apply(self, make: Callable[[Any], Any]) -> Value:
        if not self.known:
            return self
        made = make(self.value)
        found = made if isinstance(made, Value) else Value(made)
        return Value(found.value, self.sources | found.sources, self.secret or found.secret, found.known)


def joined(parts: Sequence[Any]) -> Value:
    """A list of values as one value."""
    values = [part if isinstance(part, Value) else Value(part) for part in parts]
    sources = frozenset[str]().union(*(one.sources for one in values))
    secret, known = any(one.secret for one in values), all(one.known for one in values)
    return Value([one.value for one in values] if known else None, sources, secret, known)


def sent(tree: Any, sources: set[str]) -> Any:
    """A tree as the SDK sends it; `sources` takes in what its values depend on. An unknown value has no mark."""
    if isinstance(tree, Value):
        sources |= tree.sources
        inner = sent(tree.value, sources) if tree.known else UNKNOWN
        return {SIGNATURE: SECRET, "value": inner} if tree.secret and tree.known else inner
    if isinstance(tree, Mapping):
        return {key: sent(value, sources) for key, value in tree.items() if value is not None}
    if isinstance(tree, list | tuple):
        return [sent(value, sources) for value in tree]
    return tree


def _holds(tree: Any, found: Callable[[Any], bool]) -> bool:
    if found(tree):
        return True
    inner = tree.values() if isinstance(tree, Mapping) else tree if isinstance(tree, list) else ()
    return any(_holds(one, found) for one in inner)


@dataclass(frozen=True)
class Made:
    """A registered resource."""

    urn: str
    outputs: Mapping[str, Any] = field(default_factory=dict)

    def output(self, name: str) -> Value:
        """A mark or an unknown inside counts for the whole output, as in the SDK."""
        tree = self.outputs.get(name)
        known = not _holds(tree, lambda one: one == UNKNOWN)
        secret = _holds(tree, lambda one: isinstance(one, dict) and one.get(SIGNATURE) == SECRET)
        return Value(plain(tree) if known else None, frozenset({self.urn}), secret, known)


@dataclass
class Request:
    """A registration, as far as anybody here looks at it."""

    urn: str
    type: str
    name: str
    parent: str
    inputs: dict[str, Any]
    sources: dict[str, tuple[str, ...]] = field(default_factory=dict)
    provider: str = ""
    secret_outputs: tuple[str, ...] = ()
    custom: bool = True


class Engine:
    """Who answers registrations."""

    def register(self, request: Request) -> Mapping[str, Any]:
        """Returns the outputs."""
        raise NotImplementedError

    def kubeconfig(self, side: str) -> str:
        raise NotImplementedError

    def configured(self, name: str) -> str:
        raise NotImplementedError

    def stack(self, name: str) -> Mapping[str, Any]:
        """A reference's outputs."""
        raise NotImplementedError


class QuickWorld(World):
    """The corpus's world in front of an engine of this module."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine.kubeconfig("cp"), engine.kubeconfig("dp"))
        self.kubeconfigs["other"] = engine.kubeconfig("other")
        self.engine = engine

    def _register(self, kind: str, name: str, inputs: Any, parent: Any = None, **more: Any) -> Any:
        found: dict[str, tuple[str, ...]] = {}
        trees = {}
        for key, tree in inputs.items():
            sources: set[str] = set()
            if tree is not None:
                trees[key] = sent(tree, sources)
                found.update({key: tuple(sorted(sources))} if sources else {})
        above: Any = parent or SCOPE.parent
        parent_urn = above.urn if above else ""
        types = parent_urn.split("::")[2] + "$" if parent_urn else ""
        urn = f"{_URN}{types}{kind}::{name}"
        outputs = self.engine.register(Request(urn, kind, name, parent_urn, trees, found, **more))
        return Made(urn, outputs)

    def make(
        self,
        kind: str,
        name: str,
        inputs: Any,
        outputs: Sequence[str] = (),
        secret_outputs: Sequence[str] = (),
        *,
        side: str = "",
        **more: Any,
    ) -> Any:
        provider = f"{self.provider(side).urn}::id" if side else ""
        parent = more.get("parent")
        secret = tuple(secret_outputs)
        inputs = {**dict.fromkeys(outputs), **inputs}
        return self._register(kind, SCOPE.prefix + name, inputs, parent, provider=provider, secret_outputs=secret)

    def named_provider(self, name: str, kubeconfig: Any, *, secret: bool = True) -> Any:
        inputs = {"kubeconfig": Value(kubeconfig, secret=secret), "clusterIdentifier": name}
        return self._register("pulumi:providers:kubernetes", name, inputs)

    def mark(self, value: Any) -> Any:
        """As in the SDK the whole is marked, and is not known while a part is not."""
        sources: set[str] = set()
        tree = sent(value, sources)
        known = not _holds(tree, lambda one: one == UNKNOWN)
        return Value(plain(tree) if known else None, frozenset(sources), True, known)

    def unmark(self, value: Any) -> Any:
        return Value(value.value, value.sources, secret=False, known=value.known)

    def concat(self, *parts: Any) -> Any:
        return joined(parts).apply(lambda found: "".join(map(str, found)))

    def component(self, name: str, kind: str) -> Any:
        return self._register(kind, SCOPE.prefix + name, {}, custom=False)

    def configured(self, name: str) -> Any:
        return Value(self.engine.configured(name), secret=True)

    def output_of(self, stack: str, name: str) -> Any:
        kind = "pulumi:pulumi:StackReference"
        above: Any = SCOPE.parent
        types = above.urn.split("::")[2] + "$" if above else ""
        urn = f"{_URN}{types}{kind}::{SCOPE.prefix}{stack}"
        return Made(urn, self.engine.stack(stack)["outputs"]).output(name)


# The oracle's side ---------------------------------------------------------------------------------------------


class Proving(Engine):
    """Answers as `prove` does."""

    def __init__(self, surroundings: Surroundings, vault: Vault, world: Secrets) -> None:
        self.monitor = Monitor(surroundings, vault, world)

    def register(self, request: Request) -> Mapping[str, Any]:
        asked = SimpleNamespace(
            type=request.type,
            name=request.name,
            custom=request.custom,
            remote=False,
            provider=request.provider,
            providers={},
            importId="",
            additionalSecretOutputs=request.secret_outputs,
            **dict.fromkeys((*SWITCHES, *LISTS)),
        )
        declared = dict.fromkeys(request.secret_outputs, "str") if request.type.startswith("cloudflare:") else {}
        inputs = {**request.inputs, **({"hosted-mesh:declared-outputs": declared} if declared else {})}
        return self.monitor.register(request.urn, asked, inputs)[1]

    def kubeconfig(self, side: str) -> str:
        return replaced(KUBECONFIGS[side], f"configuration {side}", self.monitor.answers)

    def configured(self, name: str) -> str:
        return replaced(CONFIGURED, f"configuration {name}", self.monitor.answers)

    def stack(self, name: str) -> Mapping[str, Any]:
        return self.monitor.stack(name)


def captured(batch: Batch, world: Secrets, vault: Vault, surroundings: Surroundings) -> Capture:
    """One run in one world of the oracle's."""
    engine = Proving(surroundings, vault, world)
    with same_time(vault.now.timestamp()):
        batch.build(QuickWorld(engine))
    return engine.monitor.capture


# The pack's side -----------------------------------------------------------------------------------------------


class Judging(Engine):
    """A preview or an update with the pack watching, as of `simulated_engine`."""

    def __init__(self, session: Session, state: dict[str, Any], rules: Sequence[Rule]) -> None:
        self.session, self.state, self.rules = session, state, [rule for rule in rules if rule.check]
        self.found = [Resource(f"{_URN}{STACK}::{PROJECT}", STACK, PROJECT, {}, {})]
        self.providers: dict[str, Provider] = {}
        self.refused: list[Finding] = []

    def register(self, request: Request) -> Mapping[str, Any]:
        inputs = simulated.checked(request.type, from_plain(request.inputs))
        provider = self._provider(request) if request.custom and not request.type.startswith("pulumi:") else None
        make = functools.partial(
            Resource, request.urn, request.type, request.name, parent=request.parent or None, provider=provider
        )
        resource = make(inputs=inputs, dependencies=request.sources)
        said = [one for one in self.session.before_write(resource, self.rules) if one.rule in _mandatory(self.rules)]
        if said:
            self.refused += said
            raise Stopped
        outputs = self._outputs(request)
        self.found.append(make(inputs=inputs, outputs=from_plain(outputs), dependencies=request.sources))
        if resource.is_provider:
            self.providers[request.urn] = Provider(request.urn, request.type, request.name, inputs)
        return outputs

    def _provider(self, request: Request) -> Provider:
        urn = request.provider.rpartition("::")[0]
        if urn in self.providers:
            return self.providers[urn]
        kind = f"pulumi:providers:{request.type.split(':')[0]}"
        name = f"default_{request.type.split(':')[0]}"
        urn = f"{_URN}{kind}::{name}"
        return self.providers.setdefault(urn, Provider(urn, kind, name, {}))

    def _outputs(self, request: Request) -> dict[str, Any]:
        made = dict(request.inputs)
        if request.custom and not request.type.startswith("pulumi:"):
            if request.urn not in self.state:
                new = simulated.made_by_provider(request.type, plain(made), preview=self.session.preview)
                if not self.session.preview:
                    self.state[request.urn] = new
                made = {**(dict.fromkeys(new, UNKNOWN) if self.session.preview else new), **made}
            else:
                made = {**self.state[request.urn], **made}
        for key in request.secret_outputs:
            if key in made and not (isinstance(made[key], dict) and SIGNATURE in made[key]):
                made[key] = {SIGNATURE: SECRET, "value": made[key]}
        return made

    def kubeconfig(self, side: str) -> str:
        return literals.kubeconfig(SERVERS[side], literals.opaque(side, 40))

    def configured(self, name: str) -> str:
        return literals.opaque(name)

    def stack(self, name: str) -> Mapping[str, Any]:
        secret = {SIGNATURE: SECRET, "value": token_of(name)}
        return {"outputs": {key: secret if value == "[secret]" else value for key, value in OUTPUTS.items()}}


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


def token_of(stack: str) -> str:
    """Each stack has a token of its own, so that one program's does not give another's away."""
    return literals.opaque(f"stack {stack}")


def _mandatory(rules: Sequence[Rule]) -> set[str]:
    return {rule.name for rule in rules if rule.mandatory}


def judged(
    batch: Batch, rules: Sequence[Rule], state: dict[str, Any], *, preview: bool, evidence: Evidence | None = None
) -> tuple[list[Finding], list[Finding], Evidence, list[Resource]]:
    """One preview or update: what was said before a write or at a preview, what an update said only at its end, the
    evidence for the update, what was registered. A program that is refused before a write ends there; its neighbours go
    on, as each would in a stack of its own."""
    names = [f"p{place}-token" for place in batch.places or range(len(batch.programs))]
    config = {f"{PROJECT}:{name}": literals.opaque(name) for name in names}
    keys = frozenset(config)
    session = Session("corpus", PROJECT, preview, config, keys, SETTINGS, evidence=evidence)
    engine = Judging(session, state, rules)
    with same_time(1_800_000_000), same_chance(repr((batch, preview))):
        batch.build(QuickWorld(engine), ends=Stopped)
    said, kept = session.at_end(engine.found, rules)
    mandatory = _mandatory(rules)
    said = [one for one in said if one.rule in mandatory]
    in_time, late = ([*engine.refused, *said], []) if preview else (engine.refused, said)
    return in_time, late, kept, engine.found
