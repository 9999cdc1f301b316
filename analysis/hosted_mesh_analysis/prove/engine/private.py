"""A copy of a project's folder, and the credentials in it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from ...runner.secrets import forms

_LEFT_OUT: Final = frozenset({".git", ".pulumi", "__pycache__"})
_SOURCES: Final = frozenset([".py", ".ts", ".js", ".mjs", ".cjs", ".go", ".cs", ".fs", ".vb", ".java", ".kt", ".scala"])


def copied(source: Path, into: Path) -> Path:
    """Copies a project's folder; returns the copy.

    It is as deep below `into` as the original below its repository, with links to its neighbours, so that relative
    paths out of the folder stay valid. Installed packages are links too.
    """
    top = next((one for one in (source, *source.parents) if (one / ".git").exists()), source)
    target = into
    above = top
    for part in source.relative_to(top).parts:
        target.mkdir()
        for one in above.iterdir():
            if one.name not in {part, *_LEFT_OUT}:
                (target / one.name).symlink_to(one)
        target, above = target / part, above / part
    _copy(source, target, top)
    return target


def _copy(source: Path, target: Path, top: Path) -> None:
    target.mkdir()
    for one in source.iterdir():
        other = target / one.name
        if one.name in _LEFT_OUT:
            continue
        if one.is_symlink():
            stays = one.resolve().is_relative_to(top) and not one.readlink().is_absolute()
            other.symlink_to(one.readlink() if stays else one.resolve())
        elif not one.is_dir():
            if one.is_file():  # no socket, no pipe
                shutil.copy2(one, other)
        elif one.name == "node_modules" or (one / "pyvenv.cfg").exists():
            other.symlink_to(one)
        else:
            _copy(one, other, top)


def credentials_in(copy: Path) -> dict[Path, str]:
    """The files of a copy with a recognisable credential, by their paths in it."""
    found = {}
    for at, folders, files in os.walk(copy):
        folders[:] = [one for one in folders if not (Path(at) / one).is_symlink()]
        for name in files:
            path = Path(at) / name
            text = credential(path) if path.suffix not in _SOURCES else None
            if text is not None:
                found[path.relative_to(copy)] = text
    return found


def credential(path: Path) -> str | None:
    """A file's text, if it has a recognisable credential."""
    try:
        if not path.is_file() or path.stat().st_size > forms.LARGEST:
            return None
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
    return text if forms.holds_credential(text) else None
