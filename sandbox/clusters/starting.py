"""Starts a sandbox: writes credentials, ports and plan to the state directory, then launches its supervisor."""

from __future__ import annotations

import subprocess
import sys

from sandbox.clusters.credentials.files import Credentials, kubeconfig
from sandbox.clusters.environment import program_environment
from sandbox.clusters.network import dns
from sandbox.clusters.network.addresses import addresses_of
from sandbox.clusters.network.host_ports import listen
from sandbox.clusters.processes.node_config import write_configs
from sandbox.clusters.processes.table import Tools, plan
from sandbox.clusters.running import server_url
from sandbox.clusters.state import Layout, Settings, read, write
from sandbox.clusters.supervisor.spawn import NOT_ALLOWED
from sandbox.clusters.topology import Topology
from sandbox.errors import SandboxError

_LARGE_LOG = 8 << 20  # bytes


def start(layout: Layout, topology: Topology, tools: Tools, *, nodes: bool) -> None:
    """Writes credentials and plan, and launches the supervisor. Returns once it is recorded, before it is ready."""
    layout.processes.unlink(missing_ok=True)
    _set_old_logs_aside(layout)
    before = read(layout.settings, Settings)
    clusters = addresses_of(topology)
    listeners = listen(clusters, before.ports if before else {})
    ports = {name: listener.getsockname()[1] for name, listener in listeners.items()}
    write(layout.settings, Settings(topology=topology, ports=ports))
    contexts = {}
    for name, cluster in clusters.items():
        contexts[name] = Credentials(layout, cluster).write(server_url(ports[name]))
        if nodes:
            write_configs(layout, cluster, tools.bin_dir)
    write(layout.kubeconfig, kubeconfig(contexts))
    descriptors = {name: listener.fileno() for name, listener in listeners.items()}
    write(layout.plan, plan(layout, tools, [*clusters.values()], descriptors, nodes=nodes))
    dns.write_configuration(
        layout.dns, [*clusters.values()], lambda cluster: Credentials(layout, cluster).kubeconfig("coredns")
    )
    arguments = ["--nodes"] if nodes else []
    launched = subprocess.run(
        [sys.executable, "-m", "sandbox.clusters.supervisor.spawn", str(layout.root), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        pass_fds=list(descriptors.values()),
        env=program_environment(tools.bin_dir),
        cwd="/",
        start_new_session=True,  # ^C ends `up` only, not the sandbox
        text=True,
        check=False,
    )
    for listener in listeners.values():
        listener.close()
    if launched.returncode != 0:
        raise _not_launched(launched.returncode, launched.stderr)


def _set_old_logs_aside(layout: Layout) -> None:
    """Renames a log above `_LARGE_LOG` to `<name>.log.old`, which replaces the one before."""
    for log in layout.log("supervisor").parent.glob("*.log"):
        if log.stat().st_size > _LARGE_LOG:
            log.replace(log.with_name(log.name + ".old"))


def _not_launched(code: int, reasons: str) -> SandboxError:
    if code != NOT_ALLOWED:
        return SandboxError("The sandbox cannot be launched.", why=reasons, fix="see the reason above.")
    return SandboxError(
        "This machine does not let this user make the namespaces of a sandbox.",
        why=reasons,
        fix="run as root (in a container: with CAP_SYS_ADMIN and CAP_NET_ADMIN), or enable user namespaces: "
        "`sysctl user.max_user_namespaces=15000`, on Debian also `sysctl kernel.unprivileged_userns_clone=1`, "
        "on Ubuntu `sysctl kernel.apparmor_restrict_unprivileged_userns=0`.",
    )
