"""A stack's state in a folder as backend: the engine writes it in place, so a kill can leave half of the file.

The engine copies the file to `.bak` before each write. That is the state of one step before; recovery adopts the
objects that it lacks. Beside each file the engine writes `.attrs` (gocloud.dev/blob/fileblob), also in place: with an
incomplete one every command fails with `failed to load checkpoint: EOF`, and without one the file is read as it is.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Final

from hosted_mesh_controller.vocabulary import PROJECT

_SCHEME: Final = "file://"


def restore_state(backend: str, stack: str) -> bool:
    """Puts the backup in the place of a file that is no JSON, and keeps that one as `.broken`.

    Returns whether it did. Removes incomplete `.attrs` of the stack. Call it only when no engine of the stack runs.
    """
    if not backend.startswith(_SCHEME):
        return False
    root = Path(backend.removeprefix(_SCHEME)) / ".pulumi"
    folder, history = root / "stacks" / PROJECT, root / "history" / PROJECT / stack
    file, backup = folder / f"{stack}.json", folder / f"{stack}.json.bak"
    for attributes in (*folder.glob(f"{stack}.json*.attrs"), *history.glob("*.attrs")):
        if not _is_whole(attributes):
            attributes.unlink()
    # Without a file the stack was removed, or never saved: its backup is an old one.
    if not file.exists() or _is_whole(file) or not _is_whole(backup):
        return False
    file.replace(file.with_suffix(".json.broken"))
    new = file.with_suffix(".json.new")
    new.write_bytes(backup.read_bytes())
    new.replace(file)
    return True


def _is_whole(file: Path) -> bool:
    with suppress(OSError, ValueError):
        return isinstance(json.loads(file.read_bytes()), dict)
    return False
