"""A small interpreter of Dockerfiles, for machines without a container engine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath


@dataclass
class Image:
    """The result of a build. root: folder with the image's files, without those of the base image.

    commands: of RUN, which are not executed.
    """

    root: Path
    base: str = ""
    workdir: PurePosixPath = field(default_factory=lambda: PurePosixPath("/"))
    user: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    entrypoint: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)

    def path(self, inside: PurePosixPath) -> Path:
        return self.root / inside.relative_to("/")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs the entry point with this machine's Python, without packages outside the standard library."""
        program, *rest = self.entrypoint
        assert program == "python3"
        command = [sys.executable, "-S", *rest, *arguments]
        environment = {"PATH": os.defpath, **self.environment}
        folder = self.path(self.workdir)
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def build(folder: Path, root: Path) -> Image:
    """Executes the Dockerfile of a folder, which is also the build context. Fails for an unsupported instruction."""
    image = Image(root)
    for line in (folder / "Dockerfile").read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        instruction, _, value = line.partition(" ")
        match instruction:
            case "FROM":
                assert not image.base, "several stages"
                image.base = value
            case "ENV":
                name, _, content = value.partition("=")
                image.environment[name] = content
            case "WORKDIR":
                image.workdir /= value
                image.path(image.workdir).mkdir(parents=True, exist_ok=True)
            case "COPY":
                *patterns, target = value.split()
                sources = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
                assert sources, f"{value}: no such file"
                assert target.endswith("/"), f"{value}: several files need a folder"
                into = image.path(image.workdir / target)
                into.mkdir(parents=True, exist_ok=True)
                for path in sources:
                    shutil.copy(path, into)
            case "RUN":
                image.commands.append(value)
            case "USER":
                image.user = value
            case "ENTRYPOINT":
                image.entrypoint = json.loads(value)
            case _:
                raise AssertionError(f"{instruction}: this interpreter does not support it")
    return image
