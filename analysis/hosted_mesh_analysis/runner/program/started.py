"""Runs in the program's process: starts it like Pulumi's language host, and answers in place of the machine.

`python -m hosted_mesh_analysis.runner.program.started` reads its task, JSON, from standard input. It cannot be reached
from outside, has no network but the monitor, and reads other credentials than the machine's.
"""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import io
import itertools
import json
import logging
import os
import random
import runpy
import sys
import time
import traceback
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pulumi
from pulumi.runtime import rpc
from pulumi.runtime import settings as runtime
from pulumi.runtime.proto import resource_pb2

from ..secrets.forms import LARGEST, holds_credential
from ..values import plain, struct_of, tree_of
from . import declared, monitor, traced

LOCAL: Final = ("127.0.0.1", "::1", "localhost")


@contextlib.contextmanager
def telling_more() -> Iterator[None]:
    """Inside, the SDK also sends the declarations of resource and function classes, and requests each output of another
    stack."""
    plainly, functions = rpc.serialize_properties, sys.modules["pulumi.runtime.invoke"]
    called = functions._invoke

    async def serialized(inputs: Any, property_deps: Any, resource_obj: Any = None, *args: Any, **kwargs: Any) -> Any:
        found = await plainly(inputs, property_deps, resource_obj, *args, **kwargs)
        if resource_obj is not None and (forms := declared.outputs_of(resource_obj, inputs)):
            found[monitor.DECLARED] = forms
        return found

    async def invoked(tok: str, props: Any, opts: Any = None, typ: Any = None, *args: Any, **kwargs: Any) -> Any:
        forms = declared.form_of(typ) if typ else None
        given = {**(props or {}), monitor.DECLARED: forms} if isinstance(forms, dict) else props
        return await called(tok, given, opts, typ, *args, **kwargs)

    def asked(self: Any, name: Any) -> pulumi.Output[Any]:
        def answer(given: Any) -> Any:
            outputs, secret, stack, wanted = given
            if wanted in (outputs or {}):
                return pulumi.Output.secret(outputs[wanted]) if wanted in secret else outputs[wanted]
            return pulumi.Output.secret(ask(monitor.STACK_OUTPUT, stack=stack, name=wanted)["value"])

        known = pulumi.Output.all(self.outputs, self.secret_output_names, self.name, name)
        return pulumi.Output.unsecret(known).apply(answer)

    places: tuple[tuple[Any, str, Any], ...] = (
        (rpc, "serialize_properties", serialized),
        (functions, "_invoke", invoked),
        (pulumi.StackReference, "get_output", asked),
        (pulumi.StackReference, "require_output", asked),
    )
    before = [getattr(holder, name) for holder, name, _ in places]
    for holder, name, changed in places:
        setattr(holder, name, changed)
    try:
        yield
    finally:
        for (holder, name, _), old in zip(places, before, strict=True):
            setattr(holder, name, old)


@contextlib.contextmanager
def same_time(start: float) -> Iterator[None]:
    """Inside, every run begins at the same time, and each reading of the clock takes a millisecond: gzip and zip write
    the same times in all runs, and a wait for a later time ends."""
    plainly, looks = (time.time, time.time_ns), itertools.count()

    def now_ns() -> int:
        return int(start) * 10**9 + next(looks) * 10**6

    places: Any = time
    places.time, places.time_ns = lambda: now_ns() / 10**9, now_ns
    try:
        yield
    finally:
        places.time, places.time_ns = plainly


def ask(token: str, **args: Any) -> dict[str, Any]:
    """Sends the monitor a request that is not Pulumi's."""
    service: Any = runtime.get_monitor()
    answer = service.Invoke(resource_pb2.ResourceInvokeRequest(tok=token, args=struct_of(args)))
    found: dict[str, Any] = plain(tree_of(getattr(answer, "return")))
    return found


