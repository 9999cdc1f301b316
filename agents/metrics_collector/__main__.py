"""The command line: `python3 -m metrics_collector --config FILE`."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from .settings import Settings, SettingsError


def parser() -> argparse.ArgumentParser:
    """The arguments."""
    made = argparse.ArgumentParser(prog="metrics_collector", description=__doc__)
    made.add_argument("--config", type=Path, required=True, help="JSON file with endpoints and limits")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code: 1 for an invalid configuration."""
    given = parser().parse_args(arguments)
    try:
        settings = Settings.read(given.config)
    except SettingsError as error:
        print(f"metrics_collector: {error}", file=sys.stderr)
        return 1
    from .server import serve  # noqa: PLC0415 (grpcio is not needed for --help, nor for a rejected configuration)

    asyncio.run(serve(settings))
    return 0


if __name__ == "__main__":
    sys.exit(main())
