"""`python3 -m dns_sidecar COMMAND`: see `--help`."""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import edge_proxy, kubeconfig_pipe, webhook_server
from .api import EdgeApi, LeaseApi, OwnEndpointsApi
from .edge_proxy import EdgeProxy
from .leader_gate import LeaderGate
from .lease import Lease
from .owned_endpoints import OwnedEndpoints
from .refusal_reason import RefusalReason, metrics_of
from .status_updater import StatusUpdater
from .throttle import SyncThrottle
from .webhook import DnsEndpointProvider

MAX_RETRY_SECONDS = 15.0
"""Between two passes of a reader while its edge is unreachable."""


def run_reader(config: dict[str, Any]) -> None:
    """Stores the names that external-dns finds on an edge, and updates the status of the edge's DNSEndpoints."""
    api, leases = EdgeApi(Path(config["kubeconfig"])), LeaseApi(Path(config["lease"]["account"]))
    lease = Lease(leases, config["lease"]["name"], socket.gethostname(), config["lease"]["seconds"])
    endpoints = OwnedEndpoints(api, config["namespace"], lease)
    proxy = start_proxy(api, lease, config["proxy"]["port"], Path(config["proxy"]["pipe"]))
    throttle = SyncThrottle(MAX_RETRY_SECONDS)
    provider = DnsEndpointProvider(endpoints, config["namespace"], lease, throttle, cache_valid=lambda: proxy.active)
    start_status(StatusUpdater.from_config(config, api, leases, lease, yields=provider.writing.locked))
    start(endpoints.run)
    start(lambda: webhook_server.serve(provider, config["port"]))
    run_until_stopped(lease, provider.writing)


def run_publisher(options: argparse.Namespace) -> None:
    """Lets one of several replicas publish an edge's names, or the program's own records."""
    leases = LeaseApi(options.account)
    lease = Lease(leases, options.lease, socket.gethostname(), options.seconds, publishes=True)
    proxy = options.edge and start_proxy(EdgeApi(options.edge), lease, options.edge_port, options.edge_pipe)
    reason = RefusalReason(options.server, metrics_of(options.metrics_port))
    gate = LeaderGate(
        *(lease, options.upstream, options.interval),
        cache_valid=lambda: not proxy or proxy.active,
        reason=reason,
        answers=options.powerdns,
    )
    start(lambda: webhook_server.serve(gate, options.port))
    if options.conditions:
        config = json.loads(options.conditions.read_text(encoding="utf-8"))
        start_status(StatusUpdater.from_config(config, OwnEndpointsApi(options.account), leases, lease))
    run_until_stopped(lease, gate.writing)


def start_proxy(api: EdgeApi, lease: Lease, port: int, pipe: Path) -> EdgeProxy:
    """Lets external-dns read the edge while the Lease is held."""
    proxy = EdgeProxy(api, lease)
    start(edge_proxy.server(proxy, port).serve_forever)
    start(proxy.run)
    start(lambda: kubeconfig_pipe.serve(pipe, port, proxy))
    return proxy


def start_status(updater: StatusUpdater) -> None:
    start(updater.follow)
    start(updater.run)


def start(run: Callable[[], None]) -> None:
    """Runs a function in a thread. Its end ends the process, so that kubelet restarts the container."""

    def work() -> None:
        try:
            run()
        finally:
            os._exit(1)

    threading.Thread(target=work, daemon=True).start()


def run_until_stopped(lease: Lease, writing: threading.Lock) -> None:
    """Renews the Lease until SIGTERM, then releases it after the current write."""

    def stop(*_: object) -> None:
        raise SystemExit

    signal.signal(signal.SIGTERM, stop)
    try:
        lease.run()
    finally:  # also after an error: without leader election the container would look healthy and do nothing
        try:
            # Shorter than the Pod's grace period. A Lease that is not released expires.
            if writing.acquire(timeout=2):
                lease.release()
        finally:
            os._exit(1)


def server(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog="dns_sidecar", description="The sidecar of external-dns in the DNS bridge.")
    commands = found.add_subparsers(dest="command", required=True)

    pipe = commands.add_parser("pipe", help="create the named pipe of external-dns' kubeconfig, and exit")
    pipe.add_argument("path", type=Path, help="of the pipe")

    reader = commands.add_parser("reader", help="store an edge's names as DNSEndpoints")
    reader.add_argument("config", type=Path, help="JSON file, as `reader_config` in the library's dns/manifests.py")

    publisher = commands.add_parser("publisher", help="pass changes to a DNS provider while the Lease is held")
    publisher.add_argument("--lease", required=True, help="name of the Lease")
    publisher.add_argument("--seconds", type=float, required=True, help="duration of the Lease")
    publisher.add_argument("--account", type=Path, required=True, help="folder of the ServiceAccount's token")
    publisher.add_argument("--interval", type=float, required=True, help="seconds between two reads of the provider")
    publisher.add_argument("--port", type=int, required=True, help="of the webhook provider")
    publisher.add_argument("--upstream", type=int, required=True, help="port of the external-dns with the credential")
    publisher.add_argument("--metrics-port", type=int, required=True, help="of that external-dns")
    publisher.add_argument("--server", type=server, action="append", default=[], help="HOST:PORT of the DNS server")
    publisher.add_argument("--powerdns", default="", help="the provider is a PowerDNS: `plain` or `weighted` answers")
    publisher.add_argument("--conditions", type=Path, help="JSON file with `zones` and `nameservers`")
    publisher.add_argument("--edge", type=Path, help="kubeconfig of an edge")
    publisher.add_argument("--edge-port", type=int, help="of the proxy to the edge")
    publisher.add_argument("--edge-pipe", type=Path, help="named pipe of external-dns' kubeconfig")
    return found


def main() -> None:
    options = parser().parse_args()
    if options.command == "pipe":
        kubeconfig_pipe.make_pipe(options.path)
    elif options.command == "reader":
        run_reader(json.loads(options.config.read_text(encoding="utf-8")))
    else:
        run_publisher(options)


if __name__ == "__main__":
    main()
