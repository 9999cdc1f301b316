"""Exceptions of provider methods; the server turns them into the engine's form."""

from __future__ import annotations


class ProviderError(Exception):
    """The operation failed; the text is for the user and never holds a secret."""


class NotImplementedHere(ProviderError):
    """The request needs a feature that only the official plug-in has."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"the stand-in for the provider plug-in does not implement {what}; "
            "install the official plug-in and set HOSTED_MESH_PLUGINS=official"
        )
