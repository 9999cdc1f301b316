"""What a provider method raises; the server turns it into what the engine expects."""

from __future__ import annotations


class ProviderError(Exception):
    """The operation failed; the text is for the person at the keyboard and never holds a secret."""


class NotImplementedHere(ProviderError):
    """A stand-in was asked for something that only the official plug-in can do."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"the stand-in for the provider plug-in does not implement {what}; "
            "install the official plug-in and set HOSTED_MESH_PLUGINS=official"
        )
