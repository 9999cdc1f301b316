"""`hosted-mesh prove --preview` with a stand-in for the engine: what it is given, and what is made of what it plans."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.support.waiting import eventually
from tests.unit.analysis.prove import fake_pulumi

TOKEN = "9dm2k7qz0xv4tn81rc6wpe35"
"""What no run may see: a password from the environment, the token of a kubeconfig, a key in plain configuration."""

BEGINNING = """
import base64, json, os, sys
from pathlib import Path
import yaml
from tests.unit.analysis.prove.fake_pulumi import provider, resource, secret

KNOWN = "9dm2k7qz0xv4tn81rc6wpe35"
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
kubeconfig = Path(os.environ["KUBECONFIG"]).read_text()
clusters = [
    provider("control-plane-cluster", kubeconfig=kubeconfig, context="cp"),
    provider("data-plane-cluster", kubeconfig=kubeconfig, context="dp"),
]
def config_map(name, data, where="data-plane-cluster", **more):
    inputs = {"metadata": {"name": name}, "data": data}
    return resource("kubernetes:core/v1:ConfigMap", name, inputs, where, **more)
def kept(config):
    return [*clusters, config_map("kept", {"token": secret(config["shop:token"])}, "control-plane-cluster")]
"""
CLEAN = 'def plan(config, answer): return [*kept(config), config_map("app", {"x": config["shop:public"]})]'
LEAK = """
def plan(config, answer):
    disguised = base64.b85encode(config["shop:token"].encode()).decode()
    return [*kept(config), config_map("app", {"x": secret(disguised), "y": config["shop:public"]})]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "repository" / "program"
    made.mkdir(parents=True)
    (tmp_path / "tmp").mkdir()
    (made / "Pulumi.yaml").write_text("name: shop\nruntime: nodejs\n")
    own = {"shop:token": {"secure": "v1:abc"}, "shop:public": "hello", "shop:plain": TOKEN, "shop:odd": "~nobody/x"}
    (made / "Pulumi.dev.yaml").write_text(yaml.safe_dump({"encryptionsalt": "v1:theirs", "config": own}))
    names = ("cp", "dp")
    (tmp_path / "kubeconfig").write_text(
        yaml.safe_dump(
            {
                "clusters": [{"name": n, "cluster": {"server": f"https://{n}.example.com"}} for n in names],
                "users": [{"name": n, "user": {"token": TOKEN}} for n in names],
                "contexts": [{"name": n, "context": {"cluster": n, "user": n}} for n in names],
            }
        )
    )
    return made


