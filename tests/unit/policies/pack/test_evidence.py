"""What a preview in one job shows to an update in another: a file, and what it is bound to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hosted_mesh_plan.evidence import Evidence
from hosted_mesh_plan.model import Resource
from hosted_mesh_policies.pack import engine, server
from hosted_mesh_policies.pack.preview_evidence import EvidenceScope, UnusableEvidenceError, load, save
from hosted_mesh_policies.pack.protocol import analyzer_pb2

BOND = EvidenceScope({"": "p/s", "k": "v"}, "program", "of the tenant shop")


def shown(first: str) -> Resource:
    kind, data = "kubernetes:core/v1:ConfigMap", {"a": first, "b": "p@ss,w0rd!x"}
    return Resource(f"urn:pulumi:s::p::{kind}::x", kind, "x", inputs={"data": data})


def test_it_is_bound_to_stack_configuration_program_and_settings(tmp_path: Path) -> None:
    one, other, salted = shown("one"), shown("two"), Evidence(salt="salt")
    path = tmp_path / "evidence"
    save(path, Evidence(shown={one.urn: salted.show(one)}, salt="salt"), BOND)
    found = load(path, BOND)
    assert (found.news(one), len(found.news(other))) == ([], 2)
    assert "w0rd" not in path.read_text()
    assert "shop" not in path.read_text()
    (tmp_path / "older").write_text("{}")
    for why, where, bond in (
        ("of another stack or stack configuration", path, replace(BOND, stack={**BOND.stack, "k": "w"})),
        ("of another stack or stack configuration", path, replace(BOND, stack={**BOND.stack, "": "p/t"})),
        ("of another program", path, replace(BOND, program="changed")),
        ("of other policy settings; give both jobs the same", path, replace(BOND, told="nothing")),
        ("cannot be read", tmp_path / "nothing", BOND),
        ("is no evidence of this version's preview", tmp_path / "older", BOND),
    ):
        with pytest.raises(UnusableEvidenceError, match=why):
            load(where, bond)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose program lies beside its folder."""
    folder = tmp_path / "project"
    for name, text in {
        "project/Pulumi.yaml": "{name: p, runtime: python, main: ../program}",
        "project/mesh.yaml": "name: demo",
        "program/__main__.py": "pass",
        "program/parts/wiring.py": "pass",
        "shared/names.py": "pass",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "program" / "shared").symlink_to(tmp_path / "shared")
    (tmp_path / "shared" / "again").symlink_to(tmp_path / "program")
    return folder


PARTS = ["mesh.yaml", "new.json", "../program/parts/wiring.py", "../program/parts/more.py", "../shared/names.py"]


@pytest.mark.parametrize("name", PARTS)
def test_a_file_that_changes_or_comes_makes_another_program(name: str, project: Path) -> None:
    before = engine.program(project, project / "evidence")
    (project / name).write_text("changed")
    after = engine.program(project, project / "evidence")
    assert before is not None
    assert after is not None
    assert before != after


def test_what_is_no_part_of_the_program_makes_no_other(project: Path) -> None:
    (project / "below").mkdir()
    before = engine.program(project, project / "evidence")
    for name in (
        "evidence",
        "Pulumi.dev.yaml",
        ".venv/lib/one.py",
        "../program/venv/pyvenv.cfg",
        "../program/venv/lib/one.py",
        "../program/node_modules/one/index.js",
        "../program/__pycache__/one.pyc",
    ):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("changed")
    assert engine.program(project, project / "evidence") == before
    assert engine.program(project / "below", project / "evidence") == before
    assert before is not None


def test_a_program_that_cannot_be_told_has_none(project: Path, tmp_path: Path) -> None:
    assert engine.program(tmp_path / "program", tmp_path / "evidence") is None
    (project / "Pulumi.yaml").write_text("main: [")
    assert engine.program(project, project / "evidence") is None


