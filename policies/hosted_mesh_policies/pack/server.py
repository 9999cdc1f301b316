"""The policy pack as a server of Pulumi's analyzer protocol.

Pulumi's Python policy SDK decodes every resource again for every policy, drops the secret marks, and turns a policy
that reads an unknown into an advisory one. Here each message is decoded once, marks and unknowns are kept, and every
failure is a verdict. `sdk` offers the same rules to packs of the SDK.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent import futures
from dataclasses import asdict, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, cast

import grpc
from google.protobuf import empty_pb2
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError
from hosted_mesh_plan.decode import from_struct
from hosted_mesh_plan.evidence import Evidence
from hosted_mesh_plan.model import Provider, Resource

from ..configuration import BEFORE_WRITE, UnusableConfigurationError, check
from ..evaluation.finding import Finding, Severity
from ..evaluation.rule import Rule
from ..evaluation.settings import Settings
from ..proposal import PROPOSED, proposal
from ..rules.catalogue import RULES
from . import engine
from .preview_evidence import EvidenceScope, UnusableEvidenceError, load, note_path, read_note, save, write_note
from .protocol import analyzer_pb2, plugin_pb2
from .session import Session

PACK: Final = "hosted-mesh"
VERSION: Final = version("hosted-mesh-policies")
SAVED_EVIDENCE: Final = "HOSTED_MESH_EVIDENCE"
"""Environment variable: a file that a preview writes and an update elsewhere reads, relative to pulumi's folder."""
PROGRAM: Final = "HOSTED_MESH_PROGRAM"
"""Environment variable: identifies the program, such as by a commit, instead of its files."""
STRICT: Final = "hosted-mesh-policies:strict"
"""Key of the stack's configuration that also sets `strict`."""
LARGEST_MESSAGE: Final = 400 * 1024 * 1024
_SEVERITIES: Final = {
    Severity.LOW: analyzer_pb2.POLICY_SEVERITY_LOW,
    Severity.MEDIUM: analyzer_pb2.POLICY_SEVERITY_MEDIUM,
    Severity.HIGH: analyzer_pb2.POLICY_SEVERITY_HIGH,
    Severity.CRITICAL: analyzer_pb2.POLICY_SEVERITY_CRITICAL,
}


def fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The length-delimited fields of a protobuf message, without descending. A request is decoded resource by resource:
    protobuf rejects messages nested more than 100 deep, and one such resource must not hide the others."""
    position = 0
    while position < len(message):
        tag, position = _varint(message, position)
        if tag & 7 == 2:
            length, position = _varint(message, position)
            yield tag >> 3, message[position : position + length]
            position += length
        elif tag & 7 == 0:
            _, position = _varint(message, position)
        else:
            position += {1: 8, 5: 4}.get(tag & 7, len(message))


def _varint(data: bytes, position: int) -> tuple[int, int]:
    number, shift = 0, 0
    while True:
        byte = data[position]
        number |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return number, position


class Analyzer:
    """The service. One instance serves one preview or update."""

    def __init__(self, ambient: Mapping[str, str]) -> None:
        self.session = Session(ambient=ambient)
        self.levels: dict[str, int] = {}
        self._lock = threading.Lock()
        self._providers: dict[bytes, Provider] = {}

    def configure_stack(self, request: Any, _: Any) -> Any:
        session = self.session
        session.stack, session.project, session.preview = request.stack, request.project, request.dry_run
        session.config, session.secret_config_keys = dict(request.config), frozenset(request.config_secret_keys)
        self._settle(session.settings)
        return analyzer_pb2.AnalyzerStackConfigureResponse()

    def configure(self, request: Any, call: Any) -> Any:
        """An invalid setting ends the run. An unknown policy comes here if it has a level; without one the engine ends
        the run itself."""
        self.levels = {name: config.enforcementLevel for name, config in request.policyConfig.items()}
        given = {name: MessageToDict(config.properties) for name, config in request.policyConfig.items()}
        try:
            check(given)
        except UnusableConfigurationError as problem:
            call.abort(grpc.StatusCode.INVALID_ARGUMENT, f"--policy-pack-config: {problem}")
        self._settle(Settings.read(given))
        return empty_pb2.Empty()

    def _settle(self, settings: Settings) -> None:
        """Settings come after the stack's configuration, or not at all."""
        strict = settings.strict or self.session.config.get(STRICT) == "true"
        self.session.settings = replace(settings, strict=strict)

    def analyze(self, request: bytes, _: Any) -> Any:
        """One resource, before it is written."""
        with self._lock:
            response = analyzer_pb2.AnalyzeResponse()
            rules = [rule for rule in RULES if rule.check and self._is_on(rule.name + BEFORE_WRITE, rule)]
            try:
                if not self.session.preview:
                    self.session.evidence = self._shown
                resource = self._resource(request, analyzer_pb2.AnalyzeRequest)
                if isinstance(resource, str):
                    found = [] if self.session.preview else self._unseen(rules, BEFORE_WRITE, _undecodable(resource))
                else:
                    found = self.session.before_write(resource, rules)
            except Exception as problem:  # its text may quote a value, and gRPC would pass it on
                found = self._unseen(rules, BEFORE_WRITE, _broken(problem))
            response.diagnostics.extend(self._diagnostic(finding, BEFORE_WRITE) for finding in found)
            return response

    def analyze_stack(self, request: bytes, _: Any) -> Any:
        """The whole stack, at the end."""
        with self._lock:
            rules = [rule for rule in RULES if self._is_on(rule.name, rule)]
            resources: list[Resource] = []
            found: list[Finding] = []
            for number, part in fields(request):
                try:
                    resource = self._resource(part, analyzer_pb2.AnalyzerResource) if number == 1 else None
                except Exception as problem:
                    resource = None
                    found += self._unseen(rules, "", _broken(problem))
                if isinstance(resource, str):
                    found += self._unseen(rules, "", _undecodable(resource))
                elif resource is not None:
                    resources.append(resource)
            evidence = Evidence()
            try:
                said, evidence = self.session.at_end(resources, rules)
                found += said
            except Exception as problem:
                found += self._unseen(rules, "", _broken(problem))
            if self.session.preview:
                write_note(note_path(self.session.stack, self.session.project), evidence)
                self._save(evidence)
                self._propose(resources)
            response = analyzer_pb2.AnalyzeResponse()
            response.diagnostics.extend(self._diagnostic(finding, "") for finding in found)
            return response

    @cached_property
    def _shown(self) -> Evidence | None:
        """A preview's evidence, read at an update's first resource: the settings come after the stack."""
        session = self.session
        found = read_note(note_path(session.stack, session.project))
        return self._load() if found is None else found

    def _saved(self) -> tuple[Path, EvidenceScope] | None:
        """The file of evidence, and its scope. Raises: UnusableEvidenceError if the program is unknown."""
        session = self.session
        name = session.ambient.get(SAVED_EVIDENCE)
        if not name:
            return None
        working = engine.folder() or Path()
        path = working / name
        program = session.ambient.get(PROGRAM) or engine.program(working, path)
        if program is None:
            raise UnusableEvidenceError(
                f"cannot be bound to unreadable program files; set {PROGRAM} to the program's commit"
            )
        off = sorted(rule.name for rule in RULES if not self._is_on(rule.name, rule))
        told = json.dumps({"off": off, "settings": asdict(session.settings)})
        return path, EvidenceScope({**session.config, "": f"{session.project}/{session.stack}"}, program, told)

    def _save(self, evidence: Evidence) -> None:
        try:
            if saved := self._saved():
                path, bond = saved
                save(path, evidence, bond)
        except OSError as problem:
            _tell(f"cannot be written ({problem.strerror})")
        except UnusableEvidenceError as problem:
            _tell(f"is not written: {problem}")

    def _propose(self, resources: Sequence[Resource]) -> None:
        """Writes the settings file for `hosted-mesh-policies init`, which reports a missing file."""
        if name := self.session.ambient.get(PROPOSED):
            with contextlib.suppress(OSError):
                Path(name).write_text(proposal([self.session.whole(resources)]).text(), encoding="utf-8")

    def _load(self) -> Evidence | None:
        try:
            return load(*saved) if (saved := self._saved()) else None
        except UnusableEvidenceError as problem:
            _tell(f"counts as none: {problem}")
            return None

    def _resource(self, data: bytes, message: Any) -> Resource | str:
        """A resource from its message; its URN alone if it is nested too deeply to decode."""
        try:
            found = message.FromString(data)
        except DecodeError:
            return next((value.decode("utf-8", "replace") for number, value in fields(data) if number == 3), "")
        before = message is analyzer_pb2.AnalyzeRequest
        needed = before or not (self.session.inputs_are_known(found.urn) and _repeats_inputs(found.type))
        properties = from_struct(found.properties) if needed else None
        return Resource(
            urn=found.urn,
            type=found.type,
            name=found.name,
            inputs=properties if before else None,
            outputs=None if before else properties,
            parent=(found.options.parent if before else found.parent) or None,
            provider=self._provider(found.provider) if found.HasField("provider") else None,
            dependencies={}
            if before
            else {key: tuple(value.urns) for key, value in found.propertyDependencies.items()},
        )

    def _provider(self, message: Any) -> Provider:
        """Cached: every resource repeats its provider with its kubeconfig."""
        key = message.SerializeToString()
        if key not in self._providers:
            self._providers[key] = Provider(message.urn, message.type, message.name, from_struct(message.properties))
        return self._providers[key]

    def _is_on(self, name: str, rule: Rule) -> bool:
        return self._level(name, rule) != analyzer_pb2.DISABLED

    def _level(self, name: str, rule: Rule) -> int:
        """A rule that also runs before each write is two policies of the engine. The level of one holds for both,
        unless the other has a level too."""
        default = analyzer_pb2.MANDATORY if rule.mandatory else analyzer_pb2.ADVISORY
        twin = name.removesuffix(BEFORE_WRITE) if name.endswith(BEFORE_WRITE) else name + BEFORE_WRITE
        levels = (self.levels.get(name, default), self.levels.get(twin, default))
        return next((level for level in levels if level != default), default)

    def _unseen(self, rules: Sequence[Rule], suffix: str, finding: Finding) -> list[Finding]:
        """One of the strictest rules reports a resource that none could judge: a lowered level of another must not let
        it pass."""
        strictest = sorted(rules, key=lambda rule: self._level(rule.name + suffix, rule) != analyzer_pb2.MANDATORY)
        return [replace(finding, rule=rule.name) for rule in strictest[:1]]

    def _diagnostic(self, finding: Finding, suffix: str) -> Any:
        rule = next(rule for rule in RULES if rule.name == finding.rule)
        level = analyzer_pb2.ADVISORY if finding.advisory else self._level(finding.rule + suffix, rule)
        return analyzer_pb2.AnalyzeDiagnostic(
            policyName=finding.rule + suffix,
            policyPackName=PACK,
            policyPackVersion=VERSION,
            description=rule.description,
            message=f"{finding.message}\n{rule.remedy}",
            urn=finding.urn,
            enforcementLevel=cast(Any, level),
            severity=_SEVERITIES[rule.severity],
        )

    def info(self, _request: Any, _: Any) -> Any:
        """The list of policies: each rule once for the whole stack, and once before each write if it has a `check`."""
        found = analyzer_pb2.AnalyzerInfo(
            name=PACK, displayName="hosted-mesh boundary", version=VERSION, supportsConfig=True
        )
        for rule in RULES:
            found.policies.append(_policy(rule, "", analyzer_pb2.POLICY_TYPE_STACK))
            if rule.check:
                found.policies.append(_policy(rule, BEFORE_WRITE, analyzer_pb2.POLICY_TYPE_RESOURCE))
        return found