def _reads_other_credentials(made_up: dict[str, str]) -> None:
    """Files that the program reads are checked: a credential is replaced, and a missing file may be made up."""
    plainly = io.open

    def opened(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        path = os.fspath(file) if isinstance(file, (str, os.PathLike)) else None
        if not isinstance(path, str) or set(mode) & set("wax+"):
            return plainly(file, mode, *args, **kwargs)
        text = _replaced(path, made_up[path]) if path in made_up else None
        if text is None and Path(path).suffix not in {".py", ".pyc", ".pyi", ".so", ".pth"}:
            text = _credential(path, plainly)
        if text is None:
            return plainly(file, mode, *args, **kwargs)
        return io.BytesIO(text.encode()) if "b" in mode else io.StringIO(text)

    builtins.open = io.open = opened


def _credential(path: str, plainly: Any) -> str | None:
    """The replacement of a file's content, if that is a credential."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > LARGEST:  # noqa: PTH113, PTH202 Path.open is this
            return None
        with plainly(path, "rb") as file:
            text = file.read().decode()
    except (OSError, UnicodeDecodeError):
        return None
    return _replaced(path, text) if holds_credential(text) else None


def _replaced(path: str, text: str) -> str:
    return str(ask(monitor.FILE, name=f"file {Path(path).name}", text=text)["text"])


def _is_alone() -> None:
    """Rejects connections elsewhere, including sockets among the files, since their servers, such as Docker, may pass
    anything on. If the kernel has cut the network this is a second lock, for Python alone."""
    own = set[str]()

    def is_far(event: str, where: Any) -> bool:
        if isinstance(where, tuple):
            return event == "socket.connect" and str(where[0]) not in LOCAL
        path = os.fsdecode(where) if isinstance(where, str | bytes) else ""
        # The program's own processes use such a folder (multiprocessing).
        return bool(path) and path not in own and not Path(path).parent.name.startswith("pymp-")

    def refuse(event: str, args: tuple[Any, ...]) -> None:
        if event == "socket.bind" and isinstance(args[1], str | bytes):
            own.add(os.fsdecode(args[1]))
        sends = event in {"socket.connect", "socket.sendto", "socket.sendmsg"}
        asks = event == "socket.getaddrinfo" and str(args[0]) not in LOCAL
        if asks or (sends and is_far(event, args[1])):
            raise PermissionError("this run has no network")

    sys.addaudithook(refuse)


def _draws_by_site(directory: str) -> None:
    """Random numbers are made up too. The program's own may be a secret, one for each place in it; those of libraries,
    and ids, are the same in each run and cause no noise."""
    ids = random.Random(0)  # noqa: S311 that is the point
    random.seed(0)
    drawn: dict[str, int] = {}

    def urandom(size: int, /) -> bytes:
        site = _site(directory)
        if not site:
            return ids.randbytes(size)
        drawn[site] = drawn.get(site, 0) + 1
        name = f"{monitor.DRAWN}{site}" + (f", time {drawn[site]}" if drawn[site] > 1 else "")
        return bytes.fromhex(ask(monitor.DRAW, name=name, size=size)["hex"])

    os.urandom = urandom
    random._urandom = urandom  # type: ignore[attr-defined]
    uuid.uuid4 = lambda: uuid.UUID(bytes=ids.randbytes(16), version=4)


def _site(directory: str) -> str:
    """The place in the program that requests random bytes; empty for a library."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__") in {"random", "secrets", "base64"}:
        frame = frame.f_back
    file = frame.f_code.co_filename
    inside = file.startswith(directory + os.sep) and "site-packages" not in file
    return f"{os.path.relpath(file, directory)}, line {frame.f_lineno}" if inside else ""


def _asks_whether_preview() -> None:
    plainly = runtime.is_dry_run

    def asked() -> bool:
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if not caller.startswith("pulumi"):
            ask(monitor.NOTE, text="the program reads whether this is a preview; only the update was run")
        return plainly()

    pulumi.runtime.is_dry_run = runtime.is_dry_run = asked


def main() -> int:
    """Exit code 0: it ran. 3: it ended with an error, printed on standard error as one JSON object."""
    task: dict[str, Any] = json.load(sys.stdin)
    pulumi.runtime.set_all_config(task["config"], task["secret_keys"])
    given = {key: task[key] for key in ("project", "stack", "monitor", "engine", "root_directory")}
    pulumi.runtime.configure(pulumi.runtime.Settings(**given, parallel=16, dry_run=False, organization="organization"))
    os.chdir(task["directory"])
    sys.argv = [task["program"]]
    sys.path.insert(0, task["directory"])
    trace = traced.Trace(task["root"])
    trace.start()
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    _is_alone()
    _reads_other_credentials(task["files"])
    _draws_by_site(task["directory"])
    _asks_whether_preview()
    try:
        with telling_more(), same_time(task["time"]):
            loop.run_until_complete(pulumi.runtime.run_in_stack(lambda: _run(task["program"])))
        ask(monitor.TRACE, **trace.told())
    except BaseException as problem:
        json.dump(_told(problem, task["program"]), sys.stderr)
        sys.stderr.flush()
        os._exit(3)
    os._exit(0)


def _run(program: str) -> None:
    runpy.run_path(program, run_name="__main__")


def _told(problem: BaseException, program: str) -> dict[str, Any]:
    here = str(Path(program).parent.resolve())
    frames = [frame for frame in traceback.extract_tb(problem.__traceback__) if frame.filename.startswith(here)]
    where = f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    if not isinstance(problem, SystemExit):
        return {"kind": type(problem).__name__, "where": where, "says": str(problem)}
    code = problem.code
    number, says = (code or 0, "") if isinstance(code, int | None) else (1, str(code))
    return {"kind": f"sys.exit({int(number)})", "where": where, "says": says}


if __name__ == "__main__":
    main()
