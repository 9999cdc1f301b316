"""Processes are found by program and environment, as the kernel has them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

from sandbox.proof.processes import Process, find


def test_a_process_is_found_by_its_environment_and_not_by_another():
    name = f"only-this-one-{os.urandom(4).hex()}"
    child = subprocess.Popen(
        [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(60)"],
        env={**os.environ, "POD_NAME": name},
        stdout=subprocess.PIPE,
    )
    try:
        assert child.stdout is not None
        child.stdout.readline()
        program = Path(sys.executable).name
        found = find(program, {"POD_NAME": name})
        assert [process.pid for process in found] == [child.pid]
        assert found[0].argv[1] == "-c"
        assert find(program, {"POD_NAME": "another"}) == []
    finally:
        child.kill()
        child.wait()


def test_established_connections_are_read_from_the_kernel():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        assert server.getsockname() in set(Process(os.getpid(), (), {}).established())
