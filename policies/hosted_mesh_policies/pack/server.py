"""The policy pack as the engine talks to it: Pulumi's analyzer protocol, spoken directly.

Pulumi's Python policy SDK would do, and `sdk` offers the same rules to packs made with it. But it decodes
every resource again for every policy, drops the secret marks, and turns a policy that touches an unknown into an
advisory one. Here each message is decoded once, marks and unknowns are kept, and nothing ends in silence.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent import futures
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, cast

import grpc
from google.protobuf import empty_pb2
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError

from ..configuration import BEFORE_WRITE, UnusableConfigurationError, check
from ..evaluation.finding import Finding, Severity
from ..evaluation.rule import Rule
from ..evaluation.settings import Settings
from ..plan.decode import from_struct
from ..plan.evidence import Evidence
from ..plan.model import Provider, Resource
from ..rules.catalogue import RULES
from . import engine
from .preview_evidence import Bond, UnusableEvidenceError, load, note_path, read_note, save, write_note
from .protocol import analyzer_pb2, plugin_pb2
from .session import Session
from .work_ahead import WorkAhead

PACK: Final = "hosted-mesh"
VERSION: Final = "0.1.0"
SAVED_EVIDENCE: Final = "HOSTED_MESH_EVIDENCE"
"""Environment variable: a file that a preview writes and an update elsewhere reads, relative to where pulumi runs."""
PROGRAM: Final = "HOSTED_MESH_PROGRAM"
"""Environment variable: what tells the program from others, a commit for one, in place of its files."""
LARGEST_MESSAGE: Final = 400 * 1024 * 1024
_SEVERITIES: Final = {
    Severity.LOW: analyzer_pb2.POLICY_SEVERITY_LOW,
    Severity.MEDIUM: analyzer_pb2.POLICY_SEVERITY_MEDIUM,
    Severity.HIGH: analyzer_pb2.POLICY_SEVERITY_HIGH,
    Severity.CRITICAL: analyzer_pb2.POLICY_SEVERITY_CRITICAL,
}


def fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The length-delimited fields of a protobuf message, not descending into them. Lets a request be decoded resource
    by resource: protobuf refuses messages nested more than 100 deep, and one such resource must not hide the others.
    """
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
        self.session = Session(ambient=ambient, work_ahead=WorkAhead())
        self.levels: dict[str, int] = {}
        self._lock = threading.Lock()
        self._providers: dict[bytes, Provider] = {}

    def configure_stack(self, request: Any, _: Any) -> Any:
        session = self.session
        session.stack, session.project, session.preview = request.stack, request.project, request.dry_run
        session.config, session.secret_config_keys = dict(request.config), frozenset(request.config_secret_keys)
        return analyzer_pb2.AnalyzerStackConfigureResponse()

    def configure(self, request: Any, call: Any) -> Any:
        """What does not fit ends the run. A policy that there is not comes here if it has a level; without one the
        engine ends the run itself."""
        self.levels = {name: config.enforcementLevel for name, config in request.policyConfig.items()}
        given = {name: MessageToDict(config.properties) for name, config in request.policyConfig.items()}
        try:
            check(given)
        except UnusableConfigurationError as problem:
            call.abort(grpc.StatusCode.INVALID_ARGUMENT, f"--policy-pack-config: {problem}")
        self.session.settings = Settings.read(given)
        return empty_pb2.Empty()

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
            except Exception as problem:  # whose text may quote a value, and gRPC would pass it on
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
            response = analyzer_pb2.AnalyzeResponse()
            response.diagnostics.extend(self._diagnostic(finding, "") for finding in found)
            return response

    @cached_property
    def _shown(self) -> Evidence | None:
        """What a preview showed. Looked for at an update's first resource: its settings come after its stack."""
        session = self.session
        found = read_note(note_path(session.stack, session.project))
        return self._load() if found is None else found

    def _saved(self) -> tuple[Path, Bond] | None:
        """The file of evidence, and what it is bound to. Raises: UnusableEvidenceError if the program is unknown."""
        session = self.session
        name = session.ambient.get(SAVED_EVIDENCE)
        if not name:
            return None
        working = engine.folder() or Path()
        path = working / name
        program = session.ambient.get(PROGRAM) or engine.program(working, path)
        if program is None:
            raise UnusableEvidenceError(f"the program's files cannot be read; set {PROGRAM} to its commit")
        off = sorted(rule.name for rule in RULES if not self._is_on(rule.name, rule))
        told = json.dumps({"off": off, "settings": asdict(session.settings)})
        return path, Bond({**session.config, "": f"{session.project}/{session.stack}"}, program, told)

    def _save(self, evidence: Evidence) -> None:
        try:
            if saved := self._saved():
                path, bond = saved
                save(path, evidence, bond)
        except OSError as problem:
            _tell(f"cannot be written ({problem.strerror})")
        except UnusableEvidenceError as problem:
            _tell(f"is not written: {problem}")

    def _load(self) -> Evidence | None:
        try:
            return load(*saved) if (saved := self._saved()) else None
        except UnusableEvidenceError as problem:
            _tell(f"counts as none: {problem}")
            return None

    def _resource(self, data: bytes, message: Any) -> Resource | str:
        """A resource from its message; its URN alone when the message is nested too deeply to decode."""
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
        """Every resource repeats its provider, kubeconfig and all, so that decoding one is worth keeping."""
        key = message.SerializeToString()
        if key not in self._providers:
            self._providers[key] = Provider(message.urn, message.type, message.name, from_struct(message.properties))
        return self._providers[key]

    def _is_on(self, name: str, rule: Rule) -> bool:
        return self._level(name, rule) != analyzer_pb2.DISABLED

    def _level(self, name: str, rule: Rule) -> int:
        """To the engine a rule that also runs before each write is two policies. A level that is given to one of them
        holds for both, unless the other has one too."""
        default = analyzer_pb2.MANDATORY if rule.mandatory else analyzer_pb2.ADVISORY
        twin = name.removesuffix(BEFORE_WRITE) if name.endswith(BEFORE_WRITE) else name + BEFORE_WRITE
        levels = (self.levels.get(name, default), self.levels.get(twin, default))
        return next((level for level in levels if level != default), default)

    def _unseen(self, rules: Sequence[Rule], suffix: str, finding: Finding) -> list[Finding]:
        """What no rule could look at is told by one of the strictest: a level that was lowered for another must not
        let it pass."""
        strictest = sorted(rules, key=lambda rule: self._level(rule.name + suffix, rule) != analyzer_pb2.MANDATORY)
        return [replace(finding, rule=rule.name) for rule in strictest[:1]]

    def _diagnostic(self, finding: Finding, suffix: str) -> Any:
        rule = next(rule for rule in RULES if rule.name == finding.rule)
        return analyzer_pb2.AnalyzeDiagnostic(
            policyName=finding.rule + suffix,
            policyPackName=PACK,
            policyPackVersion=VERSION,
            description=rule.description,
            message=f"{finding.message}\n{rule.remedy}",
            urn=finding.urn,
            enforcementLevel=cast(Any, self._level(finding.rule + suffix, rule)),
            severity=_SEVERITIES[rule.severity],
        )

    def info(self, _request: Any, _: Any) -> Any:
        """The list of policies: each rule once for the whole stack, and once before each write if it can speak then."""
        found = analyzer_pb2.AnalyzerInfo(
            name=PACK, displayName="hosted-mesh boundary", version=VERSION, supportsConfig=True
        )
        for rule in RULES:
            found.policies.append(_policy(rule, "", analyzer_pb2.POLICY_TYPE_STACK))
            if rule.check:
                found.policies.append(_policy(rule, BEFORE_WRITE, analyzer_pb2.POLICY_TYPE_RESOURCE))
        return found


