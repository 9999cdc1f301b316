"""A Pulumi stack that tests run programs in."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pulumi import automation
from pulumi.runtime._grpc_settings import _GRPC_CHANNEL_OPTIONS

_GRPC_CHANNEL_OPTIONS.append(("grpc.use_local_subchannel_pool", 1))
"""Each program's channels have connections of their own. By default a process shares them by address, and an engine at
the port of an earlier one is taken for unavailable, as the earlier one was: "Resource monitor has terminated"."""

Program = Callable[[], None]


class Engine(automation.Stack):
    """Pulumi's own, but `up`, `refresh` and `destroy` do not ask the CLI for all outputs and for the history after it.

    That is three more processes for each of them; of it all the tests read how many resources changed, which is in the
    newest file of the history. Outputs are there when they are asked for.
    """

    _updating = False

    def up(self, *arguments: Any, **options: Any) -> automation.UpResult:
        self._updating = True
        try:
            return super().up(*arguments, **options)
        finally:
            self._updating = False

    def outputs(self) -> automation.OutputMap:
        return {} if self._updating else super().outputs()

    def info(self, show_secrets: bool = True) -> automation.UpdateSummary:
        folder = Path(self.workspace.env_vars["PULUMI_BACKEND_URL"].removeprefix("file://")) / ".pulumi" / "history"
        newest = json.loads(max(folder.rglob(f"{self.name}-*.history.json")).read_text())
        changes = newest.get("resourceChanges")
        return automation.UpdateSummary(
            newest["kind"], datetime.now(UTC), "", {}, {}, newest["result"], resource_changes=changes
        )


@dataclass
class Stack:
    """One stack with a state of its own. `program` is what the next operation runs; change it to change the stack."""

    engine: Engine
    state: Path
    program: Program = field(default=lambda: None)
    told: list[str] = field(default_factory=list)

    def up(self, program: Program | None = None) -> dict[str, int]:
        """Runs `pulumi up`; returns the number of resources by what was done to them ("same", "create", ...).

        told: what the engine says of its resources meanwhile, for whoever looks from another thread.
        """
        self.program = program or self.program
        self.told.clear()
        changes = self.engine.up(program=self.program, on_event=self._hear).summary.resource_changes or {}
        return {str(kind): count for kind, count in changes.items()}

    def preview(self, program: Program | None = None) -> dict[str, int]:
        """Runs `pulumi preview`, on the last program if none is given; returns what would be done, by kind."""
        summary = self.engine.preview(program=program or self.program).change_summary
        return {str(kind): count for kind, count in summary.items()}

    def _hear(self, event: automation.EngineEvent) -> None:
        if event.diagnostic_event:
            self.told.append(event.diagnostic_event.message)

    def has_said(self, text: str) -> bool:
        """Whether the running `up` has told this of a resource."""
        return any(text in line for line in self.told)

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
