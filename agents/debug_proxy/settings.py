"""The settings of the program."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """istiod_host: a name with one address for each istiod. cluster, namespace: the user's, and the mesh's there."""

    address: str
    port: int
    certificate: Path
    key: Path
    istiod_host: str
    istiod_port: int
    cluster: str
    namespace: str
