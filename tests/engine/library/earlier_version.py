"""Version 0.2.0 as its users have it: the program, library and documents of its release, out of the history."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

from sandbox.bootstrap import CHECKOUT

RELEASE: Final = "changelog: release 0.2.0"
"""The subject of the release's commit: it stays the same where the history is written anew."""
_FOLDERS: Final = ("components", "agents", "stacks", "Pulumi.yaml", "__main__.py", "VERSION", "examples")


def release(folder: Path) -> Path:
    """Writes the release's files into the folder."""
    git = ["git", "-C", str(CHECKOUT)]
    if not (found := _commits(git)):
        # A clone without history, as CI services make by default.
        subprocess.run([*git, "fetch", "--quiet", "--unshallow"], check=False)
        found = _commits(git)
    assert found, f"the history ends before {RELEASE!r}: fetch it, by `git fetch --unshallow`"
    archive = subprocess.run([*git, "archive", found[-1], *_FOLDERS], capture_output=True, check=True).stdout
    folder.mkdir(parents=True)
    subprocess.run(["tar", "--extract", "--directory", str(folder)], input=archive, check=True)
    assert (folder / "VERSION").read_text().strip() == "0.2.0"
    return folder


def _commits(git: list[str]) -> list[str]:
    command = [*git, "log", "--format=%H", "--fixed-strings", f"--grep={RELEASE}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
