"""A Pulumi stack that tests run programs in."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pulumi import automation

Program = Callable[[], None]


@dataclass
class Stack:
    """One stack with a state of its own. `program` is what the next operation runs; change it to change the stack."""

    engine: automation.Stack
    state: Path
    program: Program = field(default=lambda: None)

    def up(self, program: Program | None = None) -> dict[str, int]:
        """Runs `pulumi up`; returns the number of resources by what was done to them ("same", "create", ...)."""
        self.program = program or self.program
        changes = self.engine.up(program=self.program).summary.resource_changes or {}
        return {str(kind): count for kind, count in changes.items()}

    def preview(self, program: Program | None = None) -> dict[str, int]:
        """Runs `pulumi preview`, on the last program if none is given; returns what would be done, by kind."""
        summary = self.engine.preview(program=program or self.program).change_summary
        return {str(kind): count for kind, count in summary.items()}

    def output(self, name: str) -> Any:
        return self.engine.outputs()[name].value

    def resources(self) -> dict[str, dict[str, Any]]:
        """The saved resources by name, secrets in plain text."""
        deployment = json.loads(self._cli("stack", "export", "--show-secrets"))["deployment"]
        return {one["urn"].split("::", 3)[3]: one for one in deployment.get("resources", [])}

    def state_text(self) -> str:
        """All that the file backend has on disk for the stack."""
        return "\n".join(path.read_text() for path in self.state.rglob("*.json*") if path.is_file())

    def _cli(self, *arguments: str) -> str:
        workspace = self.engine.workspace
        result = workspace.pulumi_command.run(
            [*arguments, "--stack", self.engine.name], workspace.work_dir, dict(workspace.env_vars)
        )
        return str(result.stdout)