def _started(folder: Path, program: str, *options: str) -> subprocess.Popen[str]:
    top = folder.parents[1]
    (folder / "program.py").write_text(BEGINNING + program)
    bin_dir = top / "bin"
    bin_dir.mkdir(exist_ok=True)
    command = bin_dir / "pulumi"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} {fake_pulumi.__file__} "$@"\n')
    command.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{bin_dir}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(sys.path),
        "KUBECONFIG": str(top / "kubeconfig"),
        "DB_PASSWORD": TOKEN,
        "PULUMI_ACCESS_TOKEN": TOKEN,
        "TMPDIR": str(top / "tmp"),
        "COLUMNS": "200",
    }
    prove = [sys.executable, "-m", "hosted_mesh_analysis.prove.command", str(folder), "--preview", "--rounds", "1"]
    return subprocess.Popen(
        [*prove, *options], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def prove(folder: Path, program: str, *options: str) -> subprocess.CompletedProcess[str]:
    process = _started(folder, program, *options)
    output, error = process.communicate()
    assert list((folder.parents[1] / "tmp").iterdir()) == []
    return subprocess.CompletedProcess([], process.returncode, output, error)


def test_a_clean_program_is_proven(folder: Path) -> None:
    done = prove(folder, CLEAN)
    assert (done.returncode, done.stderr) == (0, "")
    assert "proven: no property of a data plane depends on a secret of the control plane" in done.stdout
    assert "note: a preview does not show resources made inside apply" in done.stdout


def test_a_disguised_secret_is_found_with_its_property_and_key(folder: Path) -> None:
    found = json.loads(prove(folder, LEAK, "--json").stdout)
    assert [(one["kind"], one["resource"], one["path"], one["secrets"]) for one in found["findings"]] == [
        ("leak", "ConfigMap app", "data.x", ["configuration shop:token"])
    ]
    assert found["sides"] == {"https://cp.example.com:443": "control plane", "https://dp.example.com:443": "data plane"}


def test_what_only_an_update_knows_is_not_proven(folder: Path) -> None:
    program = 'def plan(config, answer): return [*kept(config), config_map("app", {"x": UNKNOWN})]'
    found = json.loads(prove(folder, program, "--json").stdout)
    assert [(one["kind"], one["path"], one["why"]) for one in found["findings"]] == [
        ("undecided", "data.x", "only an update computes it")
    ]
    there = program.replace('{"x": UNKNOWN}', '{"x": "y"}, "control-plane-cluster"')
    assert prove(folder, there).returncode == 0
    assert prove(folder, there.replace('"y"', "UNKNOWN")).returncode == 0


@pytest.mark.parametrize(
    ("program", "option", "said"),
    [
        (
            "def plan(config, answer):\n"
            "    answer['calls'] = ['aws:index/getSecret:getSecret', 'kubernetes:yaml:decode']\n"
            "    return kept(config)",
            "aws:index/getSecret:getSecret",
            "function aws:index/getSecret:getSecret: it returns the same in each run",
        ),
        (
            "def plan(config, answer):\n    urn = 'urn:pulumi:dev::shop::kubernetes:core/v1:Secret::theirs'\n"
            "    state = {'urn': urn, 'type': 'kubernetes:core/v1:Secret', 'id': 'a/b'}\n"
            "    answer['steps'] = [{'op': 'read', 'urn': urn, 'newState': state}]\n    return kept(config)",
            "theirs",
            "kubernetes:core/v1:Secret theirs: it reads the same in each run",
        ),
        (
            "def plan(config, answer):\n"
            "    state = {'key': secret(UNKNOWN)}\n"
            "    return [*kept(config), resource('acme:index:Key', 'made', {}, 'control-plane-cluster', state=state)]",
            "acme:index:Key",
            "acme:index:Key made: only an update computes its secret",
        ),
    ],
)
def test_what_a_run_cannot_change_is_said_and_not_proven(folder: Path, program: str, option: str, said: str) -> None:
    done = prove(folder, program)
    assert (done.returncode, done.stderr) == (2, "")
    assert f"could not run: {said}" in done.stdout
    done = prove(folder, program, "--keep", option)
    assert done.returncode == 0
    assert f"note: {said}" in done.stdout


def test_no_credential_of_this_machine_is_given_to_a_run(folder: Path) -> None:
    (folder / "key.txt").write_text(f"eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.{TOKEN}")
    program = """
def plan(config, answer):
    seen = str(dict(os.environ)) + kubeconfig + str(config) + Path("key.txt").read_text()
    assert KNOWN not in seen, "it saw one"
    assert not Path(os.environ["AWS_SHARED_CREDENTIALS_FILE"]).exists()
    assert not Path("Pulumi.dev.yaml").exists()
    assert oct(Path(os.environ["PULUMI_BACKEND_URL"].removeprefix("file://")).parents[1].stat().st_mode)[-3:] == "700"
    assert config["shop:token"] not in str(sys.argv)
    return [*kept(config), config_map("app", {"length": len(config["shop:token"]), "at": str(Path.cwd())})]
"""
    done = prove(folder, program, "--secret", "plain")
    assert done.returncode == 0, done.stdout
    done = prove(folder, program, "--secret", "plain", "--keep", "DB_PASSWORD")
    assert (done.returncode, "AssertionError: it saw one" in done.stdout) == (2, True)


def test_what_is_kept_is_said(folder: Path) -> None:
    program = LEAK.replace("*kept(config)", '*kept({"shop:token": config["shop:plain"]})')
    program = program.replace('config["shop:token"].enc', 'config["shop:plain"].enc')
    assert prove(folder, program, "--secret", "plain").returncode == 1
    done = prove(folder, program, "--secret", "plain", "--keep", "plain")
    assert done.returncode == 0
    assert "note: plain was kept unchanged: dependence on it stays unseen" in done.stdout
    done = prove(folder, CLEAN, "--keep", "plane")
    assert "note: --keep plane: no variable, configuration key, file, function or resource has this name" in done.stdout
    assert TOKEN not in done.stdout


@pytest.mark.parametrize("named", ["{}/kubeconfig", "../../kubeconfig", "${{KUBECONFIG}}"])
def test_a_file_that_the_configuration_names_and_what_lies_beside_the_project(folder: Path, named: str) -> None:
    elsewhere = folder.parents[1] / "kubeconfig"
    (folder.parent / ".git").mkdir()
    (folder.parent / "shared.txt").write_text("shared")
    settings = yaml.safe_load((folder / "Pulumi.dev.yaml").read_text())
    settings["config"]["shop:cluster"] = {"kubeconfig": named.format(folder.parents[1])}
    (folder / "Pulumi.dev.yaml").write_text(yaml.safe_dump(settings))
    program = """
def plan(config, answer):
    assert Path("../shared.txt").read_text() == "shared"
    path = config["shop:cluster"]["kubeconfig"]
    text = Path(path).read_text()
    assert KNOWN not in text
    return [*kept(config), config_map("app", {"x": json.loads(text)["users"][0]["user"]["token"], "path": path})]
"""
    found = json.loads(prove(folder, program, "--json").stdout)
    assert [(one["path"], one["secrets"]) for one in found["findings"]] == [
        ("data.x", ["kubeconfig of https://cp.example.com:443"])
    ], found
    assert TOKEN in elsewhere.read_text()


def test_outputs_of_another_stack_are_made_up(folder: Path) -> None:
    outputs = folder.parents[1] / "outputs.json"
    outputs.write_text(json.dumps({"password": "[secret]", "host": "istiod.example.com"}))
    program = """
from hosted_mesh_analysis.prove.engine.passphrase_cipher import PassphraseCipher
def plan(config, answer):
    backend = Path(os.environ["PULUMI_BACKEND_URL"].removeprefix("file://"))
    latest = json.loads((backend / ".pulumi/stacks/mesh/trust.json").read_text())["checkpoint"]["latest"]
    seal = PassphraseCipher(os.environ["PULUMI_CONFIG_PASSPHRASE"], latest["secrets_providers"]["state"]["salt"])
    outputs = latest["resources"][0]["outputs"]
    password = json.loads(seal.open(outputs["password"]["ciphertext"]))
    return [*kept(config), config_map("app", {"x": password, "y": outputs["host"]})]
"""
    found = json.loads(prove(folder, program, "--stack-outputs", f"organization/mesh/trust={outputs}", "--json").stdout)
    assert [(one["path"], one["secrets"]) for one in found["findings"]] == [
        ("data.x", ["output password of stack organization/mesh/trust"])
    ]


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("def plan(config, answer): raise ValueError('the port is wrong')", "ValueError: the port is wrong"),
        ("def plan(config, answer): raise ValueError(config['shop:token'])", "(its message contains a secret)"),
        (
            "def plan(config, answer): raise ValueError('unknown stack \"organization/a/b\"')",
            "Give the other stack's outputs with --stack-outputs STACK=FILE",
        ),
        ("def plan(config, answer): raise ValueError('401 Unauthorized')", "keep a necessary one with --keep"),
        ("def plan(config, answer): raise ValueError(str(Path.cwd()) + ' is wrong')", "repository/program is wrong"),
        ("import sys\nsys.exit('no plug-in')", "could not run: the preview fails: no plug-in"),
    ],
)
def test_a_preview_that_fails_is_said_in_a_line(folder: Path, program: str, said: str) -> None:
    done = prove(folder, program)
    assert (done.returncode, done.stderr) == (2, "")
    assert said in done.stdout
    assert "hosted-mesh-prove-" not in done.stdout
    assert "not proven: the program could not be run" in done.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--keep", "token"], "--keep token: its value is encrypted and is not read"),
        (["--python", "python3"], "--python: has no effect with --preview"),
        (["--secret", "nothing"], "the configuration has no such key"),
        (["--state", "--state-file", "state.json"], "--state and --state-file exclude each other"),
        (
            ["--state-file", "no-such-file.json"],
            "no-such-file.json: cannot be read (No such file or directory). Write it with `pulumi stack export",
        ),
    ],
)
def test_a_mistake_is_one_line_on_standard_error(folder: Path, options: list[str], said: str) -> None:
    done = prove(folder, CLEAN, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_without_the_engine_it_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, "-m", "hosted_mesh_analysis.prove.command", str(folder), "--preview"]
    environment = {**os.environ, "PATH": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("pulumi: is not on PATH.")


@contextmanager
def _hanging(folder: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Runs of a program that does not end, once one of them is under way; and where it runs."""
    said = folder.parents[1] / "hangs"
    process = _started(folder, f"hangs = {str(said)!r}")
    try:
        eventually(said.exists)
        yield process, Path(said.read_text())
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_removes_the_folder_and_ends_the_engine(folder: Path, number: int, code: int) -> None:
    with _hanging(folder) as (process, where):
        assert where.is_relative_to(folder.parents[1] / "tmp")
        process.send_signal(number)
        output, error = process.communicate(timeout=120)  # the engine would take far longer
        assert (process.returncode, output) == (code, ""), error
    assert list((folder.parents[1] / "tmp").iterdir()) == []
    assert not [one for one in Path("/proc").glob("[0-9]*/cwd") if _leads(one).is_relative_to(folder.parents[1])]


def _leads(link: Path) -> Path:
    try:
        return link.readlink()
    except OSError:  # it has ended
        return Path("/")
