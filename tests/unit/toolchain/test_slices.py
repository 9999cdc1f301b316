"""The slices of the nightly tests: whole, equal, the same for the same commit, and the runs that `make test` makes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from sandbox.bootstrap import CHECKOUT
from sandbox.commands import checks, selection
from sandbox.commands.selection import FOLDERS, Selection, plan
from sandbox.commands.slices import (
    PROCESSES,
    RECORDED,
    SECONDS,
    chosen,
    files,
    has_nightly,
    head,
    of_commit,
    recorded,
    regrouped,
    slices,
    write,
)
from sandbox.errors import SandboxError

MANY = {f"tests/live/test_{number}.py": 5.0 + number % 20 * 2.5 for number in range(60)}


def test_each_group_is_in_one_slice() -> None:
    found = Counter(group for groups in slices(MANY) for group in groups)
    assert found == dict.fromkeys(MANY, 1)
    assert slices({}) == []
    assert slices({"tests/unit/test_a.py": 1}) == [["tests/unit/test_a.py"]]


def test_slices_are_of_equal_length_and_no_longer_than_meant() -> None:
    found = [sum(MANY[group] for group in groups) for groups in slices(MANY)]
    assert len(found) == -(-sum(MANY.values()) // (SECONDS * PROCESSES)) > 3
    assert max(found) <= SECONDS * PROCESSES * 1.05
    assert max(found) - min(found) <= max(MANY.values()) / 10


def test_the_same_seconds_give_the_same_slices_in_any_order_of_the_file() -> None:
    assert slices(dict(reversed(MANY.items()))) == slices(MANY)


def test_a_slice_is_work_for_two_processes_where_a_group_needs_one() -> None:
    long = {"tests/live/test_a.py": 170.0, "tests/live/test_b.py": 170.0}
    short = {f"tests/unit/test_{number}.py": 34.0 for number in range(10)}
    found = slices(long | short)
    assert [sum((long | short)[group] for group in groups) for groups in found] == [340, 340]


def test_the_longest_group_leaves_room_for_itself() -> None:
    one = {"tests/live/test_a.py": 150.0} | {f"tests/unit/test_{number}.py": 30.0 for number in range(14)}
    assert [sum(one[group] for group in groups) for groups in slices(one)] == [270, 300]


def test_a_commit_has_one_slice_and_every_slice_comes_round() -> None:
    commits = [f"{number * 0x9E3779B97F4A7C15 % 2**160:040x}" for number in range(200)]
    assert {of_commit(commit, 7) for commit in commits} == {1, 2, 3, 4, 5, 6, 7}
    assert [of_commit(commit, 7) for commit in commits] == [of_commit(commit, 7) for commit in commits]
    assert (of_commit("10", 7), of_commit("", 7)) == (16 % 7 + 1, 1)


def test_the_commit_is_git_s() -> None:
    """A source archive has none, and a folder below another repository that repository's."""
    found = head()
    assert len(found) in (0, 40, 64)
    assert bool(found) == (CHECKOUT / ".git").exists()


@pytest.mark.parametrize("text", ["0", "8", "-1", "two"])
def test_a_slice_that_does_not_exist_is_an_error_with_the_numbers_that_do(text: str) -> None:
    assert chosen("7", 7) == 7
    with pytest.raises(SandboxError, match=f"SLICE={text}: there is no such slice") as error:
        chosen(text, 7)
    assert error.value.fix == "choose a number from 1 to 7."


def test_seconds_are_written_and_read(tmp_path: Path) -> None:
    file = tmp_path / "nightly.json"
    write({"tests/unit/test_b.py": 0.2, "tests/unit/test_a.py": 61.5}, file)
    assert list(recorded(file).items()) == [("tests/unit/test_a.py", 62), ("tests/unit/test_b.py", 1)]
    for broken in ("{", "[]", '{"tests/unit/test_a.py": null}'):
        file.write_text(broken)
        with pytest.raises(SandboxError, match="cannot be read") as error:
            recorded(file)
        assert "make slices" in error.value.fix


def test_a_group_without_a_time_keeps_its_seconds_of_before_or_is_named() -> None:
    groups = {"a::1": "a", "a::2": "a", "b::1": "b", "b::2": "b", "c::1": "c"}
    found = regrouped(groups, {"a::1": 1.5, "a::2": 2, "b::1": 3, "c::2": 9}, {"b": 40, "gone": 7})
    assert found == ({"a": 3.5, "b": 40}, ["c"])


def test_the_committed_slices_fit_the_committed_tests() -> None:
    groups = recorded()
    assert [group for group in groups if not has_nightly(group)] == [], "write it anew with `make slices`"
    assert all(file.startswith(tuple(f"{folder}/" for folder in FOLDERS)) for file in files(groups))


# The runs of pytest ---------------------------------------------------------------------------------------------


