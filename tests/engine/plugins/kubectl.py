"""kubectl, for looking at and interfering with what the engine made."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Kubectl:
    """kubectl("get", "pods") -> its output. Raises CalledProcessError."""

    program: Path
    kubeconfig: Path

    def __call__(self, *arguments: str, text: str | None = None) -> str:
        command = [str(self.program), "--kubeconfig", str(self.kubeconfig), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, input=text).stdout

    def get(self, *arguments: str) -> dict[str, Any]:
        """The object, or the list of them."""
        found: dict[str, Any] = json.loads(self("get", *arguments, "--output=json"))
        return found

    def names(self, *arguments: str) -> list[str]:
        """The names of the objects, sorted."""
        return sorted(item["metadata"]["name"] for item in self.get(*arguments)["items"])

    def exists(self, *arguments: str) -> bool:
        return bool(self("get", *arguments, "--ignore-not-found", "--output=name").strip())