def _tell(what: str) -> None:
    """The engine shows what a pack writes to standard error."""
    print(f"{SAVED_EVIDENCE}: {what}", file=sys.stderr, flush=True)


def _repeats_inputs(kind: str) -> bool:
    """Kubernetes objects answer with what was asked, so decoding the answer again would tell nothing; but a Secret may
    get data from its own cluster."""
    return kind.startswith("kubernetes:") and not kind.endswith(":Secret")


def _undecodable(urn: str) -> Finding:
    return Finding("", urn, "", "could not evaluate: its properties are nested more than 32 deep")


def _broken(problem: Exception) -> Finding:
    """What is left when something breaks outside of a rule: a violation that names the kind of the exception alone."""
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


_LOOK_FOR_THE_ENGINE = 2.0  # seconds between two looks whether it still lives
_LONGEST_TURN = 0.0005  # seconds that an answer waits for the work ahead; Python's own default is ten times as long


def serve() -> None:
    """Serves one engine run; the port goes to standard output, as the engine expects. Ends with the engine.

    There is no method `Remediate` on purpose: this pack changes no resource, and to the engine a pack without the
    method is one with nothing to change. It asks for each resource, and a refusal takes gRPC half as long as an answer.
    """
    sys.setswitchinterval(_LONGEST_TURN)
    # The engine ends the pack by SIGINT, which a script's `pulumi up &` starts it with ignored.
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
    # An engine that is killed (SIGKILL, out of memory) tells nobody, and its pack would stay for ever. Once it has read
    # the port it may be gone at any moment; before, the port cannot be written.
    parent = os.getppid()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    while not ended.wait(_LOOK_FOR_THE_ENGINE) and os.getppid() == parent:
        pass
    server.stop(0)
