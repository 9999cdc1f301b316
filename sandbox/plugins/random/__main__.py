"""Run by the engine as pulumi-resource-random."""

from __future__ import annotations

from sandbox.plugins.bridged.provider import BridgedProvider
from sandbox.plugins.protocol.server import serve
from sandbox.plugins.random.types import TYPES

if __name__ == "__main__":
    serve(BridgedProvider("random", TYPES))
