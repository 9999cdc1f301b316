"""Steps of GitHub's workflows and actions and of GitLab's jobs, run as the files have them.

GitHub's expressions are replaced by given values, and an expression without one is an error. Steps with `uses` do not
run: a test does their work, or checks that it is another's.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

Step = dict[str, Any]
_EXPRESSION = re.compile(r"\$\{\{\s*(.+?)\s*\}\}")
# As GitHub's documentation of `jobs.<job_id>.steps[*].shell` has them.
_SHELLS = {None: ["bash", "-e"], "bash": ["bash", "--noprofile", "--norc", "-eo", "pipefail"]}


def read(path: Path) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def evaluated(part: Any, values: Mapping[str, str]) -> Any:
    """A part of a workflow with its expressions replaced. Raises KeyError for one that has no value."""
    if isinstance(part, str):
        return _EXPRESSION.sub(lambda found: values[found[1]], part)
    if isinstance(part, dict):
        return {key: evaluated(value, values) for key, value in part.items()}
    return [evaluated(one, values) for one in part] if isinstance(part, list) else part


def run(
    step: Step, values: Mapping[str, str], environment: Mapping[str, str], folder: Path
) -> subprocess.CompletedProcess[str]:
    """One step with `run`, in a shell as the runner's."""
    own = {name: str(value) for name, value in evaluated(step.get("env", {}), values).items()}
    command = [*_SHELLS[step.get("shell")], "-c", evaluated(step["run"], values)]
    return _done(command, {**environment, **own}, folder)


def run_script(lines: Iterable[str], environment: Mapping[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """The lines of a GitLab job in one shell that ends at the first error, as GitLab's runner does."""
    return _done(["bash", "-eo", "pipefail", "-c", "\n".join(lines)], environment, folder)


def _done(command: list[str], environment: Mapping[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def stand_in(folder: Path, name: str, script: str) -> None:
    """A program of this name, a script of sh, in a folder for PATH."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
