"""DNS: the wan's server for the zone `sandbox.test`, a cluster's server, and the publishers of names.

Each publisher has a file of its own (`<publisher>.records`) in one directory; CoreDNS reads the merged records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from ipaddress import IPv4Address
from pathlib import Path

from sandbox.clusters.network.addresses import CLUSTER_DOMAIN, MESH_ZONE, WAN, WAN_DNS, ZONE, ClusterAddresses
from sandbox.clusters.state import write
from sandbox.lock import locked

READY_PORT = 8181  # on loopback
SANDBOX = "sandbox"  # as a publisher
_HOSTS, _ZONE_FILE = "hosts", "empty.zone"
_TTL = 5  # seconds


def wan_corefile(directory: Path, name_server: str) -> str:
    """The wan's server: the names of the sandbox's zone, from records. No other name exists: there is no way out.

    name_server: serves the mesh's zone, except for records of the control plane's cluster there. In the sandbox's zone
    a name without a record falls through to the empty zone: `hosts` alone would answer SERVFAIL, and resolvers take
    that for a temporary failure.
    """
    hosts = f"""hosts {directory / _HOSTS} {{
        ttl {_TTL}
        reload 200ms
        no_reverse
        fallthrough
    }}"""
    return f"""{MESH_ZONE} {{
    bind {WAN_DNS}
    errors
    {hosts}
    forward . {name_server} {{
        max_fails 0
    }}
}}
{ZONE} {{
    bind {WAN_DNS}
    errors
    ready 127.0.0.1:{READY_PORT}
    {hosts}
    file {directory / _ZONE_FILE}
}}
. {{
    bind {WAN_DNS}
    template ANY ANY {{
        rcode NXDOMAIN
    }}
}}
"""


def cluster_corefile(cluster: ClusterAddresses, kubeconfig: Path) -> str:
    """A cluster's server on its node's address: the cluster's own names; it forwards all others to the wan's server."""
    return f""". {{
    bind {cluster.wan_address}
    errors
    ready 127.0.0.1:{READY_PORT}
    kubernetes {CLUSTER_DOMAIN} in-addr.arpa {{
        kubeconfig {kubeconfig}
        pods insecure
        ttl {_TTL}
        fallthrough in-addr.arpa
    }}
    forward . {WAN_DNS}
}}
"""


def write_configuration(
    directory: Path, clusters: Sequence[ClusterAddresses], kubeconfig: Callable[[ClusterAddresses], Path]
) -> None:
    """Files of all name servers, and the initial names. kubeconfig: of a cluster."""
    write(directory / _ZONE_FILE, f"{ZONE}. {_TTL} IN SOA dns.{ZONE}. nobody.{ZONE}. 1 60 60 60 {_TTL}\n")
    (name_server,) = (one.name_server for one in clusters if one.role == "control-plane")
    write(corefile_path(directory, WAN), wan_corefile(directory, name_server))
    for cluster in clusters:
        write(corefile_path(directory, cluster.name), cluster_corefile(cluster, kubeconfig(cluster)))
    publish(directory, SANDBOX, base_records(clusters), precedence(clusters))


def corefile_path(directory: Path, network: str) -> Path:
    """The Corefile of a network's server. network: a cluster's name, or the wan."""
    return directory / f"{network}.corefile"


def base_records(clusters: Iterable[ClusterAddresses]) -> dict[str, str]:
    """The initial names: API servers that other clusters may reach."""
    return {cluster.api_host: cluster.wan_address for cluster in clusters if cluster.api_clients}


def precedence(clusters: Iterable[ClusterAddresses]) -> list[str]:
    """Publishers by precedence: the sandbox, the control plane, the data planes in order."""
    return [SANDBOX, *(one.name for one in sorted(clusters, key=lambda one: one.role != "control-plane"))]


def in_zone(name: str) -> bool:
    """Whether the wan's server answers for this name."""
    return name.endswith(f".{ZONE}")


def allowed(records: Mapping[str, str], cluster: ClusterAddresses) -> dict[str, str]:
    """The records that a cluster may publish. A data plane may publish none in the mesh's zone."""
    ours = cluster.role == "control-plane"
    return {name: address for name, address in records.items() if ours or not name.endswith(f".{MESH_ZONE}")}


def recorded(directory: Path) -> dict[str, str]:
    """The records of the wan's server: addresses by name."""
    return _parsed(directory / _HOSTS)


def publish(directory: Path, publisher: str, records: Mapping[str, str], precedence: Iterable[str]) -> None:
    """Replaces the records of `publisher`; CoreDNS notices within 0.2 s.

    records: host name to IPv4 address. precedence: a name belongs to the first publisher in this order.
    """
    with locked(directory / "lock"):
        write(directory / f"{publisher}.records", _lines(records))
        merged: dict[str, str] = {}
        for one in precedence:
            for name, address in _parsed(directory / f"{one}.records").items():
                merged.setdefault(name, address)
        write(directory / _HOSTS, _lines(merged))


def _lines(records: Mapping[str, str]) -> str:
    return "".join(f"{address} {name}\n" for name, address in sorted(records.items()))


def _parsed(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    pairs = (line.split() for line in path.read_text().splitlines())
    return {name: str(IPv4Address(address)) for address, name in pairs}
