"""A controller of a test's own: `hosted-mesh-controller serve` on a free port, with the sandbox's clusters."""

from __future__ import annotations

import base64
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import yaml
from hosted_mesh_controller.client import Client
from hosted_mesh_controller.job import processes

from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Sandbox
from sandbox.toolchain import Tools
from tests.engine.library.engine import Api
from tests.support.environment import quick_cli
from tests.support.ports import free_port
from tests.support.waiting import eventually

Config = dict[str, Any]
NAMESPACE = "mesh-demo"
WATCHER = "hosted-mesh-watcher"
STACK = "acme.meshes.demo"
PASSPHRASE = "the-controllers-own-passphrase"
PROGRAM = Path(sys.executable).with_name("hosted-mesh-controller")


@dataclass
class Controller:
    """One service, which a test may kill and start again. folder: of its settings, data and logs."""

    folder: Path
    environment: Mapping[str, str]
    port: int
    process: subprocess.Popen[bytes] | None = None
    tokens: dict[str, str] = field(default_factory=dict)

    @classmethod
    def make(cls, folder: Path, sandbox: Sandbox, tools: Tools, **more: Any) -> Controller:
        folder.mkdir(parents=True)
        port = free_port()
        (folder / "passphrase").write_text(PASSPHRASE)
        clusters = {
            name: {"kubeconfig": str(sandbox.kubeconfig), "context": name, "side": name, "tenants": ["acme"]}
            for name in ("control-plane", "data-plane")
        }
        settings = {
            "data": str(folder / "data"),
            "program": str(CHECKOUT),
            "passphraseFile": str(folder / "passphrase"),
            "clusters": clusters,
            "charts": {"istio": str(tools.charts)},
            "tenants": {"acme": {}, "other": {}},
            "port": port,
            "discovery": {"everySeconds": None},
            **more,
        }
        (folder / "settings.yaml").write_text(yaml.safe_dump(settings))
        return cls(folder, quick_cli(tools, {}).environment, port)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            command = [PROGRAM, "serve", self.folder / "settings.yaml"]
            self.process = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log)

        def answers() -> bool:
            assert self.process
            assert self.process.poll() is None, self.log
            try:
                return httpx2.get(f"{self.url}/healthz", timeout=5).status_code == 200
            except httpx2.TransportError:
                return False

        eventually(answers)

    def kill(self, *, also: str | None = None) -> None:
        """Ends the service without warning. also: a stack whose engine ends in the same moment, as with the machine."""
        assert self.process
        self.process.kill()
        if also:
            for process in processes.marked(str(self.folder / "data" / "stacks" / also)):
                os.kill(process, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(60)

    def token(self, *options: str) -> str:
        command = [PROGRAM, "token", self.folder / "settings.yaml", *options]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return str(done.stdout.strip())

    def client(self, role: str = "provider") -> Client:
        if role not in self.tokens:
            self.tokens[role] = self.token("--role", role, *([] if role == "provider" else ["--tenant", "acme"]))
        return Client(self.url, self.tokens[role], "acme")


def events(controller: Controller, identifier: str) -> list[Config]:
    """The recorded events, read as the service writes them."""
    file = controller.folder / "data/controller.sqlite"
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as database:
        rows = database.execute("SELECT data FROM events WHERE operation = ?", [identifier]).fetchall()
    return [json.loads(row[0]) for row in rows]


def namespaces(api: Api) -> set[str]:
    return {one["metadata"]["name"] for one in api.get("namespaces")["items"]}


def assert_no_secrets(controller: Controller, provider: Api) -> None:
    """Neither database, log, stack folder nor state has a secret in plain text."""
    searched = {file: file.read_bytes() for file in controller.folder.rglob("*") if file.is_file()}
    del searched[controller.folder / "passphrase"]
    assert {"log", "controller.sqlite", "queue.sqlite"} <= {file.name for file in searched}
    assert any(STACK.encode() in content for content in searched.values())
    for name, secret in secrets(controller, provider).items():
        found = [str(file) for file, content in searched.items() if secret.encode() in content]
        assert found == [], name


def secrets(controller: Controller, provider: Api) -> dict[str, str]:
    settings = yaml.safe_load((controller.folder / "settings.yaml").read_text())
    admin = yaml.safe_load(Path(settings["clusters"]["control-plane"]["kubeconfig"]).read_text())
    key = admin["users"][0]["user"]["client-key-data"]
    istiods = base64.b64decode(provider.get("secret", "istio-kubeconfig", "-n", NAMESPACE)["data"]["config"]).decode()
    authority = base64.b64decode(provider.get("secret", "cacerts", "-n", NAMESPACE)["data"]["ca-key.pem"]).decode()
    return {
        "the bearer token": controller.tokens["provider"].split("_", 2)[2],
        "the passphrase": PASSPHRASE,
        "the kubeconfig's key": key,
        "the kubeconfig's key, decoded": base64.b64decode(key).decode().splitlines()[1],
        "istiod's token": json.loads(istiods)["users"][0]["user"]["token"],
        "the authority's key": authority.splitlines()[1],
    }


def ends(controller: Controller, identifier: str) -> int:
    """The number of times that the log has the operation's end."""
    lines = [json.loads(line) for line in controller.log.splitlines()]
    return sum(one["message"] == "operation ended" and one["operation"] == identifier for one in lines)
