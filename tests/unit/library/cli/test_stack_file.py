"""`hosted-mesh validate --kind stack`: a stack's file and the documents that it has or names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from pulumi_hosted_mesh.cli.command import app
from pulumi_hosted_mesh.spec.stack import REQUIRED, StackKind
from typer.testing import CliRunner

from tests.unit.library.clusters.kubeconfigs import content
from tests.unit.library.documents import document

STACKS = Path(__file__).parents[4] / "stacks"


def validated(file: Path | str, given: str = "") -> tuple[int, str]:
    done = CliRunner().invoke(app, ["validate", "--kind", "stack", str(file)], input=given)
    return done.exit_code, done.output


def config(**keys: Any) -> str:
    return yaml.safe_dump({"config": {f"hosted-mesh:{key}": value for key, value in keys.items()}})


@pytest.mark.parametrize("file", sorted(STACKS.glob("Pulumi.*.yaml")), ids=lambda file: str(file.name))
def test_the_committed_files_can_be_used(file: Path) -> None:
    kind = file.name.split(".")[1]
    code, text = validated(file)
    assert (code, text.splitlines()[0]) == (0, f"{file}: stack {kind}")
    for key in REQUIRED[StackKind(kind)]:
        assert re.search(rf"hosted-mesh:{key} (in example\.[\w.-]+|can be used)\n", text)


@pytest.mark.parametrize("kind", StackKind)
def test_what_is_required_is_what_the_program_asks_for(kind: StackKind) -> None:
    program = (STACKS / f"{kind.name.lower()}.py").read_text()
    asked = re.findall(r'configuration\.document\(\w+, "(\w+)"\)', program)
    sometimes = {"federation"} if kind is StackKind.DNS else set()  # with references to data planes alone
    assert tuple(key for key in asked if key not in sometimes) == REQUIRED[kind]
    without = validated("-", config(stack=kind.value))
    assert (without[0], without[1].count("is required by a stack")) == (1, len(REQUIRED[kind]))


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"refrences": {}}, "refrences: is not a field of the document. Did you mean references?"),
        ({"stack": "all"}, "stack: must be one of"),
        ({"mesh": document({"revisions.0.hots": "x"})}, "revisions[0].hots: is not a field"),
        ({"mesh": "nowhere.yaml"}, "(file): cannot be read"),
        ({"mesh": "name: demo\nrevisions: []\n"}, "hosted-mesh:mesh: must be fields, or the path of a file, not text"),
        ({"mesh": "https://me:password@files.example.com/m.yaml"}, "hosted-mesh:mesh: must be fields, or the path"),
        ({"mesh": "a\0b"}, "(file): is a path with an invalid character"),
    ],
    ids=["setting", "kind", "document", "file", "text", "URL", "zero byte"],
)
def test_a_mistake_is_one_message(keys: dict[str, Any], words: str) -> None:
    code, text = validated("-", config(**{"stack": "control-plane", "mesh": document(), **keys}))
    assert (code, words in text) == (1, True), text


def test_a_data_planes_stack_is_told_of_a_control_plane() -> None:
    """By a reference or by files, as `pulumi up` asks."""
    member = yaml.safe_load((STACKS / "example.data-plane.yaml").read_text())
    keys: dict[str, Any] = {"stack": "data-plane", "dataPlane": member}
    for given in (keys, keys | {"endpoints": []}):
        code, text = validated("-", config(**given))
        assert (code, "hosted-mesh:endpoints: is required by a stack data-plane" in text) == (1, True), text
    assert validated("-", config(**keys, references={"controlPlane": "organization/hosted-mesh/cp"}))[0] == 0


def test_a_key_without_the_projects_name_is_the_projects() -> None:
    """As Pulumi has it; and a missing one is called by its whole name."""
    keys = {"stack": "control-plane", "mesh": document({"revisions.0.hots": "x"})}
    assert "revisions[0].hots: is not a field" in validated("-", yaml.safe_dump({"config": keys}))[1]
    assert validated("-", yaml.safe_dump({"config": keys | {"mesh": document()}}))[0] == 0
    assert (
        "hosted-mesh:stack: is required. Add it." in validated("-", yaml.safe_dump({"config": {"aws:stack": "x"}}))[1]
    )


def test_what_is_not_this_programs_is_left_to_pulumi() -> None:
    written = yaml.safe_load(config(stack="control-plane", mesh=document(), certificate={"secure": "v1:x"}))
    written["config"] |= {"aws:region": "eu-central-1", "hosted-mesh:cacerts": {"ca-key.pem": {"secure": "v1:y"}}}
    assert validated("-", yaml.safe_dump({**written, "encryptionsalt": "v1:z"}))[0] == 0
    assert "is no mapping of keys" in validated("-", "name: demo")[1]


@pytest.mark.parametrize("kind", [StackKind.CONTROL_PLANE, StackKind.DATA_PLANE, StackKind.CLUSTER, StackKind.TRUST])
def test_charts_in_a_directory_are_there(kind: StackKind, tmp_path: Path) -> None:
    """As `pulumi up` asks: of the stacks that render them, in the folder of the program if the path is relative."""
    member = yaml.safe_load((STACKS / "example.data-plane.yaml").read_text())
    charts = {"charts": {"path": "charts"}}
    cluster = {"cluster": {"kubeconfig": "kubeconfig"}, **charts}
    keys: dict[str, Any] = {
        "mesh": document({"revisions.0.charts": charts["charts"]}),
        "dataPlane": {**member, **charts},
        "cluster": cluster,
    }
    given = {"stack": kind.value, **{key: keys[key] for key in REQUIRED[kind]}}
    file = tmp_path / "stacks" / f"Pulumi.{kind.value}.yaml"
    file.parent.mkdir()
    file.write_text(config(**given, references={"controlPlane": "organization/hosted-mesh/cp"}))
    (tmp_path / "Pulumi.yaml").touch()
    code, text = validated(file)
    section = "revisions[0].charts.path" if kind is StackKind.CONTROL_PLANE else " charts.path"
    asked = kind is not StackKind.TRUST
    assert (code, f"{section}: has no chart at" in text) == (int(asked), asked), text

    for name in ("base", "istiod", "gateway"):
        (tmp_path / "charts" / name).mkdir(parents=True)
        (tmp_path / "charts" / name / "Chart.yaml").write_text("version: 1.31.1\n")
    code, text = validated(file)
    assert (code, "is too old: the istiod chart has no remote profile" in text) == (int(asked), asked), text
    (tmp_path / "charts/istiod/files").mkdir()
    (tmp_path / "charts/istiod/files/profile-remote.yaml").touch()
    assert validated(file)[0] == 0


def last_line(tmp_path: Path, kind: str, kubeconfig: str = "kubeconfig", **keys: Any) -> tuple[str, str]:
    """The last line of standard output, and standard error. The program's folder has a kubeconfig."""
    (tmp_path / "Pulumi.yaml").touch()
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(content()))
    file = tmp_path / "stacks" / f"Pulumi.{kind}.yaml"
    file.parent.mkdir(exist_ok=True)
    own = {"kubeconfig": kubeconfig}
    mesh = document({"controlPlane.cluster": own, "memberships.0.cluster": own})
    given = {"mesh": mesh, "dataPlane": {"mesh": "demo", "cluster": own}}
    file.write_text(config(stack=kind, **{key: given[key] for key in REQUIRED[StackKind(kind)]}, **keys))
    done = CliRunner().invoke(app, ["validate", "--kind", "stack", str(file)])
    assert done.exit_code == 0, done.output
    return done.stdout.splitlines()[-1].removeprefix(f"{file}: "), done.stderr


