"""The process of one look: `python -m hosted_mesh_controller.job.discovery` lists the meshes in clusters.

It reads a list of clusters on standard input, runs `hosted-mesh discover` for each, and prints the answers by name. The
service itself reads no kubeconfig.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import yaml

from hosted_mesh_controller.job.tool import printed

_AT_ONCE: Final = 4


def look(cluster: Mapping[str, Any]) -> dict[str, Any] | None:
    """The meshes of one cluster; None for a cluster that cannot be read."""
    try:
        file = Path(cluster["kubeconfig"]).expanduser()
        context = cluster["context"] or yaml.safe_load(file.read_text(encoding="utf-8"))["current-context"]
        found: dict[str, Any] = json.loads(printed("discover", context, "--kubeconfig", str(file), "--json"))
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError, subprocess.TimeoutExpired):
        return None
    return None if found["unreachable"] else found


def main() -> None:
    """Looks at the clusters of the line on standard input."""
    clusters = json.loads(sys.stdin.readline())
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = dict(zip([one["name"] for one in clusters], pool.map(look, clusters), strict=True))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
