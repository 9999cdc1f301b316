"""The calls that a change of traffic intents opens and closes, by the library's own evaluator.

The evaluator runs as a command, with the program's Python: this package does not import the library.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from ..runner.commands import Commands
from .masked import is_credential
from .result import Effect, EffectKind
from .runs import Opened

MOST: Final = 40
"""Most pairs of a caller and a callee."""
_KEYS: Final = ("intents", "inventory")
_COMMAND: Final = ("-c", "from pulumi_hosted_mesh.cli.command import app; app()", "intents", "diff")


def documents(one: Opened) -> tuple[Path, Path] | None:
    """The documents of the intents and of the inventory: by the stack's configuration, else beside the program."""
    directory = one.program.directory
    given = [one.project.config.get(f"hosted-mesh:{key}") for key in _KEYS]
    folders = (one.project.given.parent, one.project.folder)
    if all(isinstance(name, str) for name in given):
        first, second = (
            next((folder / str(name) for folder in folders if (folder / str(name)).is_file()), None) for name in given
        )
        return (first, second) if first and second else None
    beside = [directory / f"{key}.yaml" for key in _KEYS]
    return (beside[0], beside[1]) if all(file.is_file() for file in beside) else None


def calls(old: Opened, new: Opened, python: str, commands: Commands) -> list[Effect]:
    """The opened and closed calls; nothing for a stack without intents. An unreadable document is a note."""
    before, after = documents(old), documents(new)
    if before is None or after is None or _texts(before) == _texts(after):
        return []
    arguments = [str(before[0]), str(after[0]), str(before[1]), "--inventory-after", str(after[1]), "--output", "json"]
    try:
        done = commands([python, *_COMMAND, *arguments], Path(), dict(os.environ))
        changes = json.loads(done.output) if done.code in {0, 3} else None
    except (OSError, ValueError):
        changes = None
    if not isinstance(changes, list):
        return [Effect(EffectKind.TOUCHES, "the intents change; `hosted-mesh intents diff` cannot read both versions")]
    found = [effect for one in changes if isinstance(one, dict) for effect in _of(one)]
    more = f"{len(found) - MOST} more calls change; `hosted-mesh intents diff` prints all"
    return [*found[:MOST], *([Effect(EffectKind.TOUCHES, more)] if len(found) > MOST else [])]


def _texts(files: tuple[Path, Path]) -> list[bytes]:
    try:
        return [file.read_bytes() for file in files]
    except OSError:
        return []


def _of(change: dict[str, Any]) -> Iterator[Effect]:
    for kind, key in ((EffectKind.OPENS, "opened"), (EffectKind.CLOSES, "closed")):
        if told := [str(one) for one in change.get(key) or ()]:
            intents = ", ".join(map(str, change.get("intents") or ()))
            text = f"calls {change.get('caller')} -> {change.get('callee')}: {', '.join(told)}"
            text += f" (intents {intents})" if intents else ""
            yield Effect(kind, "(a call with a credential in it)" if is_credential(text) else text)
