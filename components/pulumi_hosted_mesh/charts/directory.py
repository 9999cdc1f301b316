"""Istio's charts in a local directory: where one of them is, and of which version they are."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import yaml

from pulumi_hosted_mesh.problems import InvalidInputError, Problem, RuleBrokenError
from pulumi_hosted_mesh.spec.charts import Charts, ChartSource
from pulumi_hosted_mesh.spec.fields import chart_version

SOURCE: Final = "Istio's charts"
UNRELEASED: Final = "1.0.0"
"""The version of the charts in Istio's source tree, whatever their age; its releases write the real one."""
REMOTE_PROFILE: Final = Path("istiod/files/profile-remote.yaml")


def local_chart(charts: ChartSource, name: str, start: Path = Path()) -> Path | None:
    """Where one of Istio's charts (`base`, `istiod`, `gateway`) is; None if they come from a repository.

    start: where a relative path starts, by default the working directory, which is the program's in `pulumi up`.
    Raises: InvalidInputError if the directory has no such charts or too old ones.
    """
    if charts.path is None:
        return None
    directory = (start / _expanded(charts.path)).resolve()
    if not (directory / name / "Chart.yaml").is_file():
        rule = f"has no chart at {name}/Chart.yaml"
        raise InvalidInputError([Problem("charts.path", rule, "Name a directory with Istio's charts")], SOURCE)
    if not (directory / REMOTE_PROFILE).is_file():
        rule = f"is too old: the istiod chart has no remote profile ({REMOTE_PROFILE})"
        raise InvalidInputError([Problem("charts.path", rule, "Use the charts of Istio 1.31 or later")], SOURCE)
    version = _version(directory / name / "Chart.yaml")
    if version != UNRELEASED:
        try:
            chart_version(version)
        except RuleBrokenError as broken:
            fix = "Use the charts of Istio 1.31 or later"
            problem = Problem("charts.path", f"{name}/Chart.yaml: {broken.rule}", fix)
            raise InvalidInputError([problem], SOURCE) from None
    return directory / name


def newest(charts: Iterable[Charts]) -> Charts:
    """Those of the newest version; a release comes after what went before it, and Istio's source tree after all.

    Two revisions of one mesh need one set of definitions, and an older set lacks what the newer istiod reads.
    """
    return max(charts, key=_age)


def _age(charts: Charts) -> tuple[bool, list[int], bool, str]:
    version = _version(_expanded(charts.path) / "base/Chart.yaml") if charts.path else charts.version
    numbers, _, before = version.partition("+")[0].partition("-")
    return version == UNRELEASED, [int(one) for one in numbers.split(".") if one.isdigit()], not before, before


def _expanded(path: str) -> Path:
    return Path(os.path.expandvars(path)).expanduser()


def _version(file: Path) -> str:
    """The version that a Chart.yaml gives; empty if there is none to read."""
    try:
        chart = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return ""
    return str(chart.get("version", "")) if isinstance(chart, Mapping) else ""
