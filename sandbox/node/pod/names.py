"""The name files of a Pod: /etc/hosts, /etc/resolv.conf and its host name, as kubelet writes them. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from lightkube.resources.core_v1 import Pod

from sandbox.node.runtime.rootfs import NameService


@dataclass(frozen=True)
class ClusterDns:
    """node_resolv_conf: text of the node's own file, for dnsPolicy Default."""

    server: str
    domain: str
    node_resolv_conf: str


def hostname(pod: Pod) -> str:
    assert pod.metadata is not None
    assert pod.spec is not None
    return (pod.spec.hostname or str(pod.metadata.name))[:63].rstrip("-.")


def _hosts(pod: Pod, address: str, domain: str) -> str:
    assert pod.metadata is not None
    assert pod.spec is not None
    name = hostname(pod)
    names = [name]
    if pod.spec.subdomain:
        names.insert(0, f"{name}.{pod.spec.subdomain}.{pod.metadata.namespace}.svc.{domain}")
    lines = ["127.0.0.1\tlocalhost", "::1\tlocalhost ip6-localhost ip6-loopback", f"{address}\t{' '.join(names)}"]
    lines += [f"{alias.ip}\t{' '.join(alias.hostnames or [])}" for alias in pod.spec.hostAliases or []]
    return "\n".join(lines) + "\n"


def _directives(text: str) -> tuple[list[str], list[str], list[str]]:
    """nameservers, search domains and options of a resolv.conf."""
    servers: list[str] = []
    searches: list[str] = []
    options: list[str] = []
    for words in (line.split() for line in text.splitlines() if not line.startswith(("#", ";"))):
        if words[:1] == ["nameserver"]:
            servers += words[1:2]
        elif words[:1] == ["search"]:
            searches = words[1:]
        elif words[:1] == ["options"]:
            options += words[1:]
    return servers, searches, options


def _options(first: Sequence[str], later: Sequence[str]) -> list[str]:
    """Later ones replace earlier ones of the same name (ndots:5, ndots:2)."""
    merged = {option.split(":")[0]: option for option in [*first, *later]}
    return list(merged.values())


def _resolv_conf(pod: Pod, dns: ClusterDns) -> str:
    assert pod.metadata is not None
    assert pod.spec is not None
    policy = pod.spec.dnsPolicy or "ClusterFirst"
    if policy == "ClusterFirst" and pod.spec.hostNetwork:
        policy = "Default"
    servers, searches, options = _directives(dns.node_resolv_conf)
    if policy in ("ClusterFirst", "ClusterFirstWithHostNet"):
        own = [f"{pod.metadata.namespace}.svc.{dns.domain}", f"svc.{dns.domain}", dns.domain]
        servers, searches, options = [dns.server], own + [name for name in searches if name not in own], ["ndots:5"]
    elif policy == "None":
        servers, searches, options = [], [], []
    config = pod.spec.dnsConfig
    if config:
        servers += [server for server in config.nameservers or [] if server not in servers]
        searches += [name for name in config.searches or [] if name not in searches]
        asked = [f"{one.name}:{one.value}" if one.value else str(one.name) for one in config.options or []]
        options = _options(options, asked)
    lines = [f"nameserver {server}" for server in servers[:3]]
    lines += [f"search {' '.join(searches)}"] if searches else []
    lines += [f"options {' '.join(options)}"] if options else []
    return "\n".join(lines) + "\n"


def name_service(pod: Pod, address: str, dns: ClusterDns) -> NameService:
    """Everything the Pod's programs are told of names. ``address``: the Pod's."""
    return NameService(
        hosts=_hosts(pod, address, dns.domain), resolv_conf=_resolv_conf(pod, dns), hostname=hostname(pod)
    )
