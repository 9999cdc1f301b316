"""A Python that has imported Pulumi's SDKs in advance: every program that it runs is a fork of it.

`pulumi up` starts four Python programs (the language host's and the stand-in plug-ins). Each takes 0.4 to 1.7 CPU
seconds to import third-party packages. No code of this project is imported before the fork, so the imports of a
program of this checkout, and their order, are tested as before.

    python tests/support/forking_python.py SOCKET     serves; prints a line when it is ready

`forking_client.py` runs in place of Python.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import importlib
import io
import marshal
import os
import runpy
import selectors
import signal
import socket
import sys
import threading
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

PRELOADED = (
    "asyncio",
    "concurrent.futures.thread",
    "cryptography.hazmat.primitives.serialization",
    "cryptography.x509",
    "google.protobuf.json_format",
    "grpc",
    "http.client",
    "multiprocessing",
    "pulumi",
    "pulumi.provider.experimental",
    "pulumi_kubernetes.admissionregistration.v1",
    "pulumi_kubernetes.apiextensions",
    "pulumi_kubernetes.apps.v1",
    "pulumi_kubernetes.coordination.v1",
    "pulumi_kubernetes.core.v1",
    "pulumi_kubernetes.helm.v4",
    "pulumi_kubernetes.meta.v1",
    "pulumi_kubernetes.networking.v1",
    "pulumi_kubernetes.policy.v1",
    "pulumi_kubernetes.rbac.v1",
    "pulumi_random",
    "pulumi_tls",
    "pydantic",
    "yaml",
)
_PR_SET_PDEATHSIG = 1
_OWN_PATH = tuple(sys.path)  # run with -P and without PYTHONPATH: no folder of this project is in it


def serve(place: str) -> None:
    """Serves until it is killed or its standard input ends."""
    for name in PRELOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    gc.set_threshold(1_000_000)
    with socket.socket(socket.AF_UNIX) as listener, selectors.DefaultSelector() as selector:
        listener.bind(place)
        listener.listen(64)
        woken, waking = os.pipe()
        os.set_blocking(waking, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        selector.register(listener, selectors.EVENT_READ)
        selector.register(woken, selectors.EVENT_READ)
        selector.register(sys.stdin, selectors.EVENT_READ)
        running: dict[int, socket.socket] = {}
        print("ready", flush=True)
        while True:
            for key, _ in selector.select():
                if key.fileobj is sys.stdin:
                    return
                if key.fileobj == woken:
                    os.read(woken, 4096)
                    _report(running, selector)
                elif key.fileobj is listener:
                    client, _ = listener.accept()
                    if process := _begin(client, [listener, *running.values()]):
                        running[process] = client
                        selector.register(client, selectors.EVENT_READ, process)
                else:
                    _pass_on(key, running, selector)


def _begin(client: socket.socket, others: list[socket.socket]) -> int | None:
    """Forks for a client's request; returns the new process. None: an incomplete request, the client is gone."""
    received, descriptors = b"", []
    while len(received) < 4 or len(received) < 4 + int.from_bytes(received[:4], "big"):
        data, new, _, _ = socket.recv_fds(client, 1 << 20, 3)
        descriptors += new
        if not data:
            client.close()
            return None
        received += data
    if process := os.fork():
        for descriptor in descriptors:
            os.close(descriptor)
        return process
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for one in (client, *others):
        one.close()
    for target, descriptor in enumerate(descriptors):
        os.dup2(descriptor, target)
        os.close(descriptor)
    arguments, folder, environment, umask = marshal.loads(received[4:])
    os.chdir(folder)
    os.umask(umask)
    os.environ.clear()
    os.environ.update(environment)
    os._exit(_run(arguments))


def _run(arguments: list[str]) -> int:
    """Does the work of `python ARGUMENTS`, in the forms that forking_client.py accepts; returns its exit code."""
    flags, program = set(), list(arguments)
    while program[0] in ("-u", "-P"):
        flags.add(program.pop(0))
    _open_streams("-u" in flags)
    given = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    code = 0
    try:
        if program[0] == "-m":
            sys.argv = program[1:]
            sys.path[:] = [*([] if "-P" in flags else [str(Path.cwd())]), *given, *_OWN_PATH]
            runpy.run_module(program[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = program
            folder = Path(program[0]).resolve().parent
            sys.path[:] = [*([] if "-P" in flags else [str(folder)]), *given, *_OWN_PATH]
            runpy.run_path(program[0], run_name="__main__")
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else 0 if ending.code is None else 1
        if isinstance(ending.code, str):
            print(ending.code, file=sys.stderr)
    except BaseException as error:
        traceback.print_exception(error.with_traceback(_of_the_program(error.__traceback__)))
        code = 1
        if isinstance(error, KeyboardInterrupt):
            _ended(code)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
    return _ended(code)


def _of_the_program(trace: TracebackType | None) -> TracebackType | None:
    """The traceback without this file's frames and those of runpy."""
    while trace and trace.tb_frame.f_code.co_filename in (__file__, "<frozen runpy>"):
        trace = trace.tb_next
    return trace


def _ended(code: int) -> int:
    """Ends as Python does: waits for threads, calls exit functions, writes buffers."""
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    return code


def _open_streams(unbuffered: bool) -> None:
    unbuffered = unbuffered or bool(os.environ.get("PYTHONUNBUFFERED"))
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), "utf-8")
    for number, name in ((1, "stdout"), (2, "stderr")):
        raw: Any = io.FileIO(number, "w", closefd=False)
        whole = raw if unbuffered else io.BufferedWriter(raw)
        errors = "strict" if name == "stdout" else "backslashreplace"
        by_line = name == "stderr" or os.isatty(number)
        stream = io.TextIOWrapper(whole, "utf-8", errors, line_buffering=by_line, write_through=unbuffered)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _report(running: dict[int, socket.socket], selector: selectors.BaseSelector) -> None:
    """Reports the exit codes of ended processes to their clients."""
    for process in list(running):
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            client = running.pop(process)
            selector.unregister(client)
            with contextlib.suppress(OSError):
                client.sendall(status.to_bytes(4, "big"))
            client.close()


def _pass_on(key: selectors.SelectorKey, running: dict[int, socket.socket], selector: selectors.BaseSelector) -> None:
    """Forwards a client's signals, and its end, to its process."""
    client, process = key.fileobj, key.data
    assert isinstance(client, socket.socket)
    if running.get(process) is not client:
        return
    try:
        signals = client.recv(64)
    except OSError:
        signals = b""
    for number in signals or [signal.SIGKILL]:
        os.kill(process, number)
    if not signals:
        selector.unregister(client)
        del running[process]
        client.close()
        os.waitpid(process, 0)


if __name__ == "__main__":
    serve(sys.argv[1])
