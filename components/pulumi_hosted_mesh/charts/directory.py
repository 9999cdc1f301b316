"""Istio's charts in a local directory: paths and versions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from pulumi_hosted_mesh import yaml_text
from pulumi_hosted_mesh.problems import InvalidInputError, Problem, RuleBrokenError
from pulumi_hosted_mesh.spec.charts import Charts, ChartSource
from pulumi_hosted_mesh.spec.fields import CHART_VERSION, NEWEST_TESTED, OLDEST_CHART, chart_version

SOURCE: Final = "Istio's charts"
OLDER_CHARTS: Final = f"Use the charts of Istio {OLDEST_CHART[0]}.{OLDEST_CHART[1]} or later"
UNRELEASED: Final = "1.0.0"
"""The version of all charts in Istio's source tree; releases have the real one."""
REMOTE_PROFILE: Final = Path("istiod/files/profile-remote.yaml")


def local_chart(charts: ChartSource, name: str, start: Path = Path()) -> Path | None:
    """The path of one of Istio's charts (`base`, `istiod`, `gateway`); None for charts of a repository.

    start: directory for a relative path, by default the working directory, in `pulumi up` the program's.
    Raises: InvalidInputError if the directory lacks the charts or has too old ones.
    """
    if charts.path is None:
        return None
    directory = (start / _expanded(charts.path)).resolve()
    if not (directory / name / "Chart.yaml").is_file():
        rule = f"has no chart at {name}/Chart.yaml"
        raise InvalidInputError([Problem("charts.path", rule, "Name a directory with Istio's charts")], SOURCE)
    if not (directory / REMOTE_PROFILE).is_file():
        rule = f"is too old: the istiod chart has no remote profile ({REMOTE_PROFILE})"
        raise InvalidInputError([Problem("charts.path", rule, OLDER_CHARTS)], SOURCE)
    version = _version(directory / name / "Chart.yaml")
    if version != UNRELEASED:
        try:
            chart_version(version)
        except RuleBrokenError as broken:
            fix = OLDER_CHARTS
            problem = Problem("charts.path", f"{name}/Chart.yaml: {broken.rule}", fix)
            raise InvalidInputError([problem], SOURCE) from None
    return directory / name


def newest(charts: Iterable[Charts]) -> Charts:
    """The charts of the newest version. A release is newer than its pre-releases, and Istio's source tree is newest.

    Two revisions of one mesh share one set of definitions, and an older set lacks kinds that the newer istiod reads.
    """
    return max(charts, key=_age)


def untested(charts: Charts) -> str | None:
    """A warning for charts of a newer minor version than the newest tested one; None for others."""
    version = _version(_expanded(charts.path) / "istiod/Chart.yaml") if charts.path else charts.version
    match = CHART_VERSION.fullmatch(version)
    if match is None or (int(match[1]), int(match[2])) <= NEWEST_TESTED:
        return None
    newest_tested = ".".join(map(str, NEWEST_TESTED))
    return (
        f"Istio {version} is newer than {newest_tested}, the newest version that this library is tested with. "
        "Read Istio's upgrade notes, and run it as a canary first: docs/upgrade.md"
    )


def _age(charts: Charts) -> tuple[bool, list[int], bool, str]:
    version = _version(_expanded(charts.path) / "base/Chart.yaml") if charts.path else charts.version
    numbers, _, before = version.partition("+")[0].partition("-")
    return version == UNRELEASED, [int(one) for one in numbers.split(".") if one.isdigit()], not before, before


def _expanded(path: str) -> Path:
    return Path(os.path.expandvars(path)).expanduser()


def _version(file: Path) -> str:
    """The version in a Chart.yaml; empty if it cannot be read."""
    try:
        chart = yaml_text.load(file.read_text(encoding="utf-8"))
    except (OSError, *yaml_text.UNPARSABLE):
        return ""
    return str(chart.get("version", "")) if isinstance(chart, Mapping) else ""
