"""The request to the process of an operation, and the names of its events."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from hosted_mesh_controller.vocabulary import Action

MARKER: Final = "HOSTED_MESH_CONTROLLER_STACK"
"""The environment variable by which a later process finds those that an earlier one left."""
RESULT: Final = "result"
"""The type of the last event."""


@dataclass(frozen=True)
class Request:
    """One operation. It contains places of secrets, and no secret.

    folder: of this stack. unfinished_since: seconds since 1970 of the first start of the operations since the stack's
    last success, if one of them was interrupted or failed; else None. lease_seconds: the process ends when standard
    input has no line for so long: its executor is lost. Then another one may begin the operation. None: at its end.
    """

    operation: str
    action: Action
    stack: str
    folder: str
    program: str
    backend: str
    passphrase_file: str
    config: Mapping[str, Any]
    unfinished_since: float | None = None
    kubeconfigs: tuple[str, ...] = ()
    dns_credentials: str | None = None
    policy_pack: str | None = None
    lease_seconds: float | None = None

    def line(self) -> str:
        """As JSON on one line."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, line: str) -> Request:
        """From its line."""
        found = json.loads(line)
        return cls(**{**found, "action": Action(found["action"]), "kubeconfigs": tuple(found["kubeconfigs"])})
