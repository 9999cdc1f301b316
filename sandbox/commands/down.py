"""`down`: ends the sandbox and removes the files of `up`."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from sandbox import clusters
from sandbox.engine import controller, deployment
from sandbox.errors import SandboxError
from sandbox.jobs import processes_of
from sandbox.progress import Progress


def remove(state: Path, progress: Progress) -> None:
    """Ends the sandbox and removes the files of `up`. Does nothing without a sandbox."""
    with progress.step("remove the sandbox") as step:
        if not state.exists():
            step.skip(f"{state} does not exist")
            return
        controller.remove(state)
        clusters.down(state)
        for path in deployment.files(state):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        with contextlib.suppress(FileNotFoundError):
            try:
                state.rmdir()
            except OSError as error:
                left = ", ".join(sorted(path.name for path in state.iterdir()))
                raise SandboxError(
                    f"{state} is not empty, so it stays.",
                    why=f"not made by the sandbox, or still in use: {left}",
                    fix="check its content and remove it yourself.",
                ) from error
        running = processes_of(state)
        running.pop(os.getpid(), None)
        if running:
            raise SandboxError(
                "Processes of the sandbox still run.",
                why="\n".join(f"{pid}: {command[:100]}" for pid, command in running.items()),
                fix="end them with `kill` and report this as a bug of the sandbox.",
            )
        step.result("no process and no file of it is left; the tool cache stays")
