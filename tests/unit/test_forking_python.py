"""Pulumi's Python programs are forks in the tests (tests/support): they have to run, and to end, as Python's own do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tests.support.environment import quick_python


def _program(folder: Path, text: str) -> Path:
    path = folder / "program.py"
    path.write_text(textwrap.dedent(text))
    return path


def _run(*arguments: object, python: object = None, **more: object) -> subprocess.CompletedProcess[str]:
    command = [str(python or quick_python()), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **more)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "text",
    [
        "import os, sys; print(sys.argv[1:], sys.path[0], os.getcwd(), os.environ['GIVEN'], __name__)",
        "print(input()); print(input())",
        "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)",
        "import sys; sys.exit('a word')",
        "def fails():\n    raise ValueError('said')\nfails()",
        "import os; print('lost'); os._exit(5)",
        "import atexit, threading, time\natexit.register(print, 'last')\n"
        "threading.Thread(target=lambda: (time.sleep(0.2), print('thread'))).start()",
        "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
        "import os, sys; os.umask(0o27); print(oct(os.umask(0)), sys.executable, sys.prefix)",
        "import yaml, pulumi_kubernetes; print(yaml.__file__, pulumi_kubernetes.__file__)",
    ],
)
def test_a_program_does_what_it_does_under_python_itself(tmp_path: Path, text: str) -> None:
    path = _program(tmp_path, text)
    given = {"cwd": tmp_path, "env": {**os.environ, "GIVEN": "ä"}, "input": "one\ntwo\n"}
    forked, own = _run(path, "x", **given), _run(path, "x", python=sys.executable, **given)
    assert (forked.returncode, forked.stdout, forked.stderr) == (own.returncode, own.stdout, own.stderr)


def test_a_module_finds_what_pythonpath_says(tmp_path: Path) -> None:
    (tmp_path / "own_module.py").write_text("import sys; print(__name__, sys.argv[1:])")
    done = _run("-P", "-m", "own_module", "x", env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert done.stdout == "__main__ ['x']\n"


def test_one_program_leaves_nothing_for_the_next(tmp_path: Path) -> None:
    path = _program(tmp_path, "import os, yaml\nprint(hasattr(yaml, 'left'), 'LEFT' in os.environ)\nyaml.left = 1")
    assert {_run(path).stdout, _run(path, env={**os.environ, "LEFT": "1"}).stdout} == {"False False\n", "False True\n"}


def _sleeping(folder: Path) -> tuple[subprocess.Popen[str], int]:
    """A program that sleeps, as whoever started it sees it, and the process that does so."""
    path = _program(folder, "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(60)")
    process = subprocess.Popen([quick_python(), path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout
    return process, int(process.stdout.readline())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_the_program_and_is_how_it_ended(tmp_path: Path, number: signal.Signals) -> None:
    process, fork = _sleeping(tmp_path)
    process.send_signal(number)
    assert process.wait(timeout=30) == -number
    for _ in range(100):
        if not Path(f"/proc/{fork}").exists():
            return
        time.sleep(0.05)
    raise AssertionError("the program goes on")


@pytest.mark.parametrize("arguments", [["-c", "print(1)"], ["-B", "-c", "print(1)"], ["-m"], ["--version"]])
def test_what_is_no_program_s_start_is_left_to_python_itself(arguments: list[str]) -> None:
    forked, own = _run(*arguments), _run(*arguments, python=sys.executable)
    assert (forked.returncode, forked.stdout, forked.stderr) == (own.returncode, own.stdout, own.stderr)


def test_in_other_namespaces_it_is_python_itself(tmp_path: Path) -> None:
    path = _program(tmp_path, "import os; print(os.readlink('/proc/self/ns/net'))")
    done = subprocess.run(["unshare", "-Urn", quick_python(), path], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() != str(Path("/proc/self/ns/net").readlink())
