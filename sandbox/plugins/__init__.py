"""Provider plug-ins for the engine: `selection` takes Pulumi's releases, or replacements where they are unavailable.

The replacements are Pulumi's own for kubernetes, a Go module, and the stand-ins of this folder for tls and random. The
stand-ins implement Pulumi's provider protocol in Python. They belong to the sandbox and are never shipped.
They reject unimplemented features by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

VERSIONS: Final[Mapping[str, str]] = {"kubernetes": "4.34.2", "tls": "5.6.2", "random": "4.21.4"}
"""The plug-ins that the project's Python packages require (requirements.txt)."""
