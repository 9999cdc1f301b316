"""Run by the engine as pulumi-resource-kubernetes; its one argument is the engine's address."""

from __future__ import annotations

import sys

from sandbox.plugins.kubernetes.provider import KubernetesProvider
from sandbox.plugins.protocol.engine import Engine
from sandbox.plugins.protocol.server import serve

if __name__ == "__main__":
    serve(KubernetesProvider(Engine(sys.argv[1] if len(sys.argv) > 1 else "")))
