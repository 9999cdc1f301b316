"""The common parts of reports in SARIF 2.1.0."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote


def document(tool: str, url: str, rules: Sequence[Any], results: Sequence[Any]) -> str:
    """A report of one run of a tool."""
    run = {"tool": {"driver": {"name": tool, "informationUri": url, "rules": rules}}, "results": results}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=2)


def location(file: str, name: str) -> dict[str, Any]:
    """A result's place. file: a path, written as a URI. name: the place in it."""
    uri = quote(os.fsencode(file))
    return {
        "physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": 1}},
        "logicalLocations": [{"fullyQualifiedName": name}],
    }
