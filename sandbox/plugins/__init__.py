"""Provider plug-ins for the engine: `selection` takes Pulumi's releases, or what can be had where there are none.

That is Pulumi's own for kubernetes, which is a Go module, and the stand-ins of this folder for tls and random, which
are none. The stand-ins speak Pulumi's provider protocol in Python. They belong to the sandbox and are never shipped.
What they do not implement they refuse by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

VERSIONS: Final[Mapping[str, str]] = {"kubernetes": "4.34.2", "tls": "5.6.2", "random": "4.21.4"}
"""Those that the Python packages of the project ask the engine for (requirements.txt)."""
