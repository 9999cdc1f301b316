"""`python3 -m edge_writer CONFIG`: external-dns' webhook provider on the loopback, and the conditions of DNSEndpoints.

CONFIG: a JSON file with `kubeconfig` (path), `namespace` (of the DNSEndpoints that are made), `port`, `lease` (`name`,
`seconds`, and `account`, the folder of the token), and `zones`: for each provider its `provider`, `include`, `exclude`
and the `lease` of its publisher.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from .api import EdgeApi, OwnApi
from .conditions import Zones
from .gate import end_with
from .lease import Lease
from .status import Refusals, StatusKeeper
from .webhook import serve


def main() -> None:
    config = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    api, own = EdgeApi(Path(config["kubeconfig"])), OwnApi(Path(config["lease"]["account"]))
    lease = Lease(own, config["lease"]["name"], socket.gethostname(), config["lease"]["seconds"])
    zones = [Zones(**one) for one in config["zones"]]
    keeper, writing = StatusKeeper(api, zones, lease, Refusals(own, zones)), threading.Lock()

    def ending(run: Callable[[], None]) -> Callable[[], None]:
        def work() -> None:
            try:
                run()
            finally:  # without it the Pod would look well and no condition would ever change
                os._exit(1)

        return work

    for run in (keeper.run, lambda: serve(api, config["namespace"], config["port"], lease, writing)):
        threading.Thread(target=ending(run), daemon=True).start()
    end_with(lease, writing)


main()
