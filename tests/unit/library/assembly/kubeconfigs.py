"""Objects and documents for several test modules."""

from __future__ import annotations

import base64
import json
from collections import Counter

from tests.unit.library.documents import CERTIFICATE
from tests.unit.library.program import Registered

AUTHORITY = base64.b64encode(CERTIFICATE.encode()).decode()


def kubeconfig(server: str) -> str:
    """Of a cluster where nobody answers."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "it",
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
            "clusters": [{"name": "it", "cluster": {"server": server, "certificate-authority-data": AUTHORITY}}],
            "users": [{"name": "it", "user": {"token": "t0k3n"}}],
        }
    )


def repeated(found: list[Registered]) -> list[tuple[str, str]]:
    """Types and names that were registered more than once: the engine refuses the second."""
    return [pair for pair, times in Counter((one.type, one.name) for one in found).items() if times > 1]
