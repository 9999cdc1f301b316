"""The corpus on the real engine: one Pulumi process per preview or update, each case in a stack of its own."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import threading
import warnings
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import yaml

from sandbox.clusters import Sandbox
from sandbox.engine.pulumi_cli import PulumiCli
from sandbox.toolchain import Tools
from tests.support.environment import quick_cli
from tests.support.stacks import PASSPHRASE, new_stack

Operation = Literal["preview", "up", "destroy", "refresh"]
ROOT = Path(__file__).resolve().parents[2]
PACK = ROOT / "policies" / "hosted-mesh"
PROGRAM = Path(__file__).resolve().parent / "program"


@dataclass(frozen=True)
class Said:
    """One policy's verdict, from the engine's event log."""

    policy: str
    urn: str
    message: str
    mandatory: bool


@dataclass(frozen=True)
class Run:
    """One preview or update: how it ended and what the policies said."""

    code: int
    said: tuple[Said, ...]
    output: str
    seconds: float = 0.0

    @property
    def refused(self) -> tuple[Said, ...]:
        return tuple(said for said in self.said if said.mandatory)


@dataclass(frozen=True)
class Engine:
    """The Pulumi CLI on two clusters, given by kubeconfig files and API server addresses.

    `state` holds the file backend, one project folder per stack and the logs; nothing else is written.
    """

    pulumi: PulumiCli
    state: Path
    kubeconfigs: Mapping[Literal["cp", "dp"], Path]
    servers: Mapping[Literal["cp", "dp"], str]
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    @classmethod
    def on(cls, sandbox: Sandbox, tools: Tools, state: Path, settings: Mapping[str, str] | None = None) -> Engine:
        """settings: environment variables for the program."""
        state.mkdir(parents=True, exist_ok=True)
        given = {
            "PULUMI_BACKEND_URL": f"file://{state / 'backend'}",
            "PULUMI_CONFIG_PASSPHRASE": PASSPHRASE,
            **(settings or {}),
        }
        control_plane, data_plane = sandbox.control_plane, sandbox.data_plane
        return cls(
            quick_cli(tools, given),
            state,
            {"cp": Path(control_plane.kubeconfig), "dp": Path(data_plane.kubeconfig)},
            {"cp": control_plane.server, "dp": data_plane.server},
        )

    def run(
        self,
        operation: Operation,
        case: str,
        *,
        stack: str,
        policies: bool = True,
        before: bool = False,
        prefix: str = "",
        more: Sequence[str] = (),
        program: Path = PROGRAM,
        settings: Mapping[str, Any] = MappingProxyType({}),
        environment: Mapping[str, str] = MappingProxyType({}),
        pack: Sequence[str | Path] = (),
    ) -> Run:
        """Runs one operation of a case's program to its end. `prefix` keeps its objects apart from other stacks';
        `settings` are more of the policies' configuration. `pack` replaces the options of this checkout's pack."""
        folder = self.project(stack, program)
        events = self.state / f"{stack}.events"
        events.unlink(missing_ok=True)
        options = ["--stack", stack, "--event-log", str(events), *([] if operation == "preview" else ["--yes"]), *more]
        if pack:
            options += map(str, pack)
        elif policies:
            options += ["--policy-pack", str(PACK), "--policy-pack-config", str(self._config(settings))]
        chosen = {"CORPUS_CASE": case, "CORPUS_PREFIX": prefix, **({"CORPUS_BEFORE": "1"} if before else {})}
        given = {**self._settings(), **chosen, **environment}
        done = self.pulumi.run(operation, *options, cwd=folder, limit=900, more=given)
        if not done.returncode and not _has_summary(events):
            # Seen once in some thousand runs: exit code 0 before the first resource, and no summary event.
            warnings.warn(f"`pulumi {operation}` of {case} ended early: {done.stdout}{done.stderr}", stacklevel=2)
            events.unlink(missing_ok=True)
            done = self.pulumi.run(operation, *options, cwd=folder, limit=900, more=given)
        return Run(done.returncode, _said(events), done.stdout + done.stderr)

    def ask(self, *arguments: str, stack: str) -> subprocess.CompletedProcess[str]:
        """A short command of the CLI about a stack."""
        folder = self.project(stack)
        return self.pulumi.run(*arguments, "--stack", stack, cwd=folder, more=self._settings())

    def _settings(self) -> dict[str, str]:
        return {
            "CORPUS_CONTROL_PLANE": str(self.kubeconfigs["cp"]),
            "CORPUS_DATA_PLANE": str(self.kubeconfigs["dp"]),
            "CORPUS_TOKEN": self.token,
        }

    def project(self, stack: str, program: Path = PROGRAM) -> Path:
        """A project folder of the stack's own, so that runs side by side share no file; its program is the real one."""
        folder = self.state / "projects" / stack
        if not folder.exists():
            folder.mkdir(parents=True)
            (self.state / "backend").mkdir(exist_ok=True)
            project = yaml.safe_load((program / "Pulumi.yaml").read_text()) | {"main": str(program)}
            (folder / "Pulumi.yaml").write_text(yaml.safe_dump(project))
            salt = new_stack(
                self.pulumi.program, self.pulumi.environment, self.state / "backend", project["name"], stack
            )
            (folder / f"Pulumi.{stack}.yaml").write_text(yaml.safe_dump({"encryptionsalt": salt}))
        return folder

    def _config(self, settings: Mapping[str, Any]) -> Path:
        clusters = {"controlPlaneServers": [self.servers["cp"]], "dataPlaneServers": [self.servers["dp"]]}
        text = json.dumps({"providers-reach-their-own-cluster": clusters, **settings})
        path = self.state / f"policies-{zlib.crc32(text.encode()):08x}.json"
        if not path.exists():
            made = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
            made.write_text(text)
            made.replace(path)
        return path


def _has_summary(events: Path) -> bool:
    return events.exists() and '"summaryEvent"' in events.read_text(encoding="utf-8")


def _said(events: Path) -> tuple[Said, ...]:
    if not events.exists():
        return ()
    found = []
    for line in events.read_text(encoding="utf-8").splitlines():
        event = json.loads(line).get("policyEvent")
        if event:
            mandatory = event["enforcementLevel"] == "mandatory"
            found.append(Said(event["policyName"], event.get("resourceUrn", ""), event["message"], mandatory))
    return tuple(found)
