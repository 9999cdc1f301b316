"""Names: the wan's DNS server for the zone `sandbox.test`, a cluster's DNS server, and who publishes which name.

Each publisher has a file of its own (`<publisher>.records`) in one directory; CoreDNS reads what they make together.
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
    """The wan's server: names of the sandbox's zone from records, nothing else exists (there is no way out).

    name_server: answers for the mesh's zone, unless the control plane's cluster has a record there itself. In the other
    zone a name that has no record falls through to the empty zone, because `hosts` alone would answer SERVFAIL, which
    resolvers take for a fault that may pass.
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
    """A cluster's server on its node's address: the cluster's own names, everything else from the wan's server."""
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
    """Files of all name servers, and the names that are there from the start. kubeconfig: of a cluster."""
    write(directory / _ZONE_FILE, f"{ZONE}. {_TTL} IN SOA dns.{ZONE}. nobody.{ZONE}. 1 60 60 60 {_TTL}\n")
    (name_server,) = (one.name_server for one in clusters if one.role == "control-plane")
    write(corefile_path(directory, WAN), wan_corefile(directory, name_server))
    for cluster in clusters:
        write(corefile_path(directory, cluster.name), cluster_corefile(cluster, kubeconfig(cluster)))
    publish(directory, SANDBOX, base_records(clusters), precedence(clusters))


def corefile_path(directory: Path, network: str) -> Path:
    """Of the server in a network: a cluster's, by its name, or the wan's."""
    return directory / f"{network}.corefile"


def base_records(clusters: Iterable[ClusterAddresses]) -> dict[str, str]:
    """Names that are there from the start: the API servers that somebody on the wan may reach."""
    return {cluster.api_host: cluster.wan_address for cluster in clusters if cluster.api_clients}


def precedence(clusters: Iterable[ClusterAddresses]) -> list[str]:
    """Publishers, those first whose names nobody can take over: the sandbox, the control plane, the users in order."""
    return [SANDBOX, *(one.name for one in sorted(clusters, key=lambda one: one.role != "control-plane"))]


def in_zone(name: str) -> bool:
    """Whether the wan's server answers for this name."""
    return name.endswith(f".{ZONE}")


def allowed(records: Mapping[str, str], cluster: ClusterAddresses) -> dict[str, str]:
    """Of a cluster's records those that it may publish: a data plane none in the mesh's zone, which is not its own."""
    ours = cluster.role == "control-plane"
    return {name: address for name, address in records.items() if ours or not name.endswith(f".{MESH_ZONE}")}


def recorded(directory: Path) -> dict[str, str]:
    """What the wan's server answers from records: addresses by name."""
    return _parsed(directory / _HOSTS)


def publish(directory: Path, publisher: str, records: Mapping[str, str], precedence: Iterable[str]) -> None:
    """Replaces what `publisher` publishes; CoreDNS notices within 0.2 s.

    records: host name to IPv4 address. precedence: a name belongs to the first of these that publishes it.
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
