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
from google.protobuf import empty_pb2
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
from ..secrets.made_up import Answers
from ..secrets.vault import Vault, World
from .monitor import Monitor, Surroundings

_OPTIONS: Final = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


@dataclass(frozen=True)
class Program:
    """What is run. config: by full key, as a program gets it; secret_keys: which of them are secret.

    unread: why some of the configuration is missing. files: paths that the program may read although they are not
    there, with a credential that is made up for them. other: keys whose value is another one than in the program that
    this one is compared with.
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


class Engine(engine_pb2_grpc.EngineServicer):
    """The engine's other service. What a program logs is not kept: it may hold anything."""

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
    """The protocol's service, with each method that the monitor has."""
    servicer = resource_pb2_grpc.ResourceMonitorServicer()
    for name in vars(resource_pb2_grpc.ResourceMonitorServicer):
        if not name.startswith("_") and (method := getattr(monitor, name, None)):
            setattr(servicer, name, lambda request, _context, method=method: method(request))
    return servicer


class Transforms:
    """Lets the program's own transforms change what it registers, as the engine does."""

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
    """Runs one program in any world."""

    program: Program
    surroundings: Surroundings
    vault: Vault
    commands: Commands = field(default_factory=Commands)
    at_once: int = field(default_factory=lambda: min(2, os.cpu_count() or 1))

    def __call__(self, worlds: Sequence[World]) -> list[Capture]:
        with futures.ThreadPoolExecutor(self.at_once) as pool:
            try:
                return list(pool.map(self.run, worlds))
            except BaseException:
                self.commands.stop()
                raise

    def run(self, world: World) -> Capture:
        """One run in one world. What goes wrong is in the capture's problems."""
        monitor = Monitor(self.surroundings, self.vault, world)
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
        return monitor.capture

    def _start(self, monitor: Monitor, address: str) -> None:
        answers, program = monitor.answers, self.program
        task = {
            "project": self.surroundings.project,
            "stack": self.surroundings.stack,
            "monitor": address,
            "engine": address,
            "root_directory": str(program.directory),
            "directory": str(program.directory),
            "program": str(program.main),
            "config": configured(program, answers),
            "secret_keys": list(program.secret_keys),
            "time": self.vault.now.timestamp(),
            "files": dict(program.files),
        }
        command = [program.python, "-m", "hosted_mesh_policies.prove.program.started"]
        try:
            done = self.commands(command, Path(), self._environment(answers), json.dumps(task))
        except OSError as error:
            monitor.capture.problems.append(f"its Python cannot be run ({error.strerror}). See --python")
            return
        if done.code != 0:
            monitor.capture.problems.append(self._problem(done))

    def _environment(self, answers: Answers) -> dict[str, str]:
        """This process' environment with other credentials; of Pulumi's own, nothing."""
        given = {**os.environ, **self.program.environment}
        kept = {"PULUMI_DISABLE_RESOURCE_REFERENCES"}
        own = {name: value for name, value in given.items() if not name.startswith("PULUMI_") or name in kept}
        found = environment(own, answers)
        path = os.pathsep.join(one for one in (str(Path(__file__).parents[3]), found.get("PYTHONPATH", "")) if one)
        return {**found, "PYTHONHASHSEED": "0", "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}

    def _problem(self, done: Done) -> str:
        """Why a program ended, without any text that was made up for it."""
        if done.code is None:
            return f"the program: {done.error}"
        if done.code < 0:
            return f"the program was ended by signal {_signal(-done.code)}"
        try:
            told = json.loads(done.error[done.error.rindex('{"kind"') :])
        except ValueError:
            why = "does it have Pulumi and its own requirements? See --python"
            return f"its process ended by itself with exit code {done.code}: {why}"
        says = str(told["says"])
        if any(text in says for text in self.vault.texts()):
            says = "(what it says holds a secret)"
        where = f" ({told['where']})" if told["where"] else ""
        return f"the program ends with {told['kind']}{where}" + (f": {says}" if says else "")


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # one without a name
        return str(number)


def configured(program: Program, answers: Answers) -> dict[str, str]:
    """The configuration with other values for what is secret, and for credentials that are not marked so."""
    found = dict(program.config)
    for key, value in program.config.items():
        name = f"configuration {key}" + (" (other)" if key in program.other else "")
        if key in program.secret_keys:
            found[key] = replaced(value, name, answers)
        elif holds_credential(value):
            found[key] = with_other_credentials(value, name, answers)
    return found
