"""A version of Istio that is newer than the newest tested one gives a warning, and runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from pulumi_hosted_mesh.charts.directory import untested
from pulumi_hosted_mesh.spec.charts import Charts


@pytest.mark.parametrize(
    ("version", "is_newer"),
    [("1.30.0", False), ("1.31.99", False), ("1.32.0-rc.1", True), ("1.32.0", True), ("2.0.0", True)],
)
@pytest.mark.parametrize("from_directory", [False, True])
def test_a_newer_minor_version_gives_a_warning(
    version: str, is_newer: bool, from_directory: bool, tmp_path: Path
) -> None:
    charts = Charts(version=version)
    if from_directory:
        (tmp_path / "istiod").mkdir()
        (tmp_path / "istiod/Chart.yaml").write_text(f"version: {version}\n")
        charts = Charts(version="1.31.1", path=str(tmp_path))
    warning = untested(charts)
    assert (warning is not None) == is_newer
    assert warning is None or warning.startswith(f"Istio {version} is newer than 1.31, ")


def test_charts_of_istios_source_have_no_version_to_judge(tmp_path: Path) -> None:
    (tmp_path / "istiod").mkdir()
    (tmp_path / "istiod/Chart.yaml").write_text("version: 1.0.0\n")
    assert untested(Charts(path=str(tmp_path))) is None
