"""Run by the engine as pulumi-resource-tls."""

from __future__ import annotations

from sandbox.plugins.bridged.provider import BridgedProvider
from sandbox.plugins.protocol.server import serve
from sandbox.plugins.tls.types import TYPES

if __name__ == "__main__":
    serve(BridgedProvider("tls", TYPES))
