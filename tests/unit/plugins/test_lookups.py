"""Charts that use `lookup` are refused, wherever it stands in them and in whichever form they come."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from sandbox.plugins.kubernetes.charts import helm
from sandbox.plugins.kubernetes.charts.lookups import refuse_lookups
from sandbox.plugins.protocol.errors import NotImplementedHere

LOOKUP = '{{ lookup "v1" "Secret" "" "" }}'


def _archive(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        LOOKUP,
        '{{- if not (lookup "v1" "Namespace" "" .Release.Namespace) }}',
        '{{ "" | lookup "v1" "Secret" "a" }}',
        '{{ with\n  lookup "v1" "Secret" "a" "b" }}',
    ],
)
def test_calls(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(NotImplementedHere, match=r"lookup function \(.*a\.yaml\)"):
        refuse_lookups(tmp_path, "")


@pytest.mark.parametrize(
    "text",
    [
        "lookup: true",
        "{{ .Values.lookup }}",
        '{{ index .Values "lookup" }}',
        "{{ $lookup }} {{ lookupAll }} {{ dns-lookup }}",
        "{{/* a lookup would be {{ lookup */}}",
        "{{- /* lookup */ -}}",
        "{{ .Values.a }} lookup {{ .Values.b }}",
    ],
)
def test_what_is_no_call(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.yaml").write_text(text)
    refuse_lookups(tmp_path, text)


def test_every_place(tmp_path: Path) -> None:
    chart = tmp_path / "chart"
    inner = _archive({"inner/templates/_helpers.tpl": LOOKUP.encode()})
    for place, content in {
        "templates/deep/NOTES.txt": LOOKUP.encode(),
        "files/script.sh": LOOKUP.encode(),  # tpl may read it
        "charts/inner/templates/a.yaml": LOOKUP.encode(),
        "charts/inner-0.1.0.tgz": inner,
    }.items():
        file = chart / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        with pytest.raises(NotImplementedHere, match="lookup"):
            refuse_lookups(chart, "")
        packed = tmp_path / "chart.tgz"
        packed.write_bytes(_archive({f"chart/{place}": content}))
        with pytest.raises(NotImplementedHere, match="lookup"):
            refuse_lookups(packed, "")
        file.unlink()
    with pytest.raises(NotImplementedHere, match="the values"):
        refuse_lookups(chart, LOOKUP)


def test_nothing_is_rendered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOSTED_MESH_HELM", str(tmp_path / "no-helm"))
    chart = tmp_path / "chart"
    chart.mkdir()
    (chart / "a.yaml").write_text(LOOKUP)
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotImplementedHere, match="lookup"):
        helm.render(helm.Chart("a", "default", str(chart)), "v1.36.3", [])
    with pytest.raises(NotImplementedHere, match="lookup"):
        spread = LOOKUP.replace(" ", "\n")
        helm.render(helm.Chart("a", "default", str(tmp_path / "empty"), values={"a": spread}), "v1.36.3", [])


def test_a_chart_that_is_fetched_is_looked_at_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = tmp_path / "packed.tgz"
    packed.write_bytes(_archive({"chart/templates/a.yaml": LOOKUP.encode()}))
    program = tmp_path / "helm"
    program.write_text(f'#!/bin/sh\n[ "$1 $2 $3" = "pull app --destination" ] && cp {packed} "$4/app-1.0.0.tgz"\n')
    program.chmod(0o755)
    monkeypatch.setenv("HOSTED_MESH_HELM", str(program))
    with pytest.raises(NotImplementedHere, match=r"lookup function \(app-1.0.0.tgz: chart/templates/a.yaml\)"):
        helm.render(helm.Chart("a", "default", "app", repository="https://charts.example"), "v1.36.3", [])
