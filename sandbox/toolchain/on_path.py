"""Programs on PATH: used when they are official releases at a fitting version."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

Version = tuple[int, ...]
_ASK_LIMIT = 10.0  # seconds for a program to print its version
# Where distributions put network tools; an ordinary user's PATH lacks it.
_SYSTEM_FOLDERS = ("/usr/sbin", "/sbin")


@dataclass(frozen=True)
class Fit:
    """The fitting versions of a program. `ask`: arguments that print its version.

    official: regular expression for the output of an official release; group 1 is a plain version number. A vendor's
    build (v1.32.4-dispatcher, v1.33.1+k3s1) does not match. lowest: included. below: excluded.
    """

    ask: tuple[str, ...]
    official: str
    lowest: Version
    below: Version

    def version_in(self, printed: str) -> str | None:
        """The version printed by an official release, or None for other builds and unfitting versions."""
        match = re.search(self.official, printed, re.MULTILINE)
        if not match:
            return None
        version = parse_version(match[1])
        return match[1] if self.lowest <= version < self.below else None


@dataclass(frozen=True)
class Found:
    """A fitting program. path: absolute. version: like "1.36.3"."""

    path: Path
    version: str


def parse_version(text: str) -> Version:
    """The numbers of a version ("go1.26.6", "1.27rc1", "v4.34.2"); () for one without, such as a development build."""
    match = re.match(r"(?:go|v)?(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(number or 0) for number in match.groups()) if match else ()


def find(fits: Mapping[str, Fit], ours: Path) -> dict[str, Found]:
    """The programs (by name) at a fitting version on PATH; `ours` is a folder that does not count."""
    folders = [*filter(None, os.environ.get("PATH", os.defpath).split(os.pathsep)), *_SYSTEM_FOLDERS]
    search = [folder for folder in folders if not Path(folder).resolve().is_relative_to(ours.resolve())]
    places = {name: shutil.which(name, path=os.pathsep.join(search)) for name in fits}
    present = {name: Path(place).absolute() for name, place in places.items() if place and is_compiled(Path(place))}
    if not present:
        return {}
    with ThreadPoolExecutor(max_workers=4) as pool:
        printed = dict(zip(present, pool.map(lambda name: _ask(present[name], fits[name].ask), present), strict=True))
    versions = {name: fits[name].version_in(text) for name, text in printed.items()}
    return {name: Found(present[name], version) for name, version in versions.items() if version}


def is_compiled(path: Path) -> bool:
    """Scripts do not count: version managers' shims and Python's console scripts do not run in another root."""
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def _ask(program: Path, arguments: tuple[str, ...]) -> str:
    # Version checks use no network (istioctl and kubectl would look for a cluster, pulumi for updates).
    environment = os.environ | {"KUBECONFIG": os.devnull, "PULUMI_SKIP_UPDATE_CHECK": "true"}
    try:
        answer = subprocess.run(
            [program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_ASK_LIMIT,
            env=environment,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.decode(errors="replace")