def _tell(what: str) -> None:
    """The engine prints a pack's standard error."""
    print(f"{SAVED_EVIDENCE}: {what}", file=sys.stderr, flush=True)


def _repeats_inputs(kind: str) -> bool:
    """Outputs of Kubernetes objects repeat their inputs and need no decoding; except a Secret, which may get data from
    its own cluster."""
    return kind.startswith("kubernetes:") and not kind.endswith(":Secret")


def _undecodable(urn: str) -> Finding:
    return Finding("", urn, "", "could not evaluate: its properties are nested more than 32 deep")


def _broken(problem: Exception) -> Finding:
    """A failure outside of a rule: a violation with the exception's type alone."""
    return Finding("", "", "", f"could not evaluate ({type(problem).__name__})")


def _policy(rule: Rule, suffix: str, kind: Any) -> Any:
    policy = analyzer_pb2.PolicyInfo(
        name=rule.name + suffix,
        displayName=rule.title + (" (before each write)" if suffix else ""),
        description=rule.description,
        enforcementLevel=analyzer_pb2.MANDATORY if rule.mandatory else analyzer_pb2.ADVISORY,
        policy_type=kind,
        severity=_SEVERITIES[rule.severity],
        remediation_steps=rule.remedy,
        url=rule.url,
    )
    if rule.schema and not suffix:
        policy.configSchema.properties.update({key: dict(value) for key, value in rule.schema.items()})
    return policy


