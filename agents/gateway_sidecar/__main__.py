"""`python3 -m gateway_sidecar`: see `--help`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Final

from .api import RowsApi
from .publisher import Publisher, validator
from .rows import rows_of
from .settings import Settings
from .status import Status, server

RETRY_SECONDS: Final = 2.0
SETTLE_SECONDS: Final = 0.5
"""A mesh has several rows, which its stack writes one after the other."""


def run_pass(api: RowsApi, settings: Settings, publisher: Publisher, status: Status) -> str:
    """Reads all rows and publishes them. Returns the version that was read. Raises OSError."""
    found, version = api.list()
    rows, rejected = rows_of(found, settings)
    before = publisher.published
    refused = {**rejected, **publisher.publish(rows)}
    served = publisher.published or ()
    status.report(len(served), refused)
    if before != publisher.published:
        log(f"{len(served)} hosts are served")
    for host, reason in sorted(refused.items()):
        log(f"rejected: {host} {reason}")
    return version


def run(api: RowsApi, settings: Settings, publisher: Publisher, status: Status) -> None:
    """Follows the rows for ever. While the API server does not answer, Envoy keeps its configuration."""
    while True:
        try:
            version = run_pass(api, settings, publisher, status)
            api.wait(version)
            time.sleep(SETTLE_SECONDS)
        except OSError as error:
            log(f"rows cannot be read: {error}")
            time.sleep(RETRY_SECONDS)


def log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(
        prog="gateway_sidecar", description="The sidecar of the shared gateway: ConfigMaps to Envoy's files."
    )
    found.add_argument("--settings", type=Path, required=True, help="JSON file, as `sidecar_config` in the library")
    found.add_argument("--account", type=Path, required=True, help="folder of the ServiceAccount's token")
    found.add_argument("--folder", type=Path, required=True, help="folder that Envoy reads")
    found.add_argument("--envoy", type=Path, required=True, help="Envoy's program, which validates")
    found.add_argument("--port", type=int, required=True, help="of metrics and readiness")
    return found


def main() -> None:
    options = parser().parse_args()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))  # without a handler a process with id 1 ignores it
    settings, status = Settings.read(options.settings), Status()
    valid = validator(options.envoy, settings, options.folder)
    threading.Thread(target=server(status, options.port).serve_forever, daemon=True).start()
    run(RowsApi(options.account, settings.selector), settings, Publisher(settings, options.folder, valid), status)


if __name__ == "__main__":
    main()
