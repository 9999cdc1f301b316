"""Where a resource goes: to the control plane, to a data plane, or nowhere at all.

A cluster is known by its API server's address, as the policies know it: from what the command is told, then from what
the library's wrappers call their providers. A place that nobody knows is a data plane for what goes there.
"""

from __future__ import annotations

import fnmatch
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Final

from .. import vocabulary
from .secrets import forms

KUBECONFIG_KEYS: Final = ("kubeconfig", "kubeConfig", "configPath", "kubeconfigPath")
NOWHERE: Final = frozenset({"tls", "random", "time", "std", "null", "pulumi"})
"""Packages whose resources exist in the stack's state alone."""


class Side(Enum):
    """Whose place it is. Where nobody says, it is a data plane for what goes there."""

    CONTROL_PLANE = "control plane"
    DATA_PLANE = "data plane"
    UNKNOWN = "unknown, so data plane"


@dataclass(frozen=True)
class Place:
    """Where things go. name: an API server's address, or a package and its provider."""

    side: Side
    name: str


@dataclass(frozen=True)
class Known:
    """What the command was told: addresses of API servers, and names or URNs of providers (`*` matches anything)."""

    control_plane: tuple[str, ...] = ()
    data_plane: tuple[str, ...] = ()

    def side_of(self, *names: str) -> Side | None:
        """The side that one of a place's names has; None if nobody says, or both."""
        found = {
            side
            for side, patterns in ((Side.CONTROL_PLANE, self.control_plane), (Side.DATA_PLANE, self.data_plane))
            for pattern in patterns
            for name in names
            if name and (fnmatch.fnmatchcase(name, pattern) or name == normal(pattern))
        }
        return found.pop() if len(found) == 1 else None


@dataclass
class Places:
    """The places of one run, filled as its providers are registered."""

    known: Known = Known()
    by_provider: dict[str, Place] = field(default_factory=dict)

    def add_provider(self, urn: str, package: str, name: str, inputs: Mapping[str, Any]) -> Place:
        """Takes a provider in. Two providers of one address are one place, and what one claims holds for both."""
        if folder := inputs.get("renderYamlToDirectory"):  # it writes files, whatever cluster its kubeconfig leads to
            self.by_provider[urn] = Place(Side.UNKNOWN, f"the folder {folder}")
            return self.by_provider[urn]
        config = next((inputs[key] for key in KUBECONFIG_KEYS if inputs.get(key)), None)
        server = server_of(config, inputs.get("context")) or (normal(str(inputs["host"])) if inputs.get("host") else "")
        said = self.known.side_of(server) or self.known.side_of(name, urn) or _claimed(name, inputs)
        here = server or f"{package} ({name})"
        known_already = next(
            (p.side for p in self.by_provider.values() if p.name == here and p.side is not Side.UNKNOWN), None
        )
        place = Place(said or known_already or Side.UNKNOWN, here)
        self.by_provider[urn] = place
        if said:
            for other, found in self.by_provider.items():
                if found.name == here and found.side is Side.UNKNOWN:
                    self.by_provider[other] = place
        return place

    def place_of(self, kind: str, provider: str) -> Place | None:
        """Where a custom resource goes; None if nowhere."""
        package = kind.split(":", maxsplit=1)[0]
        if package in NOWHERE:
            return None
        if provider in self.by_provider:
            return self.by_provider[provider]
        default = f"default_{package}" if package == "kubernetes" else package
        return Place(self.known.side_of(default, package) or Side.UNKNOWN, f"{package} (default provider)")


def _claimed(name: str, inputs: Mapping[str, Any]) -> Side | None:
    """The role that the library's wrappers give their provider."""
    identifier = str(inputs.get("clusterIdentifier") or "")
    for side, word in ((Side.CONTROL_PLANE, vocabulary.CONTROL_PLANE), (Side.DATA_PLANE, vocabulary.DATA_PLANE)):
        if name == vocabulary.PROVIDER_NAME[word] or identifier.startswith(f"{word}-"):
            return side
    return None


def normal(address: str) -> str:
    """An API server's address in one spelling. Anything else stays as it is."""
    if "//" not in address:
        return address
    parts = urllib.parse.urlsplit(address.strip())
    try:
        port = parts.port or (80 if parts.scheme == "http" else 443)
    except ValueError:
        return address
    host = (parts.hostname or "").rstrip(".")
    return f"{parts.scheme.lower()}://{f'[{host}]' if ':' in host else host}:{port}{parts.path.rstrip('/')}"


def server_of(config: Any, context: Any) -> str:
    """The API server that a kubeconfig (text, mapping or path) leads to; empty if it does not say."""
    tree = _parsed(config)
    clusters = _entries(tree, "clusters", "cluster")
    wanted = context if isinstance(context, str) else tree.get("current-context")
    chosen = _entries(tree, "contexts", "context").get(str(wanted), {}).get("cluster")
    found = clusters.get(str(chosen)) or (next(iter(clusters.values())) if len(clusters) == 1 else {})
    return normal(str(found["server"])) if found.get("server") else ""


def _parsed(config: Any) -> Mapping[str, Any]:
    if isinstance(config, str):
        try:
            text = (
                config
                if "\n" in config or config.lstrip().startswith("{")
                else Path(config).expanduser().read_text("utf-8")
            )
            return forms.parsed_kubeconfig(text) or {}
        except (OSError, ValueError):
            return {}
    return config if isinstance(config, Mapping) else {}


def _entries(tree: Mapping[str, Any], key: str, inner: str) -> dict[str, Mapping[str, Any]]:
    found = tree.get(key)
    return {
        str(one.get("name")): one[inner]
        for one in (found if isinstance(found, list) else [])
        if isinstance(one, Mapping) and isinstance(one.get(inner), Mapping)
    }