@pytest.fixture
def six(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Slices of 60 groups, of commit 13 (hexadecimal d)."""
    monkeypatch.setattr(selection, "recorded", lambda: MANY)
    monkeypatch.setattr(selection, "head", lambda: "d")
    return slices(MANY)


def asked(*arguments: str, **environment: str) -> dict[str, list[str]]:
    """The options for pytest of each run."""
    parts, _ = plan(Selection.of(arguments, environment))
    return {part.title: [*part.paths, *(one for one in part.options if "dist" not in one)] for part in parts}


def test_without_arguments_the_nightly_tests_are_left_to_the_commit_s_slice(six: list[list[str]]) -> None:
    number = 13 % len(six) + 1
    found = asked()
    title = f"nightly slice {number} of {len(six)}"
    assert list(found) == [*FOLDERS, title]
    assert all("--nightly=leave" in found[folder] for folder in FOLDERS)
    assert found[title][-3:] == ["-m", "nightly", f"--nightly={number}"]
    assert set(files(six[number - 1])) <= set(found[title])
    parts, groups = plan(Selection.of([], {}))
    assert groups == set(six[number - 1])
    assert parts[-1].needs == ["tests/live"]
    assert "of commit d; " in parts[-1].remark


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [(["--slice", "2"], {}), (["--slice=2"], {}), ([], {"SLICE": "2"}), (["--slice=2"], {"SLICE": "1"})],
)
def test_a_slice_can_be_chosen(six: list[list[str]], arguments: list[str], environment: dict[str, str]) -> None:
    assert list(asked(*arguments, **environment))[-1] == f"nightly slice 2 of {len(six)}"
    with pytest.raises(SandboxError, match="--slice needs a number"):
        asked("--slice")
    with pytest.raises(SandboxError, match="there is no such slice"):
        asked("--slice=99")


def test_all_runs_every_test_in_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "recorded", lambda: pytest.fail("slices do not matter here"))
    found = asked("--all", SLICE="2")
    assert list(found) == list(FOLDERS)
    assert not any("nightly" in option for options in found.values() for option in options)


def test_a_selection_runs_nightly_tests_too_unless_a_slice_limits_it(six: list[list[str]]) -> None:
    assert asked("tests/live/dns", "-k", "names") == {"tests/live": ["tests/live/dns", "-k", "names"]}
    assert asked("-m", "nightly", "--slice=3")["tests/unit"] == ["tests/unit", "--nightly=3", "-m", "nightly"]


def ran(monkeypatch: pytest.MonkeyPatch, *arguments: str, codes: dict[str, int], report: str) -> int:
    """`run_tests` with runs of pytest that only leave a report. codes: by the first path."""

    def call(command: list[str], **_: object) -> int:
        paths = [one for one in command if one.startswith("tests/")]
        (file,) = (one.partition("=")[2] for one in command if one.startswith("--junit-xml="))
        Path(file).write_text(report)
        return codes.get(paths[0], 0)

    monkeypatch.setattr(checks, "_call", call)
    monkeypatch.setattr(checks, "run_lint", lambda: 0)
    monkeypatch.setattr(checks, "ensure", lambda *_, **__: None)
    monkeypatch.setattr(checks, "beside_tests", checks.nullcontext)
    monkeypatch.setattr(checks, "keep", lambda *_, **__: None)
    return checks.run_tests(arguments)


def reported(groups: list[str]) -> str:
    cases = [
        f'<testcase classname="tests.live.test_x" name="test_{number}" time="1.5"><properties>'
        f'<property name="nightly" value="{group}"/></properties></testcase>'
        for number, group in enumerate(groups)
    ]
    return f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>"


def test_a_slice_has_a_row_of_its_own_and_counts(
    six: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    groups = six[1]
    assert ran(monkeypatch, "--slice=2", codes={}, report=reported(groups)) == 0
    printed = capsys.readouterr().out
    assert f"=== nightly slice 2 of {len(six)} (chosen; SLICE=1 to SLICE={len(six)} choose" in printed
    assert f"passed                   nightly slice 2 of {len(six)}" in printed
    assert "  nightly\n" in printed
    assert ran(monkeypatch, "--slice=2", codes={min(files(groups)): 1}, report=reported(groups)) == 1
    assert ran(monkeypatch, "--slice=2", codes={min(files(groups)): 5}, report=reported([])) == 1


def test_a_recorded_group_without_a_test_is_named(
    six: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lost, *others = six[1]
    """Some tests are for one kind of user only, so it is no failure."""
    assert ran(monkeypatch, "--slice=2", codes={}, report=reported(others)) == 0
    wanted = f"no tests                 {lost}; if no machine has tests of it, remove it from nightly.json"
    assert wanted in capsys.readouterr().out


def test_the_seconds_are_written_for_what_has_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def collect(command: list[str], **_: object) -> int:
        (file,) = (one.partition("=")[2] for one in command if one.startswith("--nightly-groups="))
        Path(file).write_text(json.dumps({"tests/unit/test_a.py::test": "a", "tests/unit/test_b.py::test": "b"}))
        return 0

    written: list[dict[str, float]] = []
    monkeypatch.setattr(checks, "_call", collect)
    monkeypatch.setattr(checks, "kept", lambda: {"tests/unit/test_a.py::test": 12.4})
    monkeypatch.setattr(checks, "write", written.append)
    root = "tests/live/sandbox/test_ordinary_user.py"  # has nightly tests where root runs them
    monkeypatch.setattr(checks, "recorded", lambda: {root: 110.0, "tests/live/test_gone.py": 9.0})
    assert checks.write_slices() == 1
    assert written == [{"a": 12.4, root: 110.0}]
    printed = capsys.readouterr().out
    assert "no run has timed b: make test ARGS=b, then make slices" in printed
    assert f"no test here, kept: {root}" in printed
    assert RECORDED == CHECKOUT / "tests" / "nightly.json"
