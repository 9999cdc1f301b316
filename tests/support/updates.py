"""An update of the sandbox's own stack with another document than that of `make up`."""

from __future__ import annotations

import subprocess
from pathlib import Path

from sandbox.clusters import Sandbox
from sandbox.engine import deployment
from sandbox.program_environment import STACK
from sandbox.toolchain import Tools


def update(sandbox: Sandbox, tools: Tools, config: Path, *, policies: bool = True) -> None:
    """Runs `pulumi up` with a configuration file; a failure shows the output. policies: with the pack."""
    done = attempt(sandbox, tools, config, policies=policies)
    assert done.returncode == 0, done.stdout + done.stderr


def attempt(sandbox: Sandbox, tools: Tools, config: Path, *, policies: bool = True) -> subprocess.CompletedProcess[str]:
    """The same, with its exit code and output."""
    options = ["--yes", "--skip-preview", "--stack", STACK, "--config-file", str(config)]
    pack = ["--policy-pack", str(deployment.POLICY_PACK)] if policies else []
    return deployment.engine(sandbox, tools).run("up", *options, *pack, limit=400)
