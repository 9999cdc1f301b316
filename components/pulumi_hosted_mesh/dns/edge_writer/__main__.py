"""`python3 -m edge_writer CONFIG`: external-dns' webhook provider on the loopback, and the conditions of DNSEndpoints.

CONFIG: a JSON file with `kubeconfig` (path), `namespace` (of the DNSEndpoints that are made), `port`, and `zones`: for
each provider its `provider`, `include` and `exclude`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path

from .api import EdgeApi
from .conditions import Zones
from .status import StatusKeeper
from .webhook import serve


def main() -> None:
    config = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    # The first process of a container gets no default handler from the kernel.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    api = EdgeApi(Path(config["kubeconfig"]))
    keeper = StatusKeeper(api, [Zones(**one) for one in config["zones"]])

    def keep() -> None:
        try:
            keeper.run()
        finally:  # without it the Pod would look well and no condition would ever change
            os._exit(1)

    threading.Thread(target=keep, daemon=True).start()
    serve(api, config["namespace"], config["port"])


main()
