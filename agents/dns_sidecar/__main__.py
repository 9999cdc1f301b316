"""`python3 -m edge_writer CONFIG`: external-dns' webhook provider on the loopback, and the conditions of DNSEndpoints.

CONFIG: a JSON file with `kubeconfig` (path), `namespace` (of the DNSEndpoints that are made), `port`, `proxy` (`port`,
and `pipe`, the path of external-dns' kubeconfig), `lease` (`name`, `seconds`, and `account`, the folder of the token),
`nameservers` that are asked what is answered, and `zones`: for each provider its `provider`, `include`, `exclude` and
the `lease` of its publisher.
"""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path

from .api import EdgeApi, OwnApi
from .gate import end_with, keep_conditions, read_edge, start
from .lease import Lease
from .made import Made
from .pace import Pace
from .status import StatusKeeper
from .webhook import Webhook, serve

LONGEST_PAUSE_SECONDS = 15.0
"""Between two passes while the edge is out of reach."""


def main() -> None:
    config = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    api, own = EdgeApi(Path(config["kubeconfig"])), OwnApi(Path(config["lease"]["account"]))
    lease = Lease(own, config["lease"]["name"], socket.gethostname(), config["lease"]["seconds"])
    made = Made(api, config["namespace"], lease)
    proxy = read_edge(api, lease, config["proxy"]["port"], Path(config["proxy"]["pipe"]))
    webhook = Webhook(made, config["namespace"], lease, Pace(LONGEST_PAUSE_SECONDS), reads=lambda: proxy.passing)
    keep_conditions(StatusKeeper.of(config, api, own, lease))
    start(made.run)
    start(lambda: serve(webhook, config["port"]))
    end_with(lease, webhook.writing)


main()
