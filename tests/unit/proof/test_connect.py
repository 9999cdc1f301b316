"""The probe of addresses, against real sockets."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading

from sandbox.proof.deployed import PROGRAMS


def test_open_and_closed_by_either_protocol():
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        udp.bind(("127.0.0.1", 0))
        answering = threading.Thread(target=lambda: udp.sendto(b"here", udp.recvfrom(512)[1]), daemon=True)
        answering.start()
        with socket.socket() as other, socket.socket(type=socket.SOCK_DGRAM) as silent:
            other.bind(("127.0.0.1", 0))  # bound and not listening: nobody else can take the port meanwhile
            silent.bind(("127.0.0.1", 0))
            answers = {
                f"127.0.0.1:{tcp.getsockname()[1]}": "open",
                f"127.0.0.1:{udp.getsockname()[1]}/udp": "open",
                f"127.0.0.1:{other.getsockname()[1]}": "Connection refused",
                f"127.0.0.1:{silent.getsockname()[1]}/udp": "timed out",
            }
            command = [sys.executable, "-I", str(PROGRAMS / "connect.py"), str(os.getuid()), *answers]
            assert json.loads(subprocess.run(command, capture_output=True, check=True).stdout) == answers
