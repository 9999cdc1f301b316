"""The corpus on the real engine: one Pulumi process per preview or update, each case in a stack of its own."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import threading
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import yaml

from sandbox import plugins
from sandbox.clusters import Sandbox
from sandbox.surroundings import pulumi_home, with_tools
from sandbox.toolchain import Tools
from tests.support.environment import quickened
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

    pulumi: Path
    environment: Mapping[str, str]
    state: Path
    kubeconfigs: Mapping[Literal["cp", "dp"], Path]
    servers: Mapping[Literal["cp", "dp"], str]
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    @classmethod
    def on(cls, sandbox: Sandbox, tools: Tools, state: Path, settings: Mapping[str, str] | None = None) -> Engine:
        """The provider's cluster is the control plane, the user's the data plane. `settings` are environment variables
        for the program."""
        chosen = plugins.select(tools, pulumi_home())
        environment = quickened(with_tools(tools.bin_dir, chosen.path))
        environment |= {"PULUMI_HOME": str(pulumi_home())} | dict(chosen.env)
        for foreign in ("PULUMI_CONFIG_PASSPHRASE_FILE", "PULUMI_CONFIG", "PULUMI_ACCESS_TOKEN", "PULUMI_STACK"):
            environment.pop(foreign, None)
        state.mkdir(parents=True, exist_ok=True)
        provider, user = sandbox.control_plane, sandbox.data_plane
        return cls(
            tools["pulumi"],
            environment | dict(settings or {}),
            state,
            {"cp": Path(provider.kubeconfig), "dp": Path(user.kubeconfig)},
            {"cp": provider.server, "dp": user.server},
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
    ) -> Run:
        """Runs one operation of a case's program to its end. `prefix` keeps its objects apart from other stacks';
        `settings` are more of the policies' configuration."""
        folder = self._project(stack, program)
        events = self.state / f"{stack}.events"
        events.unlink(missing_ok=True)
        command = [str(self.pulumi), operation, "--non-interactive", "--color=never", "--stack", stack]
        command += ["--event-log", str(events), *([] if operation == "preview" else ["--yes"]), *more]
        if policies:
            command += ["--policy-pack", str(PACK), "--policy-pack-config", str(self._config(settings))]
        done = subprocess.run(
            command,
            cwd=folder,
            env={
                **self._settings(),
                "CORPUS_CASE": case,
                "CORPUS_PREFIX": prefix,
                **({"CORPUS_BEFORE": "1"} if before else {}),
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        return Run(done.returncode, _said(events), done.stdout + done.stderr)

    def ask(self, *arguments: str, stack: str) -> subprocess.CompletedProcess[str]:
        """A short command of the CLI about a stack."""
        return subprocess.run(
            [str(self.pulumi), "--non-interactive", *arguments, "--stack", stack],
            cwd=self._project(stack, PROGRAM),
            env=self._settings(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def forget(self, stack: str) -> None:
        """Removes a stack's state and folder, not what it made."""
        shutil.rmtree(self.state / "projects" / stack, ignore_errors=True)
        for path in (self.state / "backend" / ".pulumi" / "stacks").rglob(f"{stack}.json*"):
            path.unlink()

    def _settings(self) -> dict[str, str]:
        return {
            **self.environment,
            "PULUMI_BACKEND_URL": f"file://{self.state / 'backend'}",
            "PULUMI_CONFIG_PASSPHRASE": PASSPHRASE,
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DEBUG_COMMANDS": "true",
            "CORPUS_CONTROL_PLANE": str(self.kubeconfigs["cp"]),
            "CORPUS_DATA_PLANE": str(self.kubeconfigs["dp"]),
            "CORPUS_TOKEN": self.token,
        }

    def _project(self, stack: str, program: Path) -> Path:
        """A project folder of the stack's own, so that runs side by side share no file; its program is the real one."""
        folder = self.state / "projects" / stack
        if not folder.exists():
            folder.mkdir(parents=True)
            (self.state / "backend").mkdir(exist_ok=True)
            project = yaml.safe_load((program / "Pulumi.yaml").read_text()) | {"main": str(program)}
            (folder / "Pulumi.yaml").write_text(yaml.safe_dump(project))
            salt = new_stack(self.pulumi, self._settings(), self.state / "backend", project["name"], stack)
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
