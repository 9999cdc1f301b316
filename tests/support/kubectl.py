"""kubectl, for reading and changing a cluster's objects."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from sandbox.clusters import Cluster
from sandbox.toolchain import Tools

LIMIT = 300.0


@dataclass(frozen=True)
class Kubectl:
    """As a cluster's administrator. kubectl("get", "pods") -> its output; a failure raises with its message."""

    program: Path
    kubeconfig: Path

    @classmethod
    def of(cls, cluster: Cluster, tools: Tools) -> Self:
        return cls(tools["kubectl"], cluster.kubeconfig)

    def run(self, *words: str, text: str = "") -> subprocess.CompletedProcess[str]:
        """Runs to the end; the caller checks the exit code. text: for its standard input."""
        command = [str(self.program), f"--kubeconfig={self.kubeconfig}", *words]
        return subprocess.run(command, input=text, capture_output=True, text=True, timeout=LIMIT)

    def __call__(self, *words: str, text: str = "") -> str:
        done = self.run(*words, text=text)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def apply(self, *documents: Any) -> None:
        self("apply", "--filename=-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}))

    def get(self, *words: str) -> dict[str, Any]:
        """The object, or the list of them."""
        found: dict[str, Any] = json.loads(self("get", *words, "--output=json"))
        return found

    def names(self, *words: str) -> list[str]:
        """The names of the objects, sorted."""
        return sorted(item["metadata"]["name"] for item in self.get(*words)["items"])

    def exists(self, *words: str) -> bool:
        return bool(self("get", *words, "--ignore-not-found", "--output=name").strip())
