"""Stands in for the engine's resource monitor: takes registrations down, answers what providers would.

Its methods take the protocol's messages; `grpc_server` serves them to a process, and tests call them in their own.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import grpc
import yaml
from google.protobuf import empty_pb2
from pulumi.runtime.proto import provider_pb2, resource_pb2

from ... import vocabulary
from ...plan.model import PROVIDER_PREFIX, REFERENCE_TYPE, STACK_TYPE
from ..capture import Capture, Registered
from ..places import Known, Place, Places, Side
from ..secrets.credentials import of_stack, with_other_credentials
from ..secrets.keys import UnusableKeyError
from ..secrets.made_up import Answers
from ..secrets.vault import Owner, Source, Vault, World
from ..values import answered, leaves, plain, secret, struct_of, tree_of
from .aliases import aliases, make_urn
from .outputs import CHARTS, Wanted, new_id, outputs

DECLARED: Final = "hosted-mesh:declared-outputs"
"""Input by which the started program tells what a class declares (`declared`)."""
RESOURCE_BY_URN: Final = "pulumi:pulumi:getResource"
STACK_OUTPUT: Final = "hosted-mesh:prove:stackOutput"
FILE: Final = "hosted-mesh:prove:file"
DRAW: Final = "hosted-mesh:prove:draw"
DRAWN: Final = "random bytes drawn in "
"""How the sources of what the program draws for itself are called, before the place in it."""
NOTE: Final = "hosted-mesh:prove:note"
SWITCHES: Final = ("protect", "retainOnDelete", "deleteBeforeReplace")
LISTS: Final = ("ignoreChanges", "replaceOnChanges")
"""Options of a resource that say how it is changed."""
IS_READ: Final = {"(read)": True}
IS_TRIED: Final = {"(tried)": True}
"""Stand among the options of what no update makes: of what is read only, and of objects that a chart might render."""
_META: Final = {"metadata": {"name": "tried", "namespace": "default"}}
RENDERED: Final[Mapping[str, Mapping[str, Any]]] = {
    "core/v1:ConfigMap": {"apiVersion": "v1", "kind": "ConfigMap", **_META, "data": {"tried": "tried"}},
    "core/v1:Secret": {"apiVersion": "v1", "kind": "Secret", **_META, "stringData": {"tried": "tried"}},
    "core/v1:Service": {"apiVersion": "v1", "kind": "Service", **_META, "spec": {"selector": {"app": "tried"}}},
    "apps/v1:Deployment": {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        **_META,
        "spec": {
            "template": {
                **_META,
                "spec": {
                    "containers": [{"name": "tried", "image": "tried", "args": [], "env": [], "volumeMounts": []}],
                    "volumes": [],
                    "serviceAccountName": "tried",
                },
            }
        },
    },
}
"""What a chart might render, for its transforms to be tried on."""


@dataclass(frozen=True)
class Surroundings:
    """What a program is run in, the same for all runs.

    stack_outputs: by stack, what `pulumi stack output --json` prints of it; "[secret]" stands for a secret, and a
    kubeconfig is one.
    keep: functions, and types and names of resources, of which somebody says that no secret is in them.
    """

    project: str = "project"
    stack: str = "stack"
    known: Known = field(default_factory=Known)
    stack_outputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    keep: Sequence[str] = ()


class Monitor:
    """One run's monitor. `capture` is filled while the program runs."""

    def __init__(self, surroundings: Surroundings, vault: Vault, world: World) -> None:
        self.surroundings, self.vault, self.world = surroundings, vault, world
        self.answers = Answers(vault, world)
        self.places = Places(surroundings.known)
        self.capture = Capture(places=self.places)
        self.transform: Callable[[Any], Any] = lambda request: request
        self.stack_transforms: list[Any] = []
        self._lock = threading.RLock()
        self.resources: dict[str, dict[str, Any]] = {}
        self.aliases: dict[str, tuple[str, ...]] = {}

    # What the SDK calls --------------------------------------------------------------------------------------------

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        request = self.transform(request)
        urn = self.make_urn(request.parent, request.type, request.name)
        if request.type == STACK_TYPE:
            return resource_pb2.RegisterResourceResponse(urn=urn)
        with self._lock:
            self.aliases[urn] = aliases(request, urn, self.aliases.get(request.parent, ()))
            identity, made = self.register(urn, request, tree_of(request.object))
        if request.type in CHARTS and (request.transforms or self.stack_transforms):
            self._try_transforms(urn, request)
        return resource_pb2.RegisterResourceResponse(urn=urn, id=identity, object=struct_of(made))

    def ReadResource(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        urn = self.make_urn(request.parent, request.type, request.name)
        with self._lock:
            inputs = tree_of(request.properties)
            declared = inputs.pop(DECLARED, {})
            place = self._place(request.type, request.provider, {})
            if place is not None:
                self._take(Registered(urn, request.type, request.name, {"id": request.id}, place, options=IS_READ))
            source = source_of(urn, request.type, place)
            found = self._outputs(Wanted(urn, request.type, inputs, declared, source, id_read=str(request.id)))
            if request.type != REFERENCE_TYPE:
                self.capture.remarks.append(f"{request.type} {request.name}: what it reads is made up")
        return resource_pb2.ReadResourceResponse(urn=urn, properties=struct_of(found))

    def RegisterResourceOutputs(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        if f"::{STACK_TYPE}::" in request.urn:
            self.capture.outputs = tree_of(request.outputs)
        return empty_pb2.Empty()

    def Invoke(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        given = tree_of(request.args)
        form = given.pop(DECLARED, {})
        with self._lock:
            result = self._invoke(request.tok, plain(given))
            if result is None:
                result = self._function(request, given, form)
        fields: Any = {"return": struct_of(result)}  # a word of Python's
        return resource_pb2.ResourceInvokeResponse(**fields)

    def Call(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        self._note(f"method {request.tok}: no provider is there to run it; its result is empty", request.tok)
        return provider_pb2.CallResponse()

    def SupportsFeature(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        return resource_pb2.SupportsFeatureResponse(hasSupport=request.id != "outputValues")

    def GetDeploymentInfo(self, request: Any) -> Any:  # noqa: N802, ARG002 the protocol's name
        features = ("SECRETS", "RESOURCE_REFERENCES", "ALIAS_SPECS", "DELETED_WITH", "TRANSFORMS", "INVOKE_TRANSFORMS")
        more = ("PARAMETERIZATION", "RESOURCE_HOOKS", "ERROR_HOOKS", "REPLACE_WITH", "REPLACEMENT_TRIGGER")
        return resource_pb2.DeploymentInfo(
            supportedFeatures=[getattr(resource_pb2, f"RESOURCE_MONITOR_FEATURE_{name}") for name in features + more]
        )

    def RegisterPackage(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        return resource_pb2.RegisterPackageResponse(ref=f"{request.name}")

    def RegisterStackTransform(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        self.stack_transforms.append(request)
        return empty_pb2.Empty()

    def RegisterStackInvokeTransform(self, request: Any) -> Any:  # noqa: N802, ARG002 the protocol's name
        self._note("a transform of function calls was not run")
        return empty_pb2.Empty()

    def RegisterResourceHook(self, request: Any) -> Any:  # noqa: N802, ARG002 the protocol's name
        self._note("resource hooks were not run")
        return empty_pb2.Empty()

    RegisterErrorHook = RegisterResourceHook

    def SignalAndWaitForShutdown(self, request: Any) -> Any:  # noqa: N802, ARG002 the protocol's name
        return empty_pb2.Empty()

    # What is done with it ------------------------------------------------------------------------------------------

    def make_urn(self, parent: str, type_: str, name: str) -> str:
        return make_urn(self.surroundings.stack, self.surroundings.project, parent, type_, name)

    def register(self, urn: str, request: Any, inputs: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Takes a resource down. Returns its id and its outputs."""
        declared = inputs.pop(DECLARED, {})
        known = plain(inputs)
        if request.type.startswith(PROVIDER_PREFIX):
            self.places.add_provider(urn, request.type.rpartition(":")[2], request.name, known)
            there = self.places.by_provider[urn]
            others = self.aliases.get(urn, ())
            self.capture.providers[urn] = Registered(urn, request.type, request.name, inputs, there, aliases=others)
            return f"{request.name}-id", answered(inputs)
        if not request.custom and not request.remote:
            return "", inputs
        place = self._place(request.type, request.provider, dict(request.providers))
        asked = dict(inputs)
        if request.importId:
            asked["(import id)"] = request.importId
        told, others = options_of(request), self.aliases.get(urn, ())
        self._take(Registered(urn, request.type, request.name, asked, place, options=told, aliases=others))
        if request.type in CHARTS:
            what = "was not rendered; what it is given is compared"
            self.capture.remarks.append(f"{request.type} {request.name}: {what}")
        elif request.remote:
            what = "a component of another package, of which nobody ran the inside"
            self._note(f"{request.type} {request.name}: {what}", request.type, request.name)
        elif request.type.startswith("pulumi-python:"):
            what = "a dynamic provider's code was not run"
            self._note(f"{request.type} {request.name}: {what}", request.type, request.name)
        try:
            # What has another name has the secrets that it had.
            source = replace(source_of(urn, request.type, place), id=others[0] if others else urn)
            secrets = tuple(request.additionalSecretOutputs)
            made = self._outputs(Wanted(urn, request.type, inputs, declared, source, secrets))
        except UnusableKeyError as problem:
            self.capture.problems.append(f"{request.type} {request.name}: {problem}")
            made = answered(inputs)
        identity = str(plain(made.get("id") or new_id(request.type, request.name)))
        self.resources[urn] = {"urn": urn, "id": identity, "state": made}
        return identity, made

    def _take(self, resource: Registered) -> None:
        self.capture.resources[resource.urn] = resource

    def _place(self, kind: str, provider: str, providers: Mapping[str, str]) -> Place | None:
        package = kind.split(":", maxsplit=1)[0]
        if package == "pulumi-python":
            return Place(Side.UNKNOWN, "a dynamic provider")
        reference = provider or providers.get(package, "")
        return self.places.place_of(kind, reference.rpartition("::")[0])

    def _note(self, text: str, *names: str) -> None:
        self.capture.tell(text, {*names}, self.surroundings.keep)

    def _try_transforms(self, urn: str, request: Any) -> None:
        """Runs the transforms of what a chart renders on objects that it might render: what they add is compared."""
        for kind, body in RENDERED.items():
            tried = resource_pb2.RegisterResourceRequest(
                type=f"kubernetes:{kind}",
                name=f"{request.name} (tried)",
                parent=urn,
                custom=True,
                object=struct_of(body),
                transforms=request.transforms,
            )
            try:
                tried = self.transform(tried)
            except grpc.RpcError:  # its message may hold a value
                self._note(f"{request.type} {request.name}: its transforms end with an error for a made-up {kind}")
                continue
            with self._lock:
                place = self._place(request.type, request.provider, dict(request.providers))
                inputs = tree_of(tried.object)
                inputs.pop(DECLARED, None)
                made = self.make_urn(urn, tried.type, tried.name)
                self._take(Registered(made, tried.type, tried.name, inputs, place, options=IS_TRIED))

    def _outputs(self, wanted: Wanted) -> dict[str, Any]:
        if wanted.kind == REFERENCE_TYPE:
            return self.stack(str(wanted.id_read or plain(wanted.inputs).get("name") or wanted.name))
        return outputs(self.answers, wanted)

    def stack(self, name: str) -> dict[str, Any]:
        """What a reference to another stack has."""
        given = self.surroundings.stack_outputs.get(name, {})
        made = {key: secret(value) for key, value in of_stack(name, given, self.answers).items()}
        found = {**given, **made}
        marked = [key for key, value in found.items() if any(leaf.secret for _, leaf in leaves(value))]
        return {"name": name, "outputs": found, "secretOutputNames": marked}

    def _invoke(self, token: str, args: Mapping[str, Any]) -> dict[str, Any] | None:
        """The answer of a function that needs no provider; None for any other."""
        if token == RESOURCE_BY_URN:
            return self.resources.get(str(args["urn"])) or {"urn": args["urn"], "id": "", "state": {}}
        if token == STACK_OUTPUT:
            return {"value": self.answers.stack_output(str(args["stack"]), str(args["name"]))}
        if token == DRAW:
            source = Source(str(args["name"]), str(args["name"]), weak=True)
            size = int(args["size"])
            return {"hex": self.answers.value(source, f"{size} bytes", lambda chance: chance.randbytes(size).hex())}
        if token == NOTE:
            self._note(str(args["text"]))
            return {}
        if token == FILE:
            text, name = str(args["text"]), str(args["name"])
            # Two files may have one name, and one file two versions.
            version = hashlib.sha256(text.encode()).hexdigest()
            return {"text": with_other_credentials(text, name, self.answers, version=version)}
        if token == "kubernetes:yaml:decode":  # noqa: S105 a function's name
            return {"result": [one for one in yaml.safe_load_all(str(args.get("text", ""))) if one]}
        return None

    def _function(self, request: Any, args: Mapping[str, Any], form: Mapping[str, Any]) -> dict[str, Any]:
        """What a provider's function answers, by what the program's class for it declares."""
        self._note(f"function {request.tok}: no provider is there to run it; what it answers is made up", request.tok)
        place = self._place(request.tok, request.provider, {})
        asked = [(path, "" if leaf.secret else leaf.value) for path, leaf in leaves(args)]
        source = Source(f"{request.tok} {asked}", f"function {request.tok}", Owner.PLACE, place.name if place else "")
        return self.answers.answer(source, form)


def options_of(request: Any) -> dict[str, Any]:
    """What a program tells the engine to do with a resource, without what is as it is by default."""
    found: dict[str, Any] = {name: True for name in SWITCHES if getattr(request, name)}
    return found | {name: list(told) for name in LISTS if (told := getattr(request, name))}


def source_of(urn: str, kind: str, place: Place | None) -> Source:
    """Whose a resource's secrets are, as far as that can be told from where it stands."""
    types = set(urn.split("::")[2].split("$")[:-1])
    owner, where = Owner.FREE, ""
    if types & vocabulary.CONTROL_PLANE_TYPES:
        owner = Owner.CONTROL_PLANE
    elif types & vocabulary.DATA_PLANE_TYPES:
        owner = Owner.DATA_PLANES
    elif place is not None:
        owner, where = Owner.PLACE, place.name
    name = f"{kind.rpartition(':')[2]} {urn.rpartition('::')[2]}"
    return Source(urn, name, owner, where, weak="randomString" in kind)
