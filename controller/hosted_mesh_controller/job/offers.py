"""The process of one look: `python -m hosted_mesh_controller.job.offers` reads the Services that meshes export.

It reads a list of meshes on standard input, runs `hosted-mesh exports` for each, and prints the Services of each, or
null for one that could not be read. The service itself reads no kubeconfig.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import yaml

from hosted_mesh_controller.job.tool import printed

_AT_ONCE: Final = 4


def look(mesh: Mapping[str, Any]) -> list[Any] | None:
    """The exported Services of one mesh; None for one that cannot be read."""
    context = ["--context", mesh["context"]] if mesh["context"] else []
    # JSON is YAML. The document comes by standard input, so that no file is left behind.
    options = ["--mesh", mesh["mesh"], "--kubeconfig", mesh["kubeconfig"], *context]
    try:
        found = yaml.safe_load(printed("exports", "/dev/stdin", *options, given=json.dumps(mesh["federation"])))
        return list(found["services"])
    except (OSError, yaml.YAMLError, KeyError, TypeError, subprocess.SubprocessError):
        return None


def main() -> None:
    """Looks at the meshes of the line on standard input."""
    meshes = json.loads(sys.stdin.readline())
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        print(json.dumps(list(pool.map(look, meshes))))


if __name__ == "__main__":
    main()
