"""Applies an object that a webhook rejects until the host of it leads to istiod."""

from __future__ import annotations

from typing import Any

from lightkube import ApiError, Client

from sandbox.proof.deployed import NotObserved


def apply(client: Client, resource: Any) -> None:
    """Raises NotObserved with the API server's reason, for `eventually`."""
    try:
        client.apply(resource, force=True)
    except ApiError as error:
        raise NotObserved(str(error.status.message)) from None
