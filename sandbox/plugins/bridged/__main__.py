"""A stand-in as the engine runs it (bin/): `python -m sandbox.plugins.bridged NAME`; NAME: tls or random."""

from __future__ import annotations

import importlib
import sys

from sandbox.plugins.bridged.provider import BridgedProvider
from sandbox.plugins.protocol.server import serve

if __name__ == "__main__":
    name = sys.argv[1]
    serve(BridgedProvider(name, importlib.import_module(f"sandbox.plugins.{name}.types").TYPES))
