"""The two versions of a project: the present folder, and the base, a commit's files or another folder."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..runner.private_folder import private_folder
from ..runner.project import UnusableProjectError

_DEFAULT_BRANCHES: Final = (
    "refs/remotes/origin/HEAD",
    "refs/remotes/origin/main",
    "refs/remotes/origin/master",
    "refs/heads/main",
    "refs/heads/master",
)
_GIVE_ONE: Final = "Give a commit, a branch or a folder"
_ALONE: Final = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.splitIndex=false")
"""Options by which git runs no hook and keeps an index in one file."""
_ID: Final = re.compile(r"[0-9a-f]{40,64}")


@dataclass(frozen=True)
class Version:
    """One version of a project. folder: the project's. root: its repository's, or the folder itself. name: in
    reports."""

    folder: Path
    root: Path
    name: str

    @property
    def is_there(self) -> bool:
        """True if there is a project."""
        return (self.folder / "Pulumi.yaml").is_file()

    def here(self, elsewhere: Path, other: Version) -> Path:
        """This version's path for a path of another version's repository."""
        return self.root / elsewhere.relative_to(other.root)


def working_tree(folder: Path) -> Version:
    """The project in its present state. Raises: UnusableProjectError."""
    try:
        folder = folder.resolve()
        root = next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)
    except (OSError, RuntimeError):  # a link to itself
        raise UnusableProjectError(f"{folder}: cannot be read. Give the folder of a Pulumi project") from None
    found = Version(folder, root, "the working tree")
    if not found.is_there:
        raise UnusableProjectError(f"{folder / 'Pulumi.yaml'}: does not exist. Give the folder of a Pulumi project")
    return found


@contextlib.contextmanager
def base_of(new: Version, asked: str | None) -> Iterator[Version]:
    """The version to compare with. `asked`: a commit, by any of git's names, or a folder; None for the commit at which
    HEAD left the default branch. Raises: UnusableProjectError.

    `git checkout-index` writes a commit's files into a separate folder, removed at the end: the working tree, the index
    and HEAD stay unchanged, and no hook runs.
    """
    git = _Git(new.root)
    if asked is not None and not asked.strip():
        raise UnusableProjectError(f"--base: is empty; a variable may not be set. {_GIVE_ONE}, or leave --base out")
    if asked is None:
        commit, branch = git.merge_base()
        name = f"{commit[:10]}, where it left {branch}"
    else:
        told, commit = "".join(one if one.isprintable() else "?" for one in asked), git.commit(asked)
        if _is_folder(asked):
            if commit:
                rule = "is a commit and a folder"
                raise UnusableProjectError(f"--base {told}: {rule}. Write ./{told} or refs/heads/{told}")
            yield _in_folder(Path(asked), new, told)
            return
        if not commit:
            git.check()
            rule = "is neither a commit of this repository nor a folder"
            raise UnusableProjectError(f"--base {told}: {rule}. {_GIVE_ONE}")
        name = f"{told} ({commit[:10]})"
    with private_folder("diff", "a copy of the base") as folder:
        git.extract(commit, folder)
        yield Version(folder / new.folder.relative_to(new.root), folder, name)


def _is_folder(text: str) -> bool:
    try:
        return Path(text).is_dir()
    except (OSError, ValueError):  # too long for a name, or no valid text
        return False


def _in_folder(given: Path, new: Version, name: str) -> Version:
    """A version in a folder. Its repository begins as far above it as the other's."""
    folder = given.resolve()
    inside = new.folder.relative_to(new.root).parts
    fits = folder.parts[len(folder.parts) - len(inside) :] == inside
    root = folder.parents[len(inside) - 1] if inside and fits else folder
    found = Version(folder, root, name)
    if folder == new.folder:
        rule = "is the project itself"
        raise UnusableProjectError(f"--base {name}: {rule}. {_GIVE_ONE} with another version")
    if not found.is_there:
        raise UnusableProjectError(f"--base {name}: has no Pulumi.yaml. Give the folder of the project's other version")
    return found


class _Git:
    """Reads a repository. Its arguments are names or ids, never options. folder: the repository's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def check(self) -> None:
        """Raises: UnusableProjectError without a repository, or if git refuses to read it."""
        if not (self.folder / ".git").exists():
            raise UnusableProjectError(f"{self.folder}: is in no git repository. Give a folder as --base")
        if not self._run("rev-parse", "--git-dir"):
            rule = "git does not read this repository. `git status` shows the reason; a folder of another user needs"
            raise UnusableProjectError(f"{self.folder}: {rule} git's setting safe.directory")

    def commit(self, name: str) -> str:
        """A commit's id; empty if git has none of this name."""
        if name.startswith("-") or not name.isprintable() or not name:
            return ""
        found = self._run("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").strip()
        return found if _ID.fullmatch(found) else ""

    def merge_base(self) -> tuple[str, str]:
        """The commit at which HEAD left the default branch, and that branch's name."""
        self.check()
        branch = next((name for name in _DEFAULT_BRANCHES if self.commit(name)), "")
        if not branch:
            raise UnusableProjectError(f"--base: git has no default branch here. {_GIVE_ONE}")
        short = branch.split("/", 2)[2]
        found = self._run("merge-base", "HEAD", self.commit(branch)).strip()
        if not _ID.fullmatch(found):
            rule = f"HEAD has no common commit with {short}; a clone may be too shallow"
            raise UnusableProjectError(f"--base: {rule}. Fetch more (git fetch --unshallow), or give one")
        return found, short

    def extract(self, commit: str, into: Path) -> None:
        """Writes a commit's files, by a temporary index beside them. Raises: UnusableProjectError."""
        index = into / ".index-of-the-base"
        steps = (
            ("read-tree", "--no-sparse-checkout", commit),
            ("checkout-index", "--all", "--force", "--quiet", f"--prefix={into}/"),
        )
        for step in steps:
            if self._done(*_ALONE, *step, GIT_INDEX_FILE=str(index)).returncode:
                raise UnusableProjectError(
                    f"--base: the files of {commit[:10]} cannot be had from git. Fetch them, or give another one"
                )
        index.unlink()

    def _run(self, *arguments: str) -> str:
        done = self._done(*arguments)
        return done.stdout if done.returncode == 0 else ""

    def _done(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        command = ["git", "-C", str(self.folder), *arguments]
        environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", **variables}
        try:
            return subprocess.run(
                command, capture_output=True, text=True, errors="replace", env=environment, check=False
            )
        except OSError:
            raise UnusableProjectError("git: cannot be run. Install it, or give a folder as --base") from None


def moved(path: Sequence[str], new: Version, base: Version) -> list[str]:
    """Python's module places inside the repository, at the base: a library beside the program is then the base's
    too."""
    found = []
    for one in path:
        place = Path(one)
        if place.is_absolute() and place.resolve().is_relative_to(new.root):
            there = base.here(place.resolve(), new)
            if there.exists() and str(there) not in found:
                found.append(str(there))
    return found
