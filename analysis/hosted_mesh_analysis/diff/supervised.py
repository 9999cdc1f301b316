"""Compares in a process of its own, which has none of the credentials of this machine's environment.

What a program runs below may look into the process that starts it, which cuts itself off from all others
(`prove.program.network`). So that one gets an environment with other credentials, and this one, which has the real
ones, starts no program and masks what comes back.
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

from ..detect.leaf.names import names_credential
from ..detect.leaf.randomness import is_random
from ..prove.project import UnusableProjectError
from ..prove.secrets.credentials import environment, replaced
from ..prove.secrets.made_up import Answers
from ..prove.secrets.vault import FIRST, Vault
from . import saved
from .masked import is_credential
from .request import Request
from .result import Difference
from .trees import Why

LEAST: Final = 8
"""Characters of a value from which on it is masked: a shorter one is a word."""
_PARTS: Final = re.compile(r"[\w+/=.~-]+")
_HIDDEN: Final = f"({Why.MACHINE})"
_SET_DUMPABLE: Final = 4
"""Of prctl. What is not dumpable has a /proc/PID that is root's."""
_COMMAND: Final = ("-P", "-m", "hosted_mesh_policies.diff.worker")


def compared_stacks(request: Request) -> Difference:
    """What a request asks for. Raises: UnusableProjectError."""
    with _closed():
        done = _run(_as_json(request), scrubbed(os.environ))
    needles = masks(os.environ)
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    if code > 128:  # a signal's number, and that
        raise SystemExit(code)
    if code:
        raise UnusableProjectError(_masked(done.stderr.strip("\n"), needles) or "the comparison ended by itself")
    print(_masked(done.stderr, needles), file=sys.stderr, end="")
    try:
        return saved.from_tree(masked(json.loads(done.stdout), needles))
    except (ValueError, RecursionError, saved.UnreadableError):
        raise UnusableProjectError("what was compared cannot be read. A program may have written to it") from None


@contextlib.contextmanager
def _closed() -> Iterator[None]:
    """Meanwhile no process of this user can look into this one, also where the kernel has no namespace for programs."""
    control = getattr(ctypes.CDLL(None), "prctl", lambda *_: None)
    control(_SET_DUMPABLE, 0, 0, 0, 0)
    try:
        yield
    finally:
        control(_SET_DUMPABLE, 1, 0, 0, 0)


def scrubbed(given: Mapping[str, str]) -> dict[str, str]:
    """The variables with others for what is called a token, a password, a key, as `prove` gives a program others, and
    for what is a credential by its form."""
    answers = Answers(Vault(random.SystemRandom().getrandbits(64)), FIRST)
    by_name = environment(given, answers)
    by_form = [name for name, one in given.items() if by_name[name] == one and is_credential(one)]
    return by_name | {name: replaced(given[name], name, answers) for name in by_form}


def _as_json(request: Request) -> str:
    return json.dumps(dataclasses.asdict(request), default=str)


def request_of(text: str) -> Request:
    """What `compared_stacks` hands to the other process."""
    told = json.loads(text)
    for key in ("folder", "policy_config", "output", "read"):
        told[key] = told[key] if told[key] is None else Path(told[key])
    return Request(**told)


def _run(request: str, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """The other process to its end. What this one is told by signals, it tells that one."""
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


# What this machine keeps ------------------------------------------------------------------------------------------


def masks(given: Mapping[str, str]) -> list[str]:
    """Texts by which a value of the environment that looks secret, or a part of it that does, is found again: as it is,
    reversed, in base64 at any offset, in hexadecimal digits."""
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
            # Without the letters that hold something of the neighbours too.
            inner = encoded[(0, 2, 3)[offset] : len(encoded) - ((offset + len(data)) % 3 > 0)]
            yield inner
            yield inner.translate({ord("+"): "-", ord("/"): "_"})


def masked(tree: Any, needles: list[str]) -> Any:
    """A difference as JSON, without a text that holds one of those."""
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
