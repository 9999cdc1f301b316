"""Runs of the other scanners: each once over a whole folder, with every check switched on.

None of them may send its findings to the network: detect-secrets would try credentials, checkov would download its
vendor's settings. Their output is read for file names and the names of their rules, and then dropped.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.policies.cached import built
from bench.policies.scanners.environments import GITLEAKS, GITLEAKS_VERSION, pinned, python_with
from sandbox.errors import SandboxError
from sandbox.progress import Progress

_LIMIT = 900.0  # seconds


@dataclass(frozen=True)
class Scanner:
    """One way to run a tool. `command` prepares it and returns its arguments; the folder is its working directory.
    `flagged` reads the files from its output. `reads_plans` is False for a tool that reads manifests only."""

    name: str
    command: Callable[[Progress], Sequence[str]]
    flagged: Callable[[Any], Iterator[str]]
    reads_plans: bool = True

    def files_with_findings(self, command: Sequence[str], folder: Path) -> set[str]:
        """Names of the files, relative to the folder, with a finding. Raises SandboxError."""
        done = subprocess.run(
            list(command),
            cwd=folder,
            env=dict(os.environ) | {"LOG_LEVEL": "ERROR", "PYTHONWARNINGS": "ignore"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_LIMIT,
            check=False,
        )
        try:
            printed = json.loads(done.stdout)
        except ValueError:
            raise SandboxError(
                f"{self.name} printed no JSON (exit code {done.returncode}).", why=done.stderr[-300:]
            ) from None
        return {name.removeprefix("./").lstrip("/") for name in self.flagged(printed)}


def _detect_secrets(progress: Progress) -> list[str]:
    python = str(python_with("detect-secrets", progress))
    return [python, "-m", "detect_secrets", "scan", "--all-files", "--no-verify", "."]


def _checkov(framework: str) -> Callable[[Progress], list[str]]:
    def command(progress: Progress) -> list[str]:
        call = [str(python_with("checkov", progress)), "-m", "checkov.main", "--directory", ".", "--quiet", "--compact"]
        options = ["--enable-secret-scan-all-files"] if framework == "secrets" else []
        return [*call, "--skip-download", "--output", "json", "--soft-fail", "--framework", framework, *options]

    return command


def _gitleaks(progress: Progress) -> list[str]:
    options = ["--no-banner", "--log-level=error", "--exit-code=0", "--redact", "--max-archive-depth=3"]
    report = ["--report-format=json", "--report-path=-"]
    return [str(built(GITLEAKS, progress)), "dir", ".", *options, *report]


def _of_detect_secrets(printed: Any) -> Iterator[str]:
    yield from (name for name, found in printed["results"].items() if found)


def _of_checkov(printed: Any) -> Iterator[str]:
    """Every failed check counts. Without any, its output is a summary that has no results."""
    for report in printed if isinstance(printed, list) else [printed]:
        for check in report.get("results", {}).get("failed_checks", ()):
            yield check["file_path"]


def _of_gitleaks(printed: Any) -> Iterator[str]:
    yield from (found["File"] for found in printed)


SCANNERS = (
    Scanner(f"detect-secrets {pinned('detect-secrets')}", _detect_secrets, _of_detect_secrets),
    Scanner(f"checkov {pinned('checkov')}, secrets", _checkov("secrets"), _of_checkov),
    Scanner(
        f"checkov {pinned('checkov')}, kubernetes, any check", _checkov("kubernetes"), _of_checkov, reads_plans=False
    ),
    Scanner(f"gitleaks {GITLEAKS_VERSION}", _gitleaks, _of_gitleaks),
)
