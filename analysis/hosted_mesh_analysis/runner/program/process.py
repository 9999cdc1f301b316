"""One run: a gRPC monitor in this process, the unmodified program in another."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Collection, Mapping, Sequence
from concurrent import futures
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import grpc
import hosted_mesh_plan
from google.protobuf import empty_pb2
from hosted_mesh_plan.vocabulary import ANALYSIS_VARIABLE
from pulumi.runtime.proto import (
    callback_pb2,
    callback_pb2_grpc,
    engine_pb2,
    engine_pb2_grpc,
    resource_pb2,
    resource_pb2_grpc,
)

from ..capture import Capture
from ..commands import Commands, Done
from ..secrets.credentials import environment, replaced, with_other_credentials
from ..secrets.forms import holds_credential
from ..secrets.generator import SecretGenerator, SecretVariant
from ..secrets.made_up import Answers
from .monitor import Monitor, RunOptions

_OWN_CODE: Final = (str(Path(__file__).parents[3]), str(Path(hosted_mesh_plan.__file__).parents[1]))
"""Added to the program's path: its Python may lack these distributions."""
_OPTIONS: Final = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


@dataclass(frozen=True)
class Program:
    """A program. config: by full key, as the program reads it; secret_keys: the secret ones.

    unread: the reasons for missing configuration. files: missing paths that the program may read, each with a made-up
    credential. other: keys with another value than in the compared program. root: the
    repository's folder, for its trace.
    """

    directory: Path
    main: Path
    python: str = sys.executable
    config: Mapping[str, str] = field(default_factory=dict)
    secret_keys: Sequence[str] = ()
    unread: Sequence[str] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    other: Collection[str] = ()
    root: Path | None = None


