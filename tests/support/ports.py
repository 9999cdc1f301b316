"""Ports of 127.0.0.1 for programs that a test starts a moment later."""

from __future__ import annotations

import contextlib
import itertools
import random
import socket

# Below 32768: above it the kernel assigns ports to outgoing connections, also between this and the program's start.
_candidates = iter(random.sample(range(20_000, 32_768), 12_768))


def free_port() -> int:
    """Each call in a process returns another port: nothing listens at the ones before yet."""
    for port in itertools.islice(_candidates, 100):
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no free port in 100 attempts")