CONTROL, MEMBER = "(controlPlane.cluster)", "(memberships[0].cluster)"


@pytest.mark.parametrize(
    ("kind", "places"),
    [
        ("all-in-one", [CONTROL, MEMBER]),
        ("control-plane", [CONTROL]),
        ("access", ["(cluster)"]),
        ("trust", []),
    ],
)
def test_the_last_line_has_the_kubeconfigs_that_the_stack_reads(tmp_path: Path, kind: str, places: list[str]) -> None:
    """Relative to the program's folder, as `pulumi up` reads them; each with its context."""
    line, warnings = last_line(tmp_path, kind)
    assert line.startswith("valid, as kind stack; ")
    assert line.endswith(". No cluster was contacted. It can be used")
    assert re.findall(r"kubeconfig with context provider (\(.*?\))", line) == places
    assert ("it names no kubeconfig" in line) == (not places)
    assert warnings == ""


def test_a_stack_whose_kubeconfig_is_not_here_is_not_said_to_be_usable(tmp_path: Path) -> None:
    line, warnings = last_line(tmp_path, "access", "elsewhere")
    assert line.endswith("It cannot be used from here before the warning is mended")
    assert "names no kubeconfig" not in line
    assert warnings.startswith("warning: cluster.kubeconfig: cannot be read (No such file or directory)")
    assert last_line(tmp_path, "trust", "elsewhere")[0].endswith("It can be used")
