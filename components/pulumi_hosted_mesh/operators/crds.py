"""OLM's custom resource definitions (v0.38.0), without descriptions, and without the schema of a CSV's Deployments.

A CSV repeats the whole schema of Deployments. Its levels are more than the policies can receive from the engine, and
the API server checks each Deployment anyway.

`python -m pulumi_hosted_mesh.operators.crds DIRECTORY` writes the file again, from OLM's `deploy/chart/crds`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from pulumi_hosted_mesh import yaml_text

CSVS: Final = "clusterserviceversions"
DEPLOYMENT: Final = ("spec", "install", "spec", "deployments", "spec")
"""The way to the schema of a Deployment's spec, by properties; lists are passed through."""
FILE: Final = Path(__file__).with_name("olm_crds.json")


@cache
def definitions() -> tuple[Mapping[str, Any], ...]:
    """Each definition's `name`, `annotations` and `spec`."""
    return tuple(json.loads(FILE.read_text(encoding="utf-8")))


def text_of(directory: Path) -> str:
    """The file's text, one definition per line. directory: with OLM's own definitions."""
    found = [yaml_text.load(path.read_text(encoding="utf-8")) for path in sorted(directory.glob("*.yaml"))]
    lines = [
        json.dumps(
            {
                "name": one["metadata"]["name"],
                "annotations": one["metadata"].get("annotations") or {},
                "spec": _without_deployments(one["metadata"]["name"], _without_descriptions(one["spec"])),
            },
            sort_keys=True,
        )
        for one in found
    ]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _without_descriptions(part: Any, *, is_properties: bool = False) -> Any:
    """A schema without its descriptions. A property may have this name: then it stays."""
    if isinstance(part, Mapping):
        return {
            key: _without_descriptions(value, is_properties=key == "properties" and not is_properties)
            for key, value in part.items()
            if is_properties or key != "description" or not isinstance(value, str)
        }
    return [_without_descriptions(one) for one in part] if isinstance(part, list) else part


def _without_deployments(name: str, spec: Any) -> Any:
    """The definition's spec; a CSV's takes any fields in the spec of a Deployment."""
    if not name.startswith(f"{CSVS}."):
        return spec
    for version in spec["versions"]:
        part = version["schema"]["openAPIV3Schema"]
        for step in DEPLOYMENT[:-1]:
            part = part["properties"][step]
            part = part.get("items", part)
        part["properties"][DEPLOYMENT[-1]] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return spec


if __name__ == "__main__":
    FILE.write_text(text_of(Path(sys.argv[1])), encoding="utf-8")
