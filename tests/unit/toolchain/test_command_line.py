"""The bootstrap and the command line: what runs, in which order, and what a mistake looks like."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from sandbox import __main__ as start
from sandbox import bootstrap
from sandbox.bootstrap import CHECKOUT, environment_key
from sandbox.clusters import Status
from sandbox.commands import shell
from sandbox.commands.checks import overall
from sandbox.commands.selection import FOLDERS, split_by_folder
from sandbox.commands.shell import command_line
from sandbox.commands.status import describe
from sandbox.errors import SandboxError
from sandbox.plugins import selection
from sandbox.plugins.selection import PluginSet
from sandbox.program_environment import pulumi_home, state_dir, with_tools
from sandbox.progress import Progress
from sandbox.toolchain import Tools


def test_an_old_python_is_told_which_one_is_needed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(start, "LOWEST", (99, 0))
    assert start.main() == 2
    assert "needs Python 3.11 or later" in capsys.readouterr().err


def test_the_environment_s_key_follows_pins_and_checkout(tmp_path: Path) -> None:
    keys = {environment_key(tmp_path), environment_key(tmp_path / "other")}
    (tmp_path / "constraints.txt").write_text("pulumi==3.256.0\n")
    keys.add(environment_key(tmp_path))
    assert len(keys) == 3


def test_an_ignored_interrupt_is_not_inherited_by_what_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `make up &` in a script has it; Pulumi's language host would not end when the engine asks it to."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    monkeypatch.setattr(bootstrap, "ensure_environment", lambda _: Path(sys.executable))
    started = []
    monkeypatch.setattr(os, "execv", lambda _, command: started.append((command, signal.getsignal(signal.SIGINT))))
    try:
        bootstrap.run(["up"])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    # What has a handler here has the default after an exec; what is ignored stays ignored.
    assert started == [([sys.executable, "-m", "sandbox.commands.cli", "up"], signal.default_int_handler)]


def run(*arguments: str, state: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sandbox.commands.cli", *arguments],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(CHECKOUT), "HOSTED_MESH_STATE": str(state)},
        timeout=60,
        check=False,
    )


def test_help_teaches_and_a_wrong_command_is_told(tmp_path: Path) -> None:
    helped = run("--help", state=tmp_path / "none")
    assert helped.returncode == 0
    assert all(command in helped.stdout for command in ("up", "down", "status", "shell", "test", "lint", "tools"))
    wrong = run("bogus", state=tmp_path / "none")
    assert wrong.returncode == 2
    assert "No such command 'bogus'" in wrong.stderr


def test_a_view_of_kiali_without_kiali_is_refused(tmp_path: Path) -> None:
    wrong = run("up", "--users-view", state=tmp_path / "none")
    assert wrong.returncode == 2
    assert "add --observability" in wrong.stderr
    assert not (tmp_path / "none").exists()


def test_a_shell_without_a_sandbox_is_one_block_without_a_stack_trace(tmp_path: Path) -> None:
    failed = run("shell", "-c", "true", state=tmp_path / "none")
    assert failed.returncode == 1
    assert failed.stderr == f"\nNo sandbox runs in {tmp_path / 'none'}.\nTo fix it: `make up` starts one.\n"


def test_the_exit_code_of_status_says_that_nothing_runs(tmp_path: Path) -> None:
    seen = run("status", "--json", state=tmp_path / "none")
    assert seen.returncode == 3
    assert '"running": false' in seen.stdout


def test_status_says_which_better_way_the_machine_did_not_allow() -> None:
    why = "rootless with a range of users: newuidmap: write to uid_map failed: Operation not permitted"
    text = describe(
        Status(running=True, mode="rootless", pid=7, less_real="rootless with one user", refused=(why,)), Path("x")
    )
    assert text.splitlines()[1:] == ["  less real here: rootless with one user", f"  not allowed here: {why}"]


def test_down_where_nothing_is_does_nothing(tmp_path: Path) -> None:
    assert run("down", state=tmp_path / "none").returncode == 0


@pytest.mark.parametrize("command", ["down", "status", "shell"])
def test_a_state_that_is_a_file_is_one_block_without_a_stack_trace(command: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("kept")
    failed = run(command, state=file)
    fix = "To fix it: name another one by --state or $HOSTED_MESH_STATE."
    assert (failed.returncode, failed.stderr) == (1, f"\n{file} is not a directory.\n{fix}\n")
    assert file.read_text() == "kept"


def test_tests_run_in_order_and_paths_choose_folders() -> None:
    assert list(split_by_folder(["-x"])) == list(FOLDERS)
    chosen = split_by_folder(["./tests/live/sandbox/test_node.py", "-k", "x", "tests/unit"])
    assert chosen == {"tests/unit": ["tests/unit"], "tests/live": ["tests/live/sandbox/test_node.py"]}
    assert list(chosen) == ["tests/unit", "tests/live"]
    assert split_by_folder(["tests/unti"]) == {"tests/unti": ["tests/unti"]}


@pytest.mark.parametrize(
    ("codes", "selective", "code"),
    [
        ((0, 0, 0), False, 0),
        ((0, 1, 0), False, 1),
        ((0, 0, 5), False, 1),
        ((0, 5, 5), True, 0),
        ((5, 5, 5), True, 1),
        ((0, 2, 5), True, 1),
    ],
)
def test_a_folder_without_tests_fails_unless_a_selection_emptied_it(
    codes: tuple[int, ...], selective: bool, code: int
) -> None:
    assert overall(dict(zip(FOLDERS, codes, strict=True)), selective=selective) == code


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        ([], ["/bin/bash"]),
        (["-c", "kubectl get pods"], ["/bin/bash", "-c", "kubectl get pods"]),
        (["--", "kubectl", "get"], ["kubectl", "get"]),
        (["kubectl", "get"], ["kubectl", "get"]),
    ],
)
def test_what_the_shell_command_runs(arguments: list[str], command: list[str]) -> None:
    assert command_line(arguments, "/bin/bash") == command


def test_the_shell_has_the_sandbox_s_passphrase_and_nobody_else_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pulumi takes a passphrase itself before a file with one."""
    tools = Tools(tmp_path, tmp_path, tmp_path, {"pulumi": tmp_path / "pulumi"}, {})
    monkeypatch.setattr(shell.clusters, "load", lambda _: SimpleNamespace(kubeconfig=tmp_path / "kubeconfig"))
    monkeypatch.setattr(shell, "ensure", lambda *_, **__: tools)
    monkeypatch.setattr(selection, "select", lambda *_: PluginSet("standin", (), {"HOSTED_MESH_CHECKOUT": "here"}, ""))
    given = []
    monkeypatch.setattr(os, "execve", lambda _, command, environment: given.append((command, environment)))
    for name in ("PULUMI_CONFIG_PASSPHRASE", "PULUMI_ACCESS_TOKEN"):
        monkeypatch.setenv(name, "somebody's")
    shell.replace_process(tmp_path, ["-c", "true"], Progress.silent())
    ((command, environment),) = given
    assert command[1:] == ["-c", "true"]
    assert "somebody's" not in environment.values()
    assert environment["PULUMI_CONFIG_PASSPHRASE_FILE"] == str(tmp_path / "pulumi" / "passphrase")
    assert (environment["KUBECONFIG"], environment["HOSTED_MESH_CHECKOUT"]) == (str(tmp_path / "kubeconfig"), "here")


