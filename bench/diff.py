"""The time of `hosted-mesh diff`: one changed stack, and 50 stacks of which 3 change."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from sandbox import toolchain
from sandbox.bootstrap import CHECKOUT
from sandbox.progress import Progress

EXAMPLE: Final = CHECKOUT / "examples" / "two_clusters"
PACKAGES: Final = ("components", "plan", "policies", "analysis")
STACKS: Final = 50
CHANGED: Final = 3
ROUNDS: Final = 3
RANGE: Final = "203.0.113.0/24"


def run(progress: Progress, console: Console) -> None:
    """Prints the table."""
    tools = toolchain.ensure(["helm"], progress=progress)
    found = Table("", "median", "least", "most", "computing time", "goal")
    for stacks, changed, goal in ((1, 1, "10 s"), (STACKS, CHANGED, "60 s")):
        with tempfile.TemporaryDirectory(prefix="hosted-mesh-bench-diff-") as folder:
            repository, cache = Path(folder) / "repository", Path(folder) / "cache"
            make(repository, stacks, changed, tools_charts(tools))
            variables = {"HOSTED_MESH_HELM": str(tools["helm"]), "XDG_CACHE_HOME": str(cache)}
            first, again = [], []
            for _ in range(ROUNDS):
                shutil.rmtree(cache, ignore_errors=True)
                first.append(seconds(repository, variables, changed))
                again.append(seconds(repository, variables, changed))
            name = f"{stacks} stack{'s' if stacks > 1 else ''}, {changed} changed"
            _row(found, f"{name}, no memo", first, goal)
            _row(found, f"{name}, memo of an earlier run", again, goal)
    console.print(found)


def tools_charts(tools: toolchain.Tools) -> Path | None:
    """Istio's charts, if they are built: a run without them measures without rendering."""
    return tools.charts if tools.charts.is_dir() else None


def _row(table: Table, name: str, times: list[tuple[float, float]], goal: str) -> None:
    ordered, computing = sorted(one for one, _ in times), sorted(one for _, one in times)
    shown = (ordered[len(ordered) // 2], ordered[0], ordered[-1], computing[len(computing) // 2])
    table.add_row(name, *(f"{one:.1f} s" for one in shown), goal)


def make(folder: Path, stacks: int, changed: int, charts: Path | None) -> None:
    """A repository: the example with a document for each stack, and a change of some in the working tree."""
    folder.mkdir(parents=True)
    shutil.copy(EXAMPLE / "__main__.py", folder)
    shutil.copy(EXAMPLE / "Pulumi.yaml", folder)
    document = (EXAMPLE / "mesh.yaml").read_text(encoding="utf-8")
    if charts is not None:
        document = document.replace("charts: {version: 1.31.1}", f"charts: {{path: {charts}, tag: 1.31.1}}")
    (folder / "documents").mkdir()
    for number in range(stacks):
        own = document.replace("name: shop\n", f"name: shop-{number}\n").replace(
            "istiod.shop.", f"istiod.shop-{number}."
        )
        (folder / f"documents/mesh-{number}.yaml").write_text(own, encoding="utf-8")
        (folder / f"Pulumi.stack-{number}.yaml").write_text(
            f"config: {{two-clusters:document: documents/mesh-{number}.yaml}}\n", encoding="utf-8"
        )
    # The contexts of the made-up kubeconfig come from a document beside the program.
    (folder / "mesh.yaml").write_text(document, encoding="utf-8")
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@example.com")
    for command in (
        ("init", "--quiet", "--initial-branch", "main"),
        ("add", "--all"),
        ("commit", "--quiet", "-m", "all"),
    ):
        subprocess.run(["git", "-C", str(folder), *identity, *command], check=True)
    for number in range(changed):
        file = folder / f"documents/mesh-{number}.yaml"
        file.write_text(file.read_text(encoding="utf-8").replace(RANGE, "198.51.100.0/24"), encoding="utf-8")


def seconds(folder: Path, variables: Mapping[str, str], changed: int) -> tuple[float, float]:
    """The time of one comparison, and the computing time of its processes. Raises RuntimeError for another result."""
    path = os.pathsep.join(str(CHECKOUT / one) for one in PACKAGES)
    command = [sys.executable, "-m", "hosted_mesh_analysis.diff.command", str(folder), "--base", "main", "--offline"]
    environment = {**os.environ, **variables, "PYTHONPATH": path}
    start, before = time.monotonic(), _computed()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    taken = time.monotonic() - start, _computed() - before
    expected = f"{changed} stack{'s differ' if changed > 1 else ' differs'} from"
    if expected not in done.stdout or "not decided" in done.stdout:
        raise RuntimeError(f"the comparison did not find {changed} changed stacks:\n{done.stdout[-2000:]}{done.stderr}")
    return taken


def _computed() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
