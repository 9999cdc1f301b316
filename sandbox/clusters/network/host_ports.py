"""Ports on the host's loopback for the API servers: chosen once, kept as long as possible."""

from __future__ import annotations

import errno
import random
import socket
from collections.abc import Iterable, Mapping

# Below 32768: above it the kernel assigns ports to outgoing connections, and could take one during a restart. Above
# 20001: that one is Kiali's, which `make up ARGS=--observability` prints.
RANGE = range(20100, 32000)
_TRIES = 200


def listen(clusters: Iterable[str], wanted: Mapping[str, int]) -> dict[str, socket.socket]:
    """A listening socket on 127.0.0.1 per cluster, on the wanted port if it is free, else on another.

    Raises OSError when none of 200 random ports is free.
    """
    return {name: _listen(wanted.get(name)) for name in clusters}


def _listen(wanted: int | None) -> socket.socket:
    candidates = ([wanted] if wanted else []) + random.sample(RANGE, _TRIES)
    for port in candidates:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
            listener.listen(128)
        except OSError as error:
            listener.close()
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
        else:
            return listener
    raise OSError(f"no free port among {_TRIES} tried in {RANGE.start}-{RANGE.stop - 1} on 127.0.0.1")
