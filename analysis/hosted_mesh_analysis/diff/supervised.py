"""Compares in a separate process without the credentials of this machine's environment.

A program can look into the process that starts it, which cuts itself off from all others (`runner.program.network`). So
that process gets an environment with other credentials. This one, with the real ones, starts no program and masks the
result.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import dataclasses
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from hosted_mesh_policies.detect.leaf.names import names_credential
from hosted_mesh_policies.detect.leaf.randomness import is_random

from ..runner.project import UnusableProjectError
from ..runner.secrets.credentials import environment, replaced
from ..runner.secrets.generator import FIRST, SecretGenerator
from ..runner.secrets.made_up import Answers
from . import fetched, saved
from .masked import is_credential
from .request import DiffRequest
from .result import Difference
from .trees import Why

LEAST: Final = 8
"""Fewest characters of a masked value: a shorter one is a word."""
_PARTS: Final = re.compile(r"[\w+/=.~-]+")
_HIDDEN: Final = f"({Why.MACHINE})"
_SET_DUMPABLE: Final = 4
"""Of prctl. A process that is not dumpable has a /proc/PID of root."""
_COMMAND: Final = ("-P", "-m", "hosted_mesh_analysis.diff.worker")


def compared_stacks(request: DiffRequest) -> Difference:
    """The difference for a request; charts that it lacks are fetched, and it is made again. Raises:
    UnusableProjectError."""
    folder = fetched.cache()
    request = dataclasses.replace(request, charts=(*(one.resolve() for one in request.charts), folder))
    found = _compared(request)
    if not request.fetch or not found.charts_wanted:
        return found
    number, notes = fetched.fetched(found.charts_wanted, request.chart_repositories, folder)
    if number:
        found = _compared(request)
    found.notes += notes
    return found


def _compared(request: DiffRequest) -> Difference:
    with _closed():
        done = _run(json.dumps(dataclasses.asdict(request), default=str), scrubbed(os.environ))
    needles = masks(os.environ)
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    if code > 128:  # 128 and a signal's number
        raise SystemExit(code)
    if code:
        raise UnusableProjectError(_masked(done.stderr.strip("\n"), needles) or "the comparison ended by itself")
    print(_masked(done.stderr, needles), file=sys.stderr, end="")
    try:
        return saved.from_tree(masked(json.loads(done.stdout), needles))
    except (ValueError, RecursionError, saved.UnreadableError):
        raise UnusableProjectError("the comparison's result cannot be read. A program may have written to it") from None


@contextlib.contextmanager
def _closed() -> Iterator[None]:
    """Meanwhile no process of this user can look into this one, even if the kernel has no namespaces for programs."""
    control = getattr(ctypes.CDLL(None), "prctl", lambda *_: None)
    control(_SET_DUMPABLE, 0, 0, 0, 0)
    try:
        yield
    finally:
        control(_SET_DUMPABLE, 1, 0, 0, 0)


def scrubbed(given: Mapping[str, str]) -> dict[str, str]:
    """The variables with other values for tokens, passwords and keys, as in `prove`, and for credentials by their
    form."""
    answers = Answers(SecretGenerator(random.SystemRandom().getrandbits(64)), FIRST)
    by_name = environment(given, answers)
    by_form = [name for name, one in given.items() if by_name[name] == one and is_credential(one)]
    return by_name | {name: replaced(given[name], name, answers) for name in by_form}


def request_of(text: str) -> DiffRequest:
    """Reads the request in the other process."""
    told = json.loads(text)
    for key in ("folder", "policy_config", "output", "read"):
        told[key] = told[key] if told[key] is None else Path(told[key])
    told["charts"] = [Path(one) for one in told["charts"]]
    return DiffRequest(**told)


def _run(request: str, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs the other process to its end, and forwards signals to it."""
    command = [sys.executable, *_COMMAND]
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with (
        subprocess.Popen(command, env=variables, text=True, errors="replace", start_new_session=True, **pipes) as one,
        _handed_on(one),
    ):
        try:
            output, error = one.communicate(request)
        except KeyboardInterrupt:
            one.send_signal(signal.SIGINT)
            one.communicate()
            raise
    return subprocess.CompletedProcess(command, one.returncode, output, error)


@contextlib.contextmanager
def _handed_on(process: subprocess.Popen[str]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signals = (signal.SIGTERM, signal.SIGHUP)
    before = {one: signal.signal(one, lambda number, _: process.send_signal(number)) for one in signals}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def masks(given: Mapping[str, str]) -> list[str]:
    """Texts of the environment's secret values, or of their secret parts: plain, reversed, in base64 at any offset, in
    hexadecimal digits."""
    others = scrubbed(given)
    values = {one for name, one in given.items() if others[name] != one or names_credential(name)}
    values |= {part for value in values for part in _PARTS.findall(value) if is_random(part)}
    found = {text for value in values if len(value) >= LEAST for text in _written(value)}
    return sorted(found, key=len, reverse=True)


def _written(value: str) -> Iterator[str]:
    yield value
    yield value[::-1]
    for text in (value, value[::-1]):
        data = text.encode(errors="surrogateescape")
        yield data.hex()
        for offset in range(3):
            encoded = base64.b64encode(b"\0" * offset + data).decode().rstrip("=")
            # Without the letters shared with neighbouring bytes.
            inner = encoded[(0, 2, 3)[offset] : len(encoded) - ((offset + len(data)) % 3 > 0)]
            yield inner
            yield inner.translate({ord("+"): "-", ord("/"): "_"})


def masked(tree: Any, needles: list[str]) -> Any:
    """A difference as JSON, without texts that contain one of those."""
    if isinstance(tree, dict):
        value = tree.get("value")
        if isinstance(value, str) and tree.keys() == {"value"} and any(one in value for one in needles):
            return {"hidden": Why.MACHINE}
        return {key: masked(one, needles) for key, one in tree.items()}
    if isinstance(tree, list):
        return [masked(one, needles) for one in tree]
    return _masked(tree, needles) if isinstance(tree, str) else tree


def _masked(text: str, needles: list[str]) -> str:
    return _HIDDEN if any(one in text for one in needles) else text
