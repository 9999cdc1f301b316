"""The engine's previews of changed stacks, with this machine's logins: `--live`.

Unlike all other parts of a comparison this runs the program with real credentials, so only trusted changes qualify. The
engine masks secrets in its output.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from .masked import is_credential
from .result import Difference, Effect, EffectKind, Stack, StackChange

SECONDS: Final = 900
MOST: Final = 20
"""Most sentences of a stack."""
_WORDS: Final = {
    "create": "makes",
    "update": "changes",
    "replace": "replaces",
    "create-replacement": "replaces",
    "delete-replaced": "replaces",
    "delete": "removes",
    "import": "imports",
    "read": "",
    "same": "",
    "refresh": "",
}
_ENGINES: Final = ("pulumi:pulumi:", "pulumi:providers:")


def add(found: Difference, folder: Path) -> None:
    """Adds the engine's actions to each changed or new stack; a note for a stack without a preview."""
    for stack in found.of(StackChange.CHANGED, StackChange.NEW):
        try:
            steps = _previewed(folder, stack.name)
        except _NoPreviewError as problem:
            stack.notes.append(f"--live: {problem}")
            continue
        effects = list(_effects(stack, steps))
        more = len(effects) - MOST
        rest = [Effect(EffectKind.LIVE, f"and {more} actions more")] if more > 0 else []
        stack.effects += [*effects[:MOST], *rest]


class _NoPreviewError(Exception):
    """The reason for a missing preview."""


def _previewed(folder: Path, stack: str) -> list[Mapping[str, Any]]:
    command = ["pulumi", "preview", "--json", "--refresh", "--non-interactive", "--stack", stack, "--cwd", str(folder)]
    environment = {**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "1"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", env=environment, timeout=SECONDS, check=False
        )
    except OSError:
        raise _NoPreviewError("pulumi cannot be run; install it") from None
    except subprocess.TimeoutExpired:
        raise _NoPreviewError(f"the preview did not end within {SECONDS} seconds") from None
    try:
        tree = json.loads(done.stdout)
    except ValueError:
        tree = None
    steps = tree.get("steps") if isinstance(tree, dict) else None
    if not isinstance(steps, list) or done.returncode:
        # Its messages may contain anything.
        raise _NoPreviewError(
            f"the preview ended with exit code {done.returncode}; run `pulumi preview` for the reason"
        )
    return [one for one in steps if isinstance(one, dict)]


def _effects(stack: Stack, steps: list[Mapping[str, Any]]) -> Iterator[Effect]:
    """Actions that the comparison lacks: of other resources, and replacements."""
    known = {(one.type, one.name): str(one.step) for one in stack.changes}
    counts: dict[str, int] = {}
    said = set()
    sentences = []
    for step in steps:
        types, _, name = str(step.get("urn")).partition("::")[2].partition("::")[2].rpartition("::")
        token, word = types.rpartition("$")[2], _WORDS.get(str(step.get("op")), str(step.get("op")))
        if not word or token.startswith(_ENGINES) or (token, name, word) in said:
            continue
        said.add((token, name, word))
        counts[word] = counts.get(word, 0) + 1
        step_here = known.get((token, name))
        called = f"{token.rpartition(':')[2]} {name}"
        if step_here is None:
            sentences.append(f"the engine {word} {called}, which this change leaves alone: drift, or not deployed yet")
        elif word == "replaces" and step_here != "replaced":
            reasons = [str(one) for one in step.get("replaceReasons") or ()]
            why = f", because of {', '.join(reasons)}" if reasons else ""
            sentences.append(f"the engine replaces {called}{why}")
    told = ", ".join(f"{word} {number}" for word, number in counts.items()) or "changes nothing"
    for text in (f"the engine {told}", *sentences):
        yield Effect(EffectKind.LIVE, "(a sentence with a credential in it)" if is_credential(text) else text)