_LOOK_FOR_THE_ENGINE = 2.0  # seconds between checks of the engine's process
_LONGEST_TURN = 0.0005  # seconds that an answer waits for other work; a tenth of Python's default


def serve() -> None:
    """Serves one engine run; the port goes to standard output for the engine. Ends with the engine.

    The method `Remediate` is missing on purpose: this pack changes no resource, and the engine accepts that. It calls
    the method for each resource, and gRPC's refusal takes half as long as an answer.
    """
    sys.setswitchinterval(_LONGEST_TURN)
    # The engine ends the pack by SIGINT, which is ignored after a script's `pulumi up &`.
    ended = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: ended.set())
    analyzer = Analyzer(dict(os.environ))
    empty = empty_pb2.Empty.FromString
    methods: dict[str, tuple[Any, Any]] = {
        "Handshake": (
            lambda *_: analyzer_pb2.AnalyzerHandshakeResponse(),
            analyzer_pb2.AnalyzerHandshakeRequest.FromString,
        ),
        "GetPluginInfo": (lambda *_: plugin_pb2.PluginInfo(version=VERSION), empty),
        "GetAnalyzerInfo": (analyzer.info, empty),
        "Configure": (analyzer.configure, analyzer_pb2.ConfigureAnalyzerRequest.FromString),
        "ConfigureStack": (analyzer.configure_stack, analyzer_pb2.AnalyzerStackConfigureRequest.FromString),
        "Analyze": (analyzer.analyze, None),
        "AnalyzeStack": (analyzer.analyze_stack, None),
        "Cancel": (lambda *_: empty_pb2.Empty(), empty),
    }
    handlers: dict[str, Any] = {
        name: grpc.unary_unary_rpc_method_handler(
            call, request_deserializer=decode, response_serializer=lambda message: message.SerializeToString()
        )
        for name, (call, decode) in methods.items()
    }
    server = grpc.server(
        futures.ThreadPoolExecutor(max_workers=4),
        options=[
            ("grpc.max_receive_message_length", LARGEST_MESSAGE),
            ("grpc.max_send_message_length", LARGEST_MESSAGE),
        ],
    )
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("pulumirpc.Analyzer", handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    # A killed engine (SIGKILL, out of memory) does not end its pack. It may be gone at any moment after it has read the
    # port; before, the port cannot be written.
    parent = os.getppid()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    while not ended.wait(_LOOK_FOR_THE_ENGINE) and os.getppid() == parent:
        pass
    server.stop(0)
