"""`hosted-mesh-policies`: the pack's folder, the first settings file, and what is wrong with an argument."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from hosted_mesh_plan.clusters import Role
from hosted_mesh_policies.configuration import check
from hosted_mesh_policies.evaluation.settings import Settings
from hosted_mesh_policies.proposal import guess
from hosted_mesh_policies.settings_file.command import app
from typer.testing import CliRunner, Result

from tests.corpus import literals

URN = "urn:pulumi:prod::shop::"
KUBERNETES = "pulumi:providers:kubernetes"
MARK = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"}
CLUSTERS = "providers-reach-their-own-cluster"
FLOW = "control-plane-secrets-do-not-flow-to-data-plane"
SERVERS = {side: f"https://{side}.example.com:6443" for side in ("hub", "shop", "blue")}


def run(*arguments: str | Path, pipe: str = "") -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)], input=pipe)


def _state(kind: str, called: str, provider: str = "", **inputs: Any) -> dict[str, Any]:
    state = {"urn": f"{URN}{kind}::{called}", "type": kind, "inputs": inputs, "outputs": inputs}
    package = kind.split(":", maxsplit=1)[0]
    return state | ({"provider": f"{URN}pulumi:providers:{package}::{provider}::id"} if provider else {})


def _cluster(name: str, server: str = "", **more: Any) -> dict[str, Any]:
    kubeconfig: Any = literals.kubeconfig(server, literals.opaque(name, 40)) if server else {**MARK, "ciphertext": "v1"}
    return _state(KUBERNETES, name, kubeconfig=kubeconfig, **more)


def preview(*states: dict[str, Any]) -> str:
    return json.dumps({"steps": [{"op": "create", "newState": state} for state in states]})


PROGRAM = (
    _cluster("hub", SERVERS["hub"]),
    _cluster("shop-tenant", SERVERS["shop"]),
    _cluster("x", SERVERS["blue"]),
    _cluster("edge"),
    _state("pulumi:providers:aws", "tenant-account"),
    _state("pulumi:providers:aws", "backup"),
    _state("pulumi:providers:aws", "default_7"),
    _state("pulumi:providers:command", "default_1"),
    _state("aws:s3/bucket:Bucket", "one", "tenant-account"),
    _state("aws:s3/bucket:Bucket", "two", "backup"),
    _state("aws:s3/bucket:Bucket", "three", "default_7"),
    _state("command:local:Command", "four", "default_1"),
    _state("pulumi:providers:github", "default_6"),
    _state("github:index/repositoryFile:RepositoryFile", "five", "default_6"),
    _state("pulumi:pulumi:StackReference", "shop/data-plane/prod", name="shop/data-plane/prod"),
    _state("pulumi:pulumi:StackReference", "acme/network/prod", name="acme/network/prod"),
    _state("pulumi:pulumi:StackReference", "acme/control-plane/prod", name="acme/control-plane/prod"),
)


def _written(tmp_path: Path, *states: dict[str, Any]) -> tuple[Result, dict[str, Any]]:
    file = tmp_path / "settings.json"
    done = run("init", "-", "--output", file, pipe=preview(*states))
    return done, json.loads(file.read_text()) if file.exists() else {}


def test_init_lists_what_a_preview_has_with_a_guess_for_each(tmp_path: Path) -> None:
    done, found = _written(tmp_path, *PROGRAM)
    assert done.exit_code == 1  # there are questions
    clusters = found[CLUSTERS]
    assert clusters["controlPlaneServers"] == [SERVERS["hub"]]
    assert clusters["dataPlaneServers"] == [SERVERS["shop"]]
    assert clusters["controlPlaneProviders"] == ["command:default*"]
    assert clusters["dataPlaneProviders"] == ["kubernetes:edge", "aws:tenant-account"]
    assert found[FLOW] == {"dataPlaneStacks": ["*/data-plane", "shop/data-plane/prod"]}


def test_it_asks_where_no_name_tells(tmp_path: Path) -> None:
    _, found = _written(tmp_path, *PROGRAM)
    questions = [one for one in found[CLUSTERS]["comments"] if one.startswith("QUESTION")]
    assert [
        next(word for word in (SERVERS["blue"], "aws:backup", "github:default*", "acme/network") if word in one)
        for one in questions
    ] == ([SERVERS["blue"], "aws:backup", "github:default*", "acme/network"])
    assert "controlPlaneServers if it is the control plane's" in questions[0]


def test_the_pack_takes_the_file(tmp_path: Path) -> None:
    _, found = _written(tmp_path, *PROGRAM)
    check(found)
    settings = Settings.read(found)
    assert settings.declares_owners
    assert settings.clusters.control_plane_servers == (SERVERS["hub"],)


def test_without_questions_the_exit_code_is_0(tmp_path: Path) -> None:
    done, _ = _written(tmp_path, *PROGRAM[:2])
    assert done.exit_code == 0


def test_the_librarys_wrappers_need_no_setting(tmp_path: Path) -> None:
    names = ("control-plane-cluster", "data-plane-cluster")
    wrapped = [_cluster(name, server) for name, server in zip(names, SERVERS.values(), strict=False)]
    done, found = _written(tmp_path, *wrapped)
    assert (done.exit_code, found) == (0, {CLUSTERS: {"comments": []}})


def test_the_file_has_no_credential(tmp_path: Path) -> None:
    _written(tmp_path, *PROGRAM)
    text = (tmp_path / "settings.json").read_text()
    assert not any(literals.opaque(name, 40) in text for name in ("hub", "shop-tenant", "x"))


def test_a_file_that_exists_stays(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text("mine")
    done = run("init", "-", "--output", file, pipe=preview(*PROGRAM))
    assert (done.exit_code, file.read_text()) == (2, "mine")
    assert done.stderr == f"--output {file}: exists. Give another name, or --force to replace it\n"
    assert run("init", "-", "--output", file, "--force", pipe=preview(*PROGRAM)).exit_code == 1
    assert file.read_text() != "mine"


@pytest.mark.parametrize(
    ("arguments", "pipe", "said"),
    [
        (("init", "nothing.json"), "", "nothing.json: does not exist. Check the path"),
        (("init", "-"), "{", "-: cannot be read as JSON or YAML: its syntax is wrong in line 2. Correct it"),
        (("init", "-"), "{}", "-: has no state, preview or Kubernetes object"),
        (
            ("init", "-"),
            preview(_state("a:b:C", "c")),
            "-: has no provider. Give the output of `pulumi preview --json`",
        ),
        (
            ("init", "-", "--output", "no/such/folder"),
            preview(*PROGRAM),
            "--output no/such/folder: cannot be written: ",
        ),
    ],
)
def test_what_is_wrong_is_one_line(
    arguments: tuple[str, ...], pipe: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(*arguments, pipe=pipe)
    assert done.exit_code == 2
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_output_may_be_printed() -> None:
    done = run("init", "-", "--output", "-", pipe=preview(*PROGRAM))
    assert json.loads(done.stdout)[CLUSTERS]["controlPlaneServers"] == [SERVERS["hub"]]


def test_path_is_a_folder_that_the_engine_starts() -> None:
    done = run("path")
    folder = Path(done.stdout.strip())
    assert (done.exit_code, done.stdout.count("\n")) == (0, 1)
    assert (folder / "PulumiPolicy.yaml").is_file()
    assert (folder / "__main__.py").is_file()


def test_version_and_help() -> None:
    assert run("--version").stdout == f"{version('hosted-mesh-policies')}\n"
    for arguments in ((), ("--help",), ("-h",)):
        assert 'pulumi preview --policy-pack "$(hosted-mesh-policies path)"' in run(*arguments).stdout
    assert "In the program's folder: hosted-mesh-policies init" in run("init", "--help").stdout
    assert run("nonsense").exit_code == 2


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("control-plane", Role.CONTROL_PLANE),
        ("hubCluster", Role.CONTROL_PLANE),
        ("mgmt-eu1", Role.CONTROL_PLANE),
        ("shop/data-plane/prod", Role.DATA_PLANE),
        ("tenant_shop", Role.DATA_PLANE),
        ("customers", Role.DATA_PLANE),
        ("hub-tenant", None),
        ("blue", None),
        ("", None),
        ("happening", None),
    ],
)
def test_a_guess_needs_a_word_for_one_side_alone(name: str, role: Role | None) -> None:
    assert guess(name) is role


PREVIEW = """#!/bin/sh
printf '%s\\n' "$@" > {folder}/arguments
[ -n "$FAILS" ] || printf '{proposed}' > "$HOSTED_MESH_SETTINGS"
echo "error: no stack selected" >&2
exit 255
"""


def _pulumi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, fails: bool = False) -> Path:
    """A `pulumi` whose preview is refused, after the pack has written the file."""
    clusters = {"comments": ["QUESTION 1: Who owns it?", "Guessed: so"], "controlPlaneServers": ["https://hub:6443"]}
    program = tmp_path / "bin" / "pulumi"
    program.parent.mkdir()
    program.write_text(PREVIEW.format(folder=tmp_path, proposed=json.dumps({CLUSTERS: clusters})))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    if fails:
        monkeypatch.setenv("FAILS", "1")
    executable = tmp_path / "hosted-mesh-policy-pack"
    executable.touch()
    monkeypatch.setattr("hosted_mesh_policies.settings_file.command._executable", lambda: executable)
    return executable


def test_init_previews_by_itself_with_the_pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable = _pulumi(tmp_path, monkeypatch)
    done = run("init", "--stack", "dev", "--output", tmp_path / "settings.json")
    assert done.exit_code == 1, done.stderr
    assert "question: Who owns it?" in done.stderr
    arguments = (tmp_path / "arguments").read_text().splitlines()
    assert arguments[0] == "preview"
    assert arguments[-4:] == ["--stack", "dev", "--policy-pack", str(executable)]
    assert json.loads((tmp_path / "settings.json").read_text())[CLUSTERS]["controlPlaneServers"] == ["https://hub:6443"]


def test_a_preview_that_does_not_end_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _pulumi(tmp_path, monkeypatch, fails=True)
    done = run("init", "--output", tmp_path / "settings.json")
    assert done.exit_code == 2
    assert done.stderr == "pulumi preview: error: no stack selected. Run it by itself and correct it\n"
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    done = run("init", "--output", tmp_path / "settings.json")
    assert (done.exit_code, done.stderr.partition(":")[0]) == (2, "pulumi")
    assert not (tmp_path / "settings.json").exists()
