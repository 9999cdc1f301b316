"""The pytest runs of `test`, computed from its arguments: folders, nightly slice, processes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sandbox.bootstrap import CHECKOUT
from sandbox.commands.slices import chosen, files, head, of_commit, recorded, slices
from sandbox.errors import SandboxError

# Fastest first: seconds for the first, tool chain and clusters for the last.
FOLDERS = ("tests/unit", "tests/engine", "tests/live")
WORKERS = {"tests/unit": 2}
OTHERS = 3
"""Processes. Tests with clusters wait for API servers and proxies: with two processes, two cores are idle for a third
of the time. Unit tests compute."""
_MEMORY = 3.5 * 2**30
"""Bytes of a process: two API servers and an engine, or a mesh of four clusters."""


@dataclass(frozen=True)
class Selection:
    """The arguments of `test`. rest: for pytest. every: run all nightly tests. chosen: from --slice or $SLICE."""

    rest: Sequence[str]
    every: bool
    chosen: str

    @classmethod
    def of(cls, arguments: Sequence[str], environment: Mapping[str, str]) -> Selection:
        """Reads --all, --slice and $SLICE. Raises SandboxError for a --slice without a number."""
        rest, every, chosen = [], False, environment.get("SLICE", "")
        given = iter(arguments)
        for argument in given:
            name, _, value = argument.partition("=")
            if argument == "--all":
                every = True
            elif name == "--slice":
                chosen = value or next(given, "")
                if not chosen:
                    raise SandboxError("--slice needs a number.", fix="for example `make test ARGS='--slice 2'`.")
            else:
                rest.append(argument)
        return cls(rest, every, chosen)

    @property
    def whole(self) -> bool:
        """True without paths and options: lint comes first, and each folder must have tests."""
        return not self.rest


@dataclass(frozen=True)
class Part:
    """One run of pytest. title: its row in the results. needs: folders of its tests. remark: printed at its start."""

    title: str
    paths: Sequence[str]
    needs: Sequence[str]
    options: Sequence[str] = ()
    remark: str = ""


def plan(selection: Selection) -> tuple[list[Part], set[str]]:
    """The runs of pytest in order, and the groups of the slice.

    Raises SandboxError for a slice that does not exist.
    """
    folders = split_by_folder(selection.rest)
    options = [argument for argument in selection.rest if not _is_path(argument)]
    parts = [] if selection.every else slices(recorded())
    number = chosen(selection.chosen, len(parts)) if selection.chosen and not selection.every else 0
    if selection.every:
        nightly = []
    elif selection.whole:
        nightly = ["--nightly=leave"]
    else:
        nightly = [f"--nightly={number}"] if number else []
    found = [
        Part(name, paths, [name], [*side_by_side(paths, options), *nightly, *options])
        for name, paths in folders.items()
    ]
    if selection.every or not selection.whole or not parts:
        return found, set()
    commit = head()
    why = "chosen" if number else f"of commit {commit[:12]}" if commit else "no commit"
    number = number or of_commit(commit, len(parts))
    groups = parts[number - 1]
    slice_ = Part(
        title=f"nightly slice {number} of {len(parts)}",
        paths=files(groups),
        needs=[folder for folder in FOLDERS if any(group.startswith(f"{folder}/") for group in groups)],
        options=[*_shared(OTHERS), "-m", "nightly", f"--nightly={number}"],
        remark=f" ({why}; SLICE=1 to SLICE={len(parts)} choose, ARGS=--all runs all)",
    )
    return [*found, slice_], set(groups)


def side_by_side(paths: Sequence[str], options: Sequence[str]) -> list[str]:
    """Options for pytest: whole folders are shared by processes, each with clusters of its own (tests/conftest.py).

    A single file or test does not justify a second pair of clusters; options (-x, -k, --pdb) may need one process.
    """
    whole = not options and all((CHECKOUT / path).is_dir() for path in paths)
    return _shared(min(WORKERS.get(path, OTHERS) for path in paths)) if whole else []


def _shared(workers: int) -> list[str]:
    fitting = max(1, min(workers, int(memory() // _MEMORY)))
    # In the order of the groups from tests/conftest.py: xdist's own order is by the number of their tests.
    return [f"--numprocesses={fitting}", "--dist=loadgroup", "--no-loadscope-reorder"]


def memory() -> int:
    """Bytes of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def split_by_folder(arguments: Sequence[str]) -> dict[str, list[str]]:
    """The folders to run, in order, each with its paths for pytest; without paths all three, whole.

    A path outside of the three (a typing error, "tests") goes to the first, and pytest reports it.
    """
    paths = [argument.removeprefix("./") for argument in arguments if _is_path(argument)]
    if not paths:
        return {folder: [folder] for folder in FOLDERS}
    plan: dict[str, list[str]] = {}
    for folder in FOLDERS:
        inside = [path for path in paths if path == folder or path.startswith((f"{folder}/", f"{folder}::"))]
        if inside:
            plan[folder] = inside
    strays = [path for path in paths if not any(path in inside for inside in plan.values())]
    return plan if not strays else {strays[0]: strays, **plan}


def _is_path(argument: str) -> bool:
    return argument.removeprefix("./").startswith("tests")
