"""kubectl on one cluster, one command at a time."""

from __future__ import annotations

import subprocess

from sandbox.clusters import Cluster
from sandbox.errors import SandboxError
from sandbox.toolchain import Tools


def kubectl(cluster: Cluster, tools: Tools, *arguments: str, text: str = "") -> str:
    """The output of a command. text: for its standard input. Raises SandboxError."""
    command = [str(tools["kubectl"]), f"--kubeconfig={cluster.kubeconfig}", *arguments]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise SandboxError("`kubectl` failed.", why=done.stderr, fix="run the command again.")
    return done.stdout
