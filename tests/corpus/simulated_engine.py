"""The corpus without an engine: programs register with a monitor of our own, which judges them as the pack would.

It does what the engine does as far as the pack can see: outputs unknown in a preview, secret outputs marked, providers
resolved, each resource shown before its write, the whole stack at the end. A test on the real engine checks that both
agree (tests/engine/policies).
"""

from __future__ import annotations

import base64
import contextlib
import secrets
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519
from google.protobuf import empty_pb2, json_format, struct_pb2
from hosted_mesh_plan.decode import SECRET, SIGNATURE, from_struct
from hosted_mesh_plan.evidence import Evidence
from hosted_mesh_plan.model import Provider, Resource
from hosted_mesh_plan.tree import UNKNOWN, Secret, plain
from hosted_mesh_policies.evaluation.finding import Finding
from hosted_mesh_policies.evaluation.rule import Rule
from hosted_mesh_policies.evaluation.settings import Settings
from hosted_mesh_policies.pack.session import Session
from hosted_mesh_policies.rules.catalogue import RULES
from pulumi.runtime.proto import resource_pb2

from tests.corpus import literals
from tests.corpus.case import Case
from tests.corpus.world import World
from tests.support.registrations import Registrations
from tests.support.without_engine import perform

UNKNOWN_TEXT = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
SERVERS = {"cp": "https://cp.example.com:6443", "dp": "https://dp.example.com:6443"}
PRODUCER = {
    "token": literals.opaque("producer"),
    "kept": literals.opaque("produced and kept"),
    "host": "istiod.example.com",
}


@dataclass
class Verdict:
    """What was said, when, and what reached the user's cluster by then."""

    preview: list[Finding] = field(default_factory=list)
    before_write: list[Finding] = field(default_factory=list)
    after: list[Finding] = field(default_factory=list)
    written: list[Resource] = field(default_factory=list)


