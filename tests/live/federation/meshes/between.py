"""A program between the clusters that looks names up and reaches gateways, for doctor, as machines of peers would."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, Self

from pulumi_hosted_mesh.operations.doctor.connection import GatewayConnection, LocalNetwork

from sandbox.clusters import Sandbox

PROGRAM = """
import json, sys
from pulumi_hosted_mesh.operations.doctor.connection import reached, resolved
for line in sys.stdin:
    function, arguments = json.loads(line)
    found = resolved(*arguments) if function == "resolve" else vars(reached(*arguments))
    print(json.dumps(found), flush=True)
"""


class Between:
    """One process for many questions: each takes a moment then, and not a start of Python."""

    def __init__(self, sandbox: Sandbox) -> None:
        command = [*sandbox.enter("wan"), sys.executable, "-c", PROGRAM]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def here(self) -> LocalNetwork:
        """What doctor takes for this machine's ways."""
        return LocalNetwork(lambda host: tuple(self._ask("resolve", host)), self._reach)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._process:
            assert self._process.stdin is not None
            self._process.stdin.close()

    def _reach(self, addresses: Sequence[str], port: int, server_name: str, root: str) -> GatewayConnection:
        return GatewayConnection(**self._ask("reach", addresses, port, server_name, root))

    def _ask(self, function: str, *arguments: Any) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps([function, arguments]) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())