class Engine(engine_pb2_grpc.EngineServicer):
    """The engine's other service. A program's log may contain anything and is not kept."""

    def __init__(self) -> None:
        self.root = ""

    def Log(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002
        return empty_pb2.Empty()

    def GetRootResource(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002
        return engine_pb2.GetRootResourceResponse(urn=self.root)

    def SetRootResource(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002
        self.root = request.urn
        return engine_pb2.SetRootResourceResponse()

    def RequirePulumiVersion(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002
        return engine_pb2.RequirePulumiVersionResponse()


def _served(monitor: Monitor) -> resource_pb2_grpc.ResourceMonitorServicer:
    servicer = resource_pb2_grpc.ResourceMonitorServicer()
    for name in vars(resource_pb2_grpc.ResourceMonitorServicer):
        if not name.startswith("_") and (method := getattr(monitor, name, None)):
            setattr(servicer, name, lambda request, _context, method=method: method(request))
    return servicer


class Transforms:
    """Applies the program's own transforms to its registrations, like the engine."""

    def __init__(self, monitor: Monitor) -> None:
        self.monitor = monitor
        self._channels: dict[str, Any] = {}

    def __call__(self, request: Any) -> Any:
        for callback in (*request.transforms, *self.monitor.stack_transforms):
            if callback.target not in self._channels:
                self._channels[callback.target] = grpc.insecure_channel(callback.target, options=_OPTIONS)
            stub = callback_pb2_grpc.CallbacksStub(self._channels[callback.target])
            asked = resource_pb2.TransformRequest(
                type=request.type,
                name=request.name,
                custom=request.custom,
                parent=request.parent,
                properties=request.object,
            )
            sent = callback_pb2.CallbackInvokeRequest(token=callback.token, request=asked.SerializeToString())
            answer = resource_pb2.TransformResponse()
            answer.ParseFromString(stub.Invoke(sent).response)
            if answer.HasField("properties"):
                request.object.CopyFrom(answer.properties)
        return request

    def close(self) -> None:
        for channel in self._channels.values():
            channel.close()


@dataclass
class Runner:
    """Runs one program in any variant."""

    program: Program
    run_options: RunOptions
    generator: SecretGenerator
    commands: Commands = field(default_factory=Commands)
    at_once: int = field(default_factory=lambda: min(2, os.cpu_count() or 1))

    def __call__(self, worlds: Sequence[SecretVariant]) -> list[Capture]:
        with futures.ThreadPoolExecutor(self.at_once) as pool:
            try:
                return list(pool.map(self.run, worlds))
            except BaseException:
                self.commands.stop()
                raise

    def run(self, world: SecretVariant) -> Capture:
        """One run in one variant. Failures are in the capture's problems."""
        monitor = Monitor(self.run_options, self.generator, world)
        transforms = monitor.transform = Transforms(monitor)
        with futures.ThreadPoolExecutor(64) as pool:
            server = grpc.server(pool, options=_OPTIONS)
            resource_pb2_grpc.add_ResourceMonitorServicer_to_server(_served(monitor), server)
            engine_pb2_grpc.add_EngineServicer_to_server(Engine(), server)
            port = server.add_insecure_port("127.0.0.1:0")
            server.start()
            try:
                self._start(monitor, f"127.0.0.1:{port}")
            finally:
                server.stop(None).wait()
                transforms.close()
        monitor.capture.made_up = monitor.answers.gave_secrets
        return monitor.capture

    def _start(self, monitor: Monitor, address: str) -> None:
        answers, program = monitor.answers, self.program
        task = {
            "project": self.run_options.project,
            "stack": self.run_options.stack,
            "monitor": address,
            "engine": address,
            "root_directory": str(program.directory),
            "directory": str(program.directory),
            "program": str(program.main),
            "config": configured(program, answers),
            "secret_keys": list(program.secret_keys),
            "time": self.generator.now.timestamp(),
            "files": dict(program.files),
            "root": str(program.root or program.directory),
        }
        command = [program.python, "-m", "hosted_mesh_analysis.runner.program.started"]
        try:
            done = self.commands(command, Path(), self._environment(answers), json.dumps(task))
        except OSError as error:
            monitor.capture.problems.append(f"its Python cannot be run ({error.strerror}). Choose one with --python")
            return
        if done.code != 0:
            monitor.capture.problems.append(self._problem(done))

    def _environment(self, answers: Answers) -> dict[str, str]:
        """This process' environment with other credentials, without Pulumi's own variables."""
        given = {**os.environ, **self.program.environment}
        kept = {"PULUMI_DISABLE_RESOURCE_REFERENCES"}
        own = {name: value for name, value in given.items() if not name.startswith("PULUMI_") or name in kept}
        found = environment(own, answers)
        path = os.pathsep.join(dict.fromkeys(one for one in (*_OWN_CODE, found.get("PYTHONPATH", "")) if one))
        # Programs may skip checks of real clusters by it: nothing is written, and no network is there.
        marks = {ANALYSIS_VARIABLE: "1", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
        return {**found, **marks, "PYTHONPATH": path}

    def _problem(self, done: Done) -> str:
        """The reason of a program's end, without made-up texts."""
        if done.code is None:
            return f"the program: {done.error}"
        if done.code < 0:
            return f"the program was ended by signal {_signal(-done.code)}"
        try:
            told = json.loads(done.error[done.error.rindex('{"kind"') :])
        except ValueError:
            why = "install Pulumi and its requirements, or choose its Python with --python"
            return f"its process ended with exit code {done.code}: {why}"
        says = str(told["says"])
        if any(text in says for text in self.generator.texts()):
            says = "(its message contains a secret)"
        where = f" ({told['where']})" if told["where"] else ""
        return f"the program ends with {told['kind']}{where}" + (f": {says}" if says else "")


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # an unnamed signal
        return str(number)


def configured(program: Program, answers: Answers) -> dict[str, str]:
    """The configuration with other values for secrets, and for unmarked credentials."""
    found = dict(program.config)
    for key, value in program.config.items():
        name = f"configuration {key}" + (" (other)" if key in program.other else "")
        if key in program.secret_keys:
            found[key] = replaced(value, name, answers)
        elif holds_credential(value):
            found[key] = with_other_credentials(value, name, answers)
    return found
