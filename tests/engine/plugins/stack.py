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
    """One stack with a state of its own. program: what ran last."""

    engine: Engine
    state: Path
    program: Program = field(default=lambda: None)

    def up(self, program: Program) -> dict[str, int]:
        """Runs `pulumi up`; returns the number of resources by what was done to them ("same", "create", ...)."""
        self.program = program
        changes = self.engine.up(program=program).summary.resource_changes or {}
        return {str(kind): count for kind, count in changes.items()}

    def preview(self, program: Program | None = None) -> dict[str, int]:
        """Runs `pulumi preview`, on the last program if none is given; returns what would be done, by kind."""
        summary = self.engine.preview(program=program or self.program).change_summary
        return {str(kind): count for kind, count in summary.items()}

    def output(self, name: str) -> Any:
        return self.engine.outputs()[name].value

    def state_text(self) -> str:
        """All that the file backend has on disk for the stack."""
        return "\n".join(path.read_text() for path in self.state.rglob("*.json*") if path.is_file())
