"""Replaces the engine's resource monitor: records registrations, and answers in place of providers.

Its methods take the protocol's messages; `grpc_server` serves them to a process, and tests call them directly.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import grpc
import yaml
from google.protobuf import empty_pb2
from hosted_mesh_plan import vocabulary
from hosted_mesh_plan.model import PROVIDER_PREFIX, REFERENCE_TYPE, STACK_TYPE
from pulumi.runtime.proto import provider_pb2, resource_pb2

from ..capture import Capture, Registered
from ..charts import RENDERED as RENDERED_CHARTS
from ..charts import Charts, UnrenderedError, marked, name_in, secrets_in, token_of
from ..places import Known, Place, Places, Side
from ..secrets.credentials import of_stack, with_other_credentials
from ..secrets.generator import Owner, SecretGenerator, SecretVariant, Source
from ..secrets.keys import UnusableKeyError
from ..secrets.made_up import Answers
from ..values import answered, leaves, plain, secret, struct_of, tree_of
from .aliases import aliases, make_urn
from .outputs import CHARTS, Wanted, new_id, outputs

DECLARED: Final = "hosted-mesh:declared-outputs"
"""Input with a class's declarations from the started program (`declared`)."""
RESOURCE_BY_URN: Final = "pulumi:pulumi:getResource"
STACK_OUTPUT: Final = "hosted-mesh:prove:stackOutput"
FILE: Final = "hosted-mesh:prove:file"
DRAW: Final = "hosted-mesh:prove:draw"
DRAWN: Final = "random bytes drawn in "
"""First part of the names of the program's own random sources, before their place in it."""
NOTE: Final = "hosted-mesh:prove:note"
TRACE: Final = "hosted-mesh:diff:trace"
SWITCHES: Final = ("protect", "retainOnDelete", "deleteBeforeReplace")
HOOKS: Final = ("before_create", "after_create", "before_update", "after_update", "on_error")
"""Hooks that a run may have to do with; those of a deletion have nothing to do with what a program registers."""
LISTS: Final = ("ignoreChanges", "replaceOnChanges")
"""A resource's options about changes."""
IS_READ: Final = {"(read)": True}
IS_TRIED: Final = {"(tried)": True}
"""Options of resources that no update makes: read ones, and possible objects of a chart."""
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
"""Possible objects of a chart, to try its transforms on."""


@dataclass(frozen=True)
class RunOptions:
    """The settings of a program, the same for all runs.

    stack_outputs: by stack, the output of `pulumi stack output --json`; "[secret]" is a secret, and so is a kubeconfig.
    keep: functions, and types and names of resources, that are declared free of secrets. charts: renders charts; None
    to compare their inputs alone. directory: the program's.
    """

    project: str = "project"
    stack: str = "stack"
    known: Known = field(default_factory=Known)
    stack_outputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    keep: Sequence[str] = ()
    charts: Charts | None = None
    directory: Path = Path()


