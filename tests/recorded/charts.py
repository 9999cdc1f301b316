"""What Helm makes of Istio's charts: objects, and a hash of each one's text.

`facts/charts.yaml` is what the Helm made of them that is the official plug-in's library.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from unittest import mock

import yaml

from sandbox import toolchain
from sandbox.plugins.kubernetes.charts import helm
from sandbox.plugins.kubernetes.objects import Gvk
from sandbox.progress import Progress

_FOLDER: Final = Path(__file__).parent
CASES: Final = _FOLDER / "cases" / "charts.yaml"
FACTS: Final = _FOLDER / "facts" / "charts.yaml"
_HEAD: Final = "# Written by charts.py beside this folder. Not to be edited.\n"
_CLUSTER: Final = "v1.36.0"
_KINDS: Final = (Gvk("autoscaling", "v2", "HorizontalPodAutoscaler"), Gvk("policy", "v1", "PodDisruptionBudget"))


def rendered(program: Path, charts: Path) -> dict[str, list[str]]:
    """By release, each object with the hash of its text, in Helm's order. program: a helm command."""
    found = {}
    with mock.patch.dict(os.environ, {"HOSTED_MESH_HELM": str(program)}):
        for case in yaml.safe_load(CASES.read_text()):
            chart = helm.Chart(
                case["release"],
                case["namespace"],
                str(charts / case["chart"]),
                values=case["values"],
                include_crds=True,
            )
            found[case["release"]] = list(_objects(helm.render(chart, _CLUSTER, _KINDS)))
    return found


def recorded() -> dict[str, list[str]]:
    """The facts."""
    found: dict[str, list[str]] = yaml.safe_load(FACTS.read_text())["cases"]
    return found


def _objects(text: str) -> Iterator[str]:
    for part in re.split(r"^---\n", text, flags=re.MULTILINE):
        if content := yaml.safe_load(part):
            # Helm 4 ends each object with an empty line more than Helm 3.
            text_of = hashlib.sha256(part.strip().encode()).hexdigest()
            yield f"{content['kind']} {content['metadata']['name']} {text_of[:16]}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Records what a Helm makes of Istio's charts.")
    parser.add_argument("--helm", type=Path, required=True, help="the command, of the official plug-in's version")
    parser.add_argument("--source", required=True, help="which version that is, and whose")
    given = parser.parse_args()
    tools = toolchain.ensure(progress=Progress())
    content: dict[str, Any] = {"source": given.source, "cases": rendered(given.helm, tools.charts)}
    FACTS.write_text(_HEAD + yaml.safe_dump(content, sort_keys=False, width=118))
    print(f"{FACTS}: {len(content['cases'])} charts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
