"""A stack of the program for measurements: on the sandbox's clusters, with a name and a configuration of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from bench.samples import seconds
from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Sandbox
from sandbox.engine import deployment
from sandbox.errors import SandboxError
from sandbox.toolchain import Tools

_PREFIX = "hosted-mesh:"
_LIMIT = 600  # seconds of one command, on the slowest machine


class Stack:
    """config: without the project's prefix, `{"stack": "trust", "mesh": {...}}`. program: another program's folder.
    key_of: the stack of the key that encrypts this one's secrets, by default itself. variables: of the engine, such as
    another backend.

    Every method may raise SandboxError.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        tools: Tools,
        name: str,
        config: Mapping[str, Any],
        *,
        program: Path = CHECKOUT,
        key_of: str = "",
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.name = name
        self._program = program
        engine = deployment.engine(sandbox, tools)
        self._engine = replace(engine, environment={**engine.environment, **variables})
        self._config = sandbox.state / f"Pulumi.{name}.yaml"
        deployment.make_stack(self._engine, sandbox.state, name)
        keys = {f"{_PREFIX}{key}": value for key, value in config.items()}
        document = {"config": keys, "encryptionsalt": deployment.salt(sandbox.state, key_of or name)}
        self._config.touch(mode=0o600)
        self._config.write_text(yaml.safe_dump(document))

    def pulumi(self, operation: str, *options: str) -> None:
        """Runs `up`, `preview` or `destroy` of the stack."""
        self._ask(operation, *options, "--stack", self.name, "--config-file", str(self._config))

    def preview_without_changes(self) -> float:
        """Seconds of one; a change is an error."""
        return seconds(lambda: self.pulumi("preview", "--expect-no-changes"))

    def resources(self) -> list[dict[str, Any]]:
        """The stack's resources, secrets in plain text."""
        state = json.loads(self._ask("stack", "export", "--show-secrets", "--stack", self.name))
        return list(state["deployment"].get("resources", ()))

    def _ask(self, *arguments: str) -> str:
        answer = self._engine.run(*arguments, cwd=self._program, limit=_LIMIT)
        if answer.returncode != 0:
            why = answer.stdout + answer.stderr
            raise SandboxError(f"`pulumi {arguments[0]}` of {self.name} failed during the measurement.", why=why)
        return answer.stdout


def mesh_without_crds(sandbox: Sandbox, tools: Tools) -> dict[str, Any]:
    """The mesh document of the sandbox, without the CRDs."""
    deployment.engine(sandbox, tools)  # writes the sandbox's configuration where it is missing
    mesh = deployment.mesh_document(sandbox.state)
    for membership in mesh["memberships"]:
        membership.setdefault("crds", {})["install"] = False
    return mesh