Told = Mapping[str, Mapping[str, Any]]
CLUSTERS = "providers-reach-their-own-cluster"
TENANTS: Told = {CLUSTERS: {"dataPlaneTenants": ["shop=https://10.0.0.2:6443"]}}


def evidence_of_an_update(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    between: Any = lambda: None,
    *,
    told: Sequence[Told] = ({}, {}),
    off: Sequence[Iterable[str]] = ((), ()),
    **ambient: str,
) -> Evidence | None:
    """A preview in one process of the engine, something in between, and what an update in another takes for true.

    told: the settings of each job, by policy. off: the policies that each has disabled.
    """
    monkeypatch.setattr(server, "note_path", lambda *_: None)
    monkeypatch.setattr(engine, "folder", lambda: project)
    given = {"HOSTED_MESH_EVIDENCE": "evidence", **ambient}
    jobs = server.Analyzer(given), server.Analyzer(given)
    for job, preview, settings, disabled in zip(jobs, (True, False), told, off, strict=True):
        job.configure_stack(analyzer_pb2.AnalyzerStackConfigureRequest(stack="s", project="p", dry_run=preview), None)
        configuration = analyzer_pb2.ConfigureAnalyzerRequest()
        for name, properties in settings.items():
            configuration.policyConfig[name].enforcementLevel = analyzer_pb2.MANDATORY
            configuration.policyConfig[name].properties.update(properties)
        for name in disabled:
            configuration.policyConfig[name].enforcementLevel = analyzer_pb2.DISABLED
        job.configure(configuration, None)
        if preview:
            job.analyze_stack(b"", None)
            between()
        else:
            job.analyze(b"", None)
    return jobs[1].session.evidence


def test_an_update_in_another_job_has_what_the_preview_showed(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its path is relative to where the engine runs, as on any command line."""
    assert evidence_of_an_update(project, monkeypatch) is not None
    assert (project / "evidence").is_file()
    assert capsys.readouterr().err == ""


def test_a_program_that_changed_has_none_and_says_so(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def change() -> None:
        (project / "mesh.yaml").write_text("name: other")

    assert evidence_of_an_update(project, monkeypatch, change) is None
    said = "HOSTED_MESH_EVIDENCE: counts as none: is of another program, or other files beside it\n"
    assert capsys.readouterr().err == said
    # A commit stands for all files.
    assert evidence_of_an_update(project, monkeypatch, change, HOSTED_MESH_PROGRAM="c0ffee") is not None


ORDINARY = "no-credentials-on-data-plane"


@pytest.mark.parametrize(
    ("told", "off"),
    [
        ((TENANTS, {}), ((), ())),
        (({}, TENANTS), ((), ())),
        ((TENANTS, {CLUSTERS: {"dataPlaneTenants": ["shop=https://10.0.0.3:6443"]}}), ((), ())),
        (({}, {}), ((ORDINARY,), ())),
    ],
    ids=["setting that the update lacks", "setting of the update's", "another value", "policy that the preview lacked"],
)
def test_a_pack_that_was_told_otherwise_has_none_and_says_so(
    told: Sequence[Told],
    off: Sequence[Iterable[str]],
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Whose an object is, the settings say: what one preview saw for the data plane's another may refuse."""
    assert evidence_of_an_update(project, monkeypatch, told=told, off=off) is None
    assert "counts as none: is of other policy settings; give both jobs" in capsys.readouterr().err


def test_a_default_that_is_spelled_out_is_no_other_setting(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spelled_out: Told = {CLUSTERS: {"dataPlaneTenants": [], "dataPlaneProviders": []}}
    assert evidence_of_an_update(project, monkeypatch, told=({}, spelled_out)) is not None
    assert evidence_of_an_update(project, monkeypatch, told=(TENANTS, TENANTS)) is not None


def test_without_a_project_a_commit_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evidence_of_an_update(tmp_path, monkeypatch) is None
    assert (
        "is not written: cannot be bound to unreadable program files; set HOSTED_MESH_PROGRAM"
        in capsys.readouterr().err
    )
    assert not (tmp_path / "evidence").exists()
