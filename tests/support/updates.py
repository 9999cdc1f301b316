"""An update of the sandbox's own stack with another document than `make up` gave it."""

from __future__ import annotations

from pathlib import Path

from sandbox.clusters import Sandbox
from sandbox.engine import deployment
from sandbox.program_environment import STACK
from sandbox.toolchain import Tools


def update(sandbox: Sandbox, tools: Tools, config: Path, *, policies: bool = True) -> None:
    """Runs `pulumi up` with a configuration file; a failure shows what was printed. policies: with the pack."""
    options = ["--yes", "--skip-preview", "--stack", STACK, "--config-file", str(config)]
    pack = ["--policy-pack", str(deployment.POLICY_PACK)] if policies else []
    done = deployment.engine(sandbox, tools).run("up", *options, *pack, limit=400)
    assert done.returncode == 0, done.stdout + done.stderr