def test_path_starts_with_plug_ins_then_python_then_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/tools")
    monkeypatch.setenv("PYTHONHOME", "/wrong")
    environment = with_tools(Path("/tools"), [Path("/plugins")])
    assert environment["PATH"] == f"/plugins:{sys.prefix}/bin:/tools:/usr/bin"
    assert "PYTHONHOME" not in environment


def test_a_user_without_an_account_has_a_name_for_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("USER", raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 0)
    assert with_tools()["USER"] == "root"
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_000)
    assert with_tools()["USER"] == "4000000000"
    monkeypatch.setenv("USER", "jo")
    assert with_tools()["USER"] == "jo"


def test_the_state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOSTED_MESH_STATE", raising=False)
    assert state_dir() == CHECKOUT / ".sandbox"
    monkeypatch.setenv("HOSTED_MESH_STATE", str(tmp_path))
    assert state_dir() == tmp_path
    assert state_dir(Path("/other")) == Path("/other")


def test_pulumi_s_home_is_the_user_s_own_only_if_it_has_plug_ins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PULUMI_HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert pulumi_home() == tmp_path / ".cache" / "hosted-mesh" / "pulumi"
    (tmp_path / ".pulumi" / "plugins").mkdir(parents=True)
    assert pulumi_home() == tmp_path / ".pulumi"


def test_an_error_is_a_block_of_what_why_and_fix() -> None:
    assert str(SandboxError("It broke.", why="first\nsecond", fix="mend it.")) == (
        "It broke.\n  first\n  second\nTo fix it: mend it."
    )


def test_the_pins_are_complete() -> None:
    """Whatever the requirements bring in is held by constraints.txt, at the version that the requirements name."""
    held = dict(
        line.lower().replace("_", "-").split("==") for line in (CHECKOUT / "constraints.txt").read_text().splitlines()
    )
    for file in ("requirements.txt", "requirements-dev.txt"):
        for line in (CHECKOUT / file).read_text().splitlines():
            if line and not line.startswith(("-", "#")):
                name, _, version = line.lower().replace("_", "-").partition("==")
                assert held.get(name) == version, line
