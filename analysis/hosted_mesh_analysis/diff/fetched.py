"""Fetches the charts that a comparison lacks. The only part of a comparison with a network: it runs no program.

A program names a chart, and so could send a secret away in an address. So charts come from repositories that the caller
names, and names and versions have plain characters.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from ..runner.charts import RemoteChart, UnrenderedError, helm

ISTIO: Final = "https://istio-release.storage.googleapis.com/charts"
"""Istio's repository, always allowed."""
MOST: Final = 50
"""Most charts of one comparison."""
SECONDS: Final = 120


def cache() -> Path:
    """The user's folder of fetched charts."""
    given = os.environ.get("XDG_CACHE_HOME")
    try:
        base = Path(given) if given else Path.home() / ".cache"
    except RuntimeError:  # a user without a home, as in some containers
        base = Path(tempfile.gettempdir()) / f"cache-{os.getuid()}"
    return base / "hosted-mesh" / "charts"


def fetched(wanted: Iterable[RemoteChart], repositories: Sequence[str], folder: Path) -> tuple[int, list[str]]:
    """Fetches charts into the folder. Returns their number, and notes on others."""
    allowed = {one.rstrip("/") for one in (ISTIO, *repositories)}
    number, notes = 0, []
    for one in sorted(wanted)[:MOST]:
        if not one.is_plain or one.repository not in allowed:
            notes.append(f"chart {one.name} {one.version}: its repository is not allowed; add it by --chart-repository")
            continue
        if problem := _pulled(one, folder / one.folder):
            notes.append(f"chart {one.name} {one.version}: {problem}")
        else:
            number += 1
    return number, notes


def _pulled(one: RemoteChart, folder: Path) -> str:
    """Why a chart cannot be fetched; empty if it is there."""
    source = (
        [f"{one.repository}/{one.name}"]
        if one.repository.startswith("oci://")
        else [one.name, "--repo", one.repository]
    )
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        command = [helm(), "pull", *source, "--version", one.version, "--destination", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except UnrenderedError as problem:
        return str(problem)
    except (OSError, subprocess.TimeoutExpired):
        return "helm pull does not end or cannot be run"
    return "" if done.returncode == 0 and (folder / one.archive).is_file() else "helm pull cannot fetch it"
