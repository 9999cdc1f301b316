"""Ports of 127.0.0.1 for programs that a test starts a moment later."""

from __future__ import annotations

import contextlib
import random
import socket


def free_port() -> int:
    """Below 32768: above it the kernel assigns ports to outgoing connections, also between this and the program."""
    for port in random.sample(range(20_000, 32_768), 100):
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no free port in 100 attempts")
