"""`status`: the sandbox's state, in words."""

from __future__ import annotations

from pathlib import Path

from sandbox.clusters import Status


def describe(seen: Status, state: Path) -> str:
    """The output of `status` for people."""
    if not seen.running:
        return f"No sandbox runs in {state}. `make up` starts one."
    lines = [f"A sandbox runs in {state}, mode {seen.mode}, process {seen.pid}."]
    lines += [f"  less real here: {seen.less_real}"] if seen.less_real else []
    lines += [f"  not allowed here: {way}" for way in seen.refused]
    for name, answers in (seen.answering or {}).items():
        lines.append(f"  API server of {name}: {'answers' if answers else 'DOES NOT ANSWER'}")
    width = max((len(process.name) for process in seen.processes), default=0)
    lines += [f"  {process.name:<{width}}  {process.phase}" for process in seen.processes]
    return "\n".join(lines)