class Monitor:
    """One run's monitor. `capture` is filled while the program runs."""

    def __init__(self, run_options: RunOptions, generator: SecretGenerator, world: SecretVariant) -> None:
        self.run_options, self.generator, self.world = run_options, generator, world
        self.answers = Answers(generator, world)
        self.places = Places(run_options.known)
        self.capture = Capture(places=self.places)
        self.transform: Callable[[Any], Any] = lambda request: request
        self.stack_transforms: list[Any] = []
        self._lock = threading.RLock()
        self.resources: dict[str, dict[str, Any]] = {}
        self.aliases: dict[str, tuple[str, ...]] = {}

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        request = self.transform(request)
        if any(getattr(request.hooks, name) for name in HOOKS):
            self._note("resource hooks were not run")
        urn = self.make_urn(request.parent, request.type, request.name)
        if request.type == STACK_TYPE:
            return resource_pb2.RegisterResourceResponse(urn=urn)
        with self._lock:
            self.aliases[urn] = aliases(request, urn, self.aliases.get(request.parent, ()))
            identity, made = self.register(urn, request, tree_of(request.object))
        if request.type in CHARTS and not self._render(urn, request):
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
                self.capture.remarks.append(f"{request.type} {request.name}: its reads return made-up values")
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
        fields: Any = {"return": struct_of(result)}  # a keyword of Python
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
        return empty_pb2.Empty()

    RegisterErrorHook = RegisterResourceHook

    def SignalAndWaitForShutdown(self, request: Any) -> Any:  # noqa: N802, ARG002 the protocol's name
        return empty_pb2.Empty()

    def make_urn(self, parent: str, type_: str, name: str) -> str:
        return make_urn(self.run_options.stack, self.run_options.project, parent, type_, name)

    def register(self, urn: str, request: Any, inputs: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Records a resource. Returns its id and its outputs."""
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
        needed = {name: tuple(one.urns) for name, one in request.propertyDependencies.items()}
        provider = self._provider(request.type, request.provider, dict(request.providers))
        self._take(
            Registered(
                urn,
                request.type,
                request.name,
                asked,
                place,
                options=told,
                aliases=others,
                provider=provider,
                dependencies=needed,
            )
        )
        if request.remote and request.type not in CHARTS:  # `_render` has a remark on charts
            what = "a component of another package; its own resources were not run"
            self._note(f"{request.type} {request.name}: {what}", request.type, request.name)
        elif request.type.startswith("pulumi-python:"):
            what = "a dynamic provider's code was not run"
            self._note(f"{request.type} {request.name}: {what}", request.type, request.name)
        try:
            # A renamed resource keeps its secrets.
            source = replace(source_of(urn, request.type, place), id=others[0] if others else urn)
            secrets = tuple(request.additionalSecretOutputs)
            made = self._outputs(Wanted(urn, request.type, inputs, declared, source, secrets))
        except UnusableKeyError as problem:
            self.capture.problems.append(f"{request.type} {request.name}: {problem}")
            made = answered(inputs)
        identity = str(plain(made.get("id") or new_id(request.type, request.name)))
        self.capture.answers[urn] = made
        self.resources[urn] = {"urn": urn, "id": identity, "state": made}
        return identity, made

    def _take(self, resource: Registered) -> None:
        self.capture.resources[resource.urn] = resource

    def _place(self, kind: str, provider: str, providers: Mapping[str, str]) -> Place | None:
        package = kind.split(":", maxsplit=1)[0]
        if package == "pulumi-python":
            return Place(Side.UNKNOWN, "a dynamic provider")
        return self.places.place_of(kind, self._provider(kind, provider, providers))

    def _provider(self, kind: str, provider: str, providers: Mapping[str, str]) -> str:
        """The URN of a resource's provider; empty for the default one."""
        return (provider or providers.get(kind.split(":", maxsplit=1)[0], "")).rpartition("::")[0]

    def _note(self, text: str, *names: str) -> None:
        self.capture.tell(text, {*names}, self.run_options.keep)

    def _render(self, urn: str, request: Any) -> bool:
        """Records the objects of a chart, each after the chart's transforms. Returns False if it cannot be rendered."""
        options = self.run_options
        what = "was not rendered; its inputs are compared"
        if options.charts is None or request.type not in RENDERED_CHARTS:
            self.capture.remarks.append(f"{request.type} {request.name}: {what}")
            return False
        inputs = tree_of(request.object)
        inputs.pop(DECLARED, None)
        if chart := options.charts.place(inputs, options.directory):
            self.capture.chart_places.add(chart)
        if options.charts.only_found:
            return True
        try:
            objects = options.charts.render(request.name, inputs, options.directory)
        except UnrenderedError as problem:
            self.capture.remarks.append(f"{request.type} {request.name}: {what} ({problem})")
            return False
        secrets = secrets_in(inputs)
        provider = self._provider(request.type, request.provider, dict(request.providers))
        needed = {"": tuple(one for each in request.propertyDependencies.values() for one in each.urns)}
        prefix = str(plain(inputs).get("resourcePrefix") or request.name)
        for one in objects:
            name = name_in(prefix, one)
            kind = token_of(one)
            done = self._transformed(urn, request, kind, name, one, f"a transform ends with an error for {kind} {name}")
            if done is None:
                continue
            made, changed = done
            with self._lock:
                place = self._place(request.type, request.provider, dict(request.providers))
                child = self.make_urn(urn, made.type, name)
                # After the transforms: the SDK marks whole properties of a mapping with a secret in it.
                inputs_of_child = marked(changed, secrets)
                self._take(
                    Registered(
                        child,
                        made.type,
                        name,
                        inputs_of_child,
                        place,
                        chart=request.name,
                        provider=provider,
                        dependencies=needed,
                    )
                )
        return True

    def _try_transforms(self, urn: str, request: Any) -> None:
        """Runs a chart's transforms on possible objects of it: their additions are compared."""
        if not (request.transforms or self.stack_transforms):
            return
        for kind, body in RENDERED.items():
            name, problem = f"{request.name} (tried)", f"its transforms end with an error for a made-up {kind}"
            done = self._transformed(urn, request, f"kubernetes:{kind}", name, body, problem)
            if done is None:
                continue
            tried, inputs = done
            with self._lock:
                place = self._place(request.type, request.provider, dict(request.providers))
                made = self.make_urn(urn, tried.type, tried.name)
                self._take(Registered(made, tried.type, tried.name, inputs, place, options=IS_TRIED))

    def _transformed(
        self, urn: str, request: Any, kind: str, name: str, body: Mapping[str, Any], problem: str
    ) -> tuple[Any, dict[str, Any]] | None:
        """An object of a chart after the chart's transforms, and its inputs; None, with a note, if one ends with an
        error."""
        made = resource_pb2.RegisterResourceRequest(
            type=kind, name=name, parent=urn, custom=True, object=struct_of(body), transforms=request.transforms
        )
        try:
            made = self.transform(made)
        except grpc.RpcError:  # its message may hold a value
            self._note(f"{request.type} {request.name}: {problem}")
            return None
        inputs = tree_of(made.object)
        inputs.pop(DECLARED, None)
        return made, inputs

    def _outputs(self, wanted: Wanted) -> dict[str, Any]:
        if wanted.kind == REFERENCE_TYPE:
            return self.stack(str(wanted.id_read or plain(wanted.inputs).get("name") or wanted.name))
        return outputs(self.answers, wanted)

    def stack(self, name: str) -> dict[str, Any]:
        """The outputs of a stack reference."""
        given = self.run_options.stack_outputs.get(name, {})
        made = {key: secret(value) for key, value in of_stack(name, given, self.answers).items()}
        found = {**given, **made}
        marked = [key for key, value in found.items() if any(leaf.secret for _, leaf in leaves(value))]
        return {"name": name, "outputs": found, "secretOutputNames": marked}

    def _invoke(self, token: str, args: Mapping[str, Any]) -> dict[str, Any] | None:
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
        if token == TRACE:
            self.capture.trace = plain(args)
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
        """The answer of a provider's function, in the form that the program's class declares."""
        self._note(f"function {request.tok}: no provider is there to run it; its answer is made up", request.tok)
        place = self._place(request.tok, request.provider, {})
        asked = [(path, "" if leaf.secret else leaf.value) for path, leaf in leaves(args)]
        source = Source(f"{request.tok} {asked}", f"function {request.tok}", Owner.PLACE, place.name if place else "")
        return self.answers.answer(source, form)


def options_of(request: Any) -> dict[str, Any]:
    """A resource's options for the engine, without defaults."""
    found: dict[str, Any] = {name: True for name in SWITCHES if getattr(request, name)}
    return found | {name: list(told) for name in LISTS if (told := getattr(request, name))}


def source_of(urn: str, kind: str, place: Place | None) -> Source:
    """The owner of a resource's secrets, as far as its place shows."""
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
