"""The command line: `python3 -m debug_proxy --istiod HOST:PORT ...`."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from .settings import Settings


def parser() -> argparse.ArgumentParser:
    """The arguments."""
    made = argparse.ArgumentParser(prog="debug_proxy", description=__doc__)
    made.add_argument("--address", default="[::]", help="address to listen on")
    made.add_argument("--port", type=int, required=True, help="port for istioctl, TLS")
    made.add_argument("--certificate", type=Path, required=True, help="PEM file: certificate and chain")
    made.add_argument("--key", type=Path, required=True, help="PEM file: private key of the certificate")
    made.add_argument("--istiod", required=True, metavar="HOST:PORT", help="name of all istiods, with their debug port")
    made.add_argument("--cluster", required=True, help="Istio's name of the user's cluster: its proxies are shown")
    made.add_argument("--namespace", required=True, help="the mesh's namespace: its ServiceAccounts are admitted")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code: 1 for an invalid argument."""
    given = parser().parse_args(arguments)
    host, _, port = given.istiod.rpartition(":")
    if not host or not port.isdecimal():
        print("debug_proxy: --istiod: must be HOST:PORT.", file=sys.stderr)
        return 1
    settings = Settings(
        address=given.address,
        port=given.port,
        certificate=given.certificate,
        key=given.key,
        istiod_host=host,
        istiod_port=int(port),
        cluster=given.cluster,
        namespace=given.namespace,
    )
    from .server import serve  # noqa: PLC0415 (grpcio is not needed for --help, nor for rejected arguments)

    asyncio.run(serve(settings))
    return 0


if __name__ == "__main__":
    sys.exit(main())
