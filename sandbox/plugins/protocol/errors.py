"""What a provider method raises; the server turns it into what the engine expects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class ProviderError(Exception):
    """The operation failed; the text is for the person at the keyboard and never holds a secret."""


class NotImplementedHere(ProviderError):
    """A stand-in was asked for something that only the official plug-in can do."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"the stand-in for the provider plug-in does not implement {what}; "
            "install the official plug-in and set HOSTED_MESH_PLUGINS=official"
        )


class InitializationFailed(ProviderError):
    """The resource exists but did not become ready. The engine keeps its state, and the next update resumes.

    id: of the resource. state: its outputs. inputs: only when reading. reasons: one line each, shown to people.
    """

    def __init__(
        self,
        message: str,
        *,
        id: str,  # noqa: A002 - the protocol's word
        state: Mapping[str, Any],
        reasons: Sequence[str] = (),
        inputs: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.id = id
        self.state = state
        self.reasons = reasons
        self.inputs = inputs
