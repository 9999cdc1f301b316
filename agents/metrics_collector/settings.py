"""The configuration file: endpoints and limits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, Final, Self

from .store import Limits

SOURCES: Final = ("metrics-service", "access-log")


class SettingsError(Exception):
    """An invalid configuration file, as one line."""


@dataclass(frozen=True)
class Endpoint:
    """A port, and the labels of all that arrives there.

    trust_domain: of accepted identities. certificate, key, authorities: files, PEM; authorities signed the workloads.
    """

    port: int
    tenant: str
    cluster: str
    network: str
    trust_domain: str
    certificate: Path
    key: Path
    authorities: Path


@dataclass(frozen=True)
class Backend:
    """The receiver of spans: OTLP by gRPC.

    address: `host:port`. authorities: file, PEM, of those that signed its certificate; by default the system's.
    bytes_per_second: of spans that are read from one tenant, four times as many at once. queue_bytes: of one tenant's
    spans that wait for the backend.
    """

    address: str
    plaintext: bool = False
    authorities: Path | None = None
    bytes_per_second: int = 2**20
    queue_bytes: int = 16 * 2**20


@dataclass(frozen=True)
class Settings:
    """All of the file. address: of all ports. metrics_port: of /metrics, /ready and /healthy, plain HTTP.

    traces: without it spans are not accepted.
    """

    endpoints: tuple[Endpoint, ...]
    limits: Limits
    traces: Backend | None = None
    address: str = "[::]"
    metrics_port: int = 15090

    @classmethod
    def read(cls, path: Path) -> Self:
        """Raises: SettingsError."""
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise SettingsError(f"{path}: cannot be read as JSON ({type(error).__name__}).") from None
        return cls.of(found)

    @classmethod
    def of(cls, found: Any) -> Self:
        """Raises: SettingsError."""
        if not isinstance(found, dict) or not isinstance(found.get("endpoints"), list) or not found["endpoints"]:
            raise SettingsError("endpoints: must be a list with one endpoint or more.")
        endpoints = tuple(_endpoint(position, one) for position, one in enumerate(found["endpoints"]))
        others = {key: value for key, value in found.items() if key in ("address", "metrics_port")}
        traces = _typed(Backend, "traces", found["traces"]) if "traces" in found else None
        settings = cls(endpoints, _typed(Limits, "limits", found.get("limits", {})), traces, **others)
        ports = [settings.metrics_port, *(one.port for one in endpoints)]
        if len({*ports} - {0}) != len([one for one in ports if one]):
            raise SettingsError("endpoints: two listeners have one port.")
        return settings


def _endpoint(position: int, found: Any) -> Endpoint:
    made: Endpoint = _typed(Endpoint, f"endpoints[{position}]", found)
    if not 0 <= made.port < 65536:
        raise SettingsError(f"endpoints[{position}].port: must be at most 65535.")
    return made


def _typed(kind: Any, path: str, found: Any) -> Any:
    """A dataclass from a mapping, with its fields and types checked."""
    known: Mapping[str, Any] = {one.name: one for one in fields(kind)}
    if not isinstance(found, dict) or not found.keys() <= known.keys():
        raise SettingsError(f"{path}: the fields are {', '.join(known)}.")
    values = {}
    for name, value in found.items():
        written = str(known[name].type).removesuffix(" | None")
        types: Any = {"int": int, "float": (int, float), "Path": str, "str": str, "bool": bool}[written]
        if not isinstance(value, types) or isinstance(value, bool) is not (written == "bool"):
            raise SettingsError(f"{path}.{name}: must be {written.replace('Path', 'the path of a file')}.")
        values[name] = Path(value) if written == "Path" else value
    try:
        return kind(**values)
    except TypeError:
        missing = [name for name, one in known.items() if name not in values and one.default is MISSING]
        raise SettingsError(f"{path}: {', '.join(missing)} is required.") from None