class Monitor(Registrations):
    """Takes registrations as the engine's resource monitor does."""

    def __init__(self, session: Session, state: dict[str, Any], rules: Iterable[Rule]) -> None:
        super().__init__(session.project, session.stack)
        self.session, self.state, self.rules = session, state, tuple(rules)
        self.checks = [rule for rule in self.rules if rule.check]
        self.mandatory = {rule.name for rule in self.rules if rule.mandatory}
        self.found: list[Resource] = []
        self.providers: dict[str, Provider] = {}
        self.refused: list[Finding] = []

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        answer = super().RegisterResource(request)
        if answer.urn == self.stack_urn:
            self.found.append(Resource(answer.urn, request.type, request.name, inputs={}, outputs={}))
        return answer

    def registered(self, urn: str, request: Any) -> tuple[str, struct_pb2.Struct]:
        inputs = checked(request.type, from_struct(request.object))
        provider = self._provider(request) if request.custom and not request.type.startswith("pulumi:") else None
        resource = Resource(
            urn,
            request.type,
            request.name,
            inputs,
            parent=request.parent or None,
            provider=provider,
            dependencies={key: tuple(value.urns) for key, value in request.propertyDependencies.items()},
        )
        said = self.session.before_write(resource, self.checks) if self.rules and not self.refused else []
        self.refused += [finding for finding in said if finding.rule in self.mandatory]
        if self.refused:  # the engine would stop here; the program is let run on, and nothing more is written
            return "refused", request.object
        outputs = self._outputs(urn, request)
        self.found.append(replace(resource, outputs=from_struct(outputs)))
        if resource.is_provider:
            self.providers[urn] = Provider(urn, request.type, request.name, inputs)
        return f"{request.name}-id", outputs

    def _provider(self, request: Any) -> Provider:
        urn = request.provider.rpartition("::")[0]
        if urn in self.providers:
            return self.providers[urn]
        package = request.type.split(":")[0]
        name = f"default_{package}"
        urn = self.make_urn("", f"pulumi:providers:{package}", name)
        return self.providers.setdefault(urn, Provider(urn, f"pulumi:providers:{package}", name, {}))

    def _outputs(self, urn: str, request: Any) -> struct_pb2.Struct:
        """Inputs, and what the provider adds: unknown in the preview of something new."""
        made: dict[str, Any] = json_format.MessageToDict(request.object)
        if request.custom and not request.type.startswith("pulumi:"):
            if urn in self.state:
                added = self.state[urn]
            elif self.session.preview:
                added = dict.fromkeys(
                    made_by_provider(request.type, plain(from_struct(request.object)), preview=True), UNKNOWN_TEXT
                )
            else:
                added = self.state[urn] = made_by_provider(
                    request.type, plain(from_struct(request.object)), preview=False
                )
            made = {**added, **made}
        for key in request.additionalSecretOutputs:
            if key in made and not (isinstance(made[key], dict) and SIGNATURE in made[key]):
                made[key] = {SIGNATURE: SECRET, "value": made[key]}
        return json_format.ParseDict(made, struct_pb2.Struct())

    def ReadResource(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        urn = self.make_urn(request.parent, request.type, request.name)
        secrets = [key for key in PRODUCER if key != "host"]
        outputs = PRODUCER | {key: {SIGNATURE: SECRET, "value": PRODUCER[key]} for key in secrets}
        state = {"name": request.name, "outputs": outputs, "secretOutputNames": secrets}
        struct = json_format.ParseDict(state, struct_pb2.Struct())  # the engine does not show reads to policies
        return resource_pb2.ReadResourceResponse(urn=urn, properties=struct)

    def RegisterResourceOutputs(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        if request.urn == self.stack_urn:
            stack = self.found[0]
            self.found[0] = Resource(stack.urn, stack.type, stack.name, {}, from_struct(request.outputs))
        return empty_pb2.Empty()


def checked(kind: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """Inputs as the kubernetes package passes them on: a Secret's `stringData`, once known, becomes `data`."""
    known = plain(inputs.get("stringData"))
    if kind != "kubernetes:core/v1:Secret" or not isinstance(known, dict) or UNKNOWN in known.values():
        return inputs
    data = {key: Secret(base64.b64encode(str(value).encode()).decode()) for key, value in known.items()}
    return {**{key: value for key, value in inputs.items() if key != "stringData"}, "data": data}


def made_by_provider(kind: str, inputs: Any, *, preview: bool) -> dict[str, Any]:
    """What the tls, random and kubernetes packages add to a resource."""
    if kind.startswith("tls:index/privateKey"):
        return _key()
    if kind.startswith("tls:") and isinstance(inputs, dict):
        with contextlib.suppress(ValueError):  # what is no key gets what stands for a certificate
            if kind.startswith("tls:index/certRequest"):
                return {"certRequestPem": literals.certificate_request(inputs)}
            return {"certPem": literals.certificate_of(inputs)}
    if kind.startswith("tls:index/certRequest"):
        return {"certRequestPem": "-----BEGIN CERTIFICATE REQUEST-----\nMIIB\n-----END CERTIFICATE REQUEST-----\n"}
    if kind.startswith("tls:"):
        return {"certPem": literals.certificate(f"made-{secrets.token_hex(4)}")}
    if kind.startswith("random:index/randomPassword"):
        return {"result": literals.opaque(secrets.token_hex(4)), "bcryptHash": "$2a$10$" + secrets.token_hex(26)}
    if kind.startswith("random:index/randomBytes"):
        made = secrets.token_bytes(32)
        return {"base64": base64.b64encode(made).decode(), "hex": made.hex()}
    if kind.startswith("random:index/randomId"):
        return {"hex": secrets.token_hex(8), "b64Url": secrets.token_urlsafe(8), "dec": str(secrets.randbits(60))}
    if kind == "kubernetes:core/v1:Secret":
        by_cluster = isinstance(inputs, dict) and not inputs.get("stringData") and not inputs.get("data")
        token = literals.service_account_token() if by_cluster and not preview else None
        given = inputs.get("stringData") if isinstance(inputs, dict) else None
        data = {"token": token} if token else given if isinstance(given, dict) else {}
        known = {key: value for key, value in data.items() if value is not UNKNOWN and value != UNKNOWN_TEXT}
        return {"data": {key: base64.b64encode(str(value).encode()).decode() for key, value in known.items()}}
    if kind.startswith("cloudflare:index/apiToken"):
        return {"value": secrets.token_urlsafe(30)}
    if kind.startswith("pulumi-python:"):
        return {"y": secrets.token_hex(20)}
    if kind.startswith("aws:kms/key"):
        return {"arn": f"arn:aws:kms:eu-west-1:407408718192:key/{uuid.uuid4()}", "keyId": str(uuid.uuid4())}
    if kind.startswith("aws:cognito/userPoolClient"):
        return {"clientId": secrets.token_hex(13), "clientSecret": secrets.token_hex(26)}
    if kind.startswith("gcp:container/cluster"):
        files = {
            "clientKey": literals.private_key("gke"),
            "clusterCaCertificate": "# of the cluster\n" + literals.certificate("gke"),
        }
        return {"masterAuth": {name: base64.b64encode(text.encode()).decode() for name, text in files.items()}}
    if kind.startswith("docker"):
        return {"repoDigest": f"registry.example.com/agent@sha256:{secrets.token_hex(32)}"}
    return {"status": {}} if kind.startswith("kubernetes:") else {}


_FORMS = {
    "privateKeyPem": serialization.PrivateFormat.PKCS8,
    "privateKeyPemPkcs8": serialization.PrivateFormat.PKCS8,
    "privateKeyOpenssh": serialization.PrivateFormat.OpenSSH,
}


def _key() -> dict[str, str]:
    made = ed25519.Ed25519PrivateKey.generate()
    texts = {}
    for name, form in _FORMS.items():
        texts[name] = made.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()
    public = made.public_key()
    texts["publicKeyPem"] = public.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    ).decode()
    texts["publicKeyOpenssh"] = public.public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    ).decode()
    return texts


def run(
    program: Callable[[World], Any],
    *,
    preview: bool,
    state: dict[str, Any],
    rules: Iterable[Rule] = RULES,
    evidence: Evidence | None = None,
    stack: str = "corpus",
    more: dict[str, Any] | None = None,
    monitors: Callable[[Session, dict[str, Any], Iterable[Rule]], Monitor] = Monitor,
    worlds: Callable[[str, str], World] = World,
    surroundings: Mapping[str, Any] | None = None,
) -> tuple[list[Finding], list[Finding], Evidence, list[Resource]]:
    """One preview or update: what was refused before a write, what was said at the end, the evidence for the
    update, what is registered. Without rules nobody looks, and there is no evidence. `surroundings` are the stack's
    configuration and the deployer's environment, as a Session has them."""
    rules = tuple(rules)
    config = Settings.read(
        {"x": {"controlPlaneServers": [SERVERS["cp"]], "dataPlaneServers": [SERVERS["dp"]], **(more or {})}}
    )
    session = Session(stack, "hosted-mesh-corpus", preview, settings=config, evidence=evidence, **(surroundings or {}))
    monitor = monitors(session, state, rules)
    kubeconfigs = [literals.kubeconfig(SERVERS[side], literals.opaque(side, 40)) for side in ("cp", "dp")]
    names = {"project": "hosted-mesh-corpus", "stack": stack}
    perform(lambda: program(worlds(*kubeconfigs)), monitor, **names, preview=preview)
    if monitor.refused or not rules:
        return monitor.refused, [], Evidence(), monitor.found
    said, kept = session.at_end(monitor.found, rules)
    return [], said, kept, monitor.found


def simulate(case: Case, rules: Iterable[Rule] = RULES) -> Verdict:
    """A preview, then, if nothing mandatory was said, the update."""
    rules = tuple(rules)
    mandatory = {rule.name for rule in rules if rule.mandatory}
    state: dict[str, Any] = {}
    if case.before:
        run(case.before, preview=False, state=state, rules=(), stack=case.stack)
    _, said, evidence, found = run(case.program, preview=True, state=state, rules=rules, stack=case.stack)
    verdict = Verdict(preview=[finding for finding in said if finding.rule in mandatory])
    if not verdict.preview:
        refused, said, _, found = run(
            case.program, preview=False, state=state, rules=rules, evidence=evidence, stack=case.stack
        )
        verdict.before_write = [finding for finding in refused if finding.rule in mandatory]
        verdict.after = [finding for finding in said if finding.rule in mandatory]
        verdict.written = found
    return verdict
