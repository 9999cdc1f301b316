"""The name files of a Pod: /etc/hosts, /etc/resolv.conf and its host name, as kubelet writes them. Pure."""

from dataclasses import dataclass

from lightkube.resources.core_v1 import Pod

from sandbox.node.runtime.rootfs import NameService


@dataclass(frozen=True)
class ClusterDns:
    """Every Pod asks it, by dnsPolicy ClusterFirst; other policies and dnsConfig are not offered."""

    server: str
    domain: str


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


def _resolv_conf(pod: Pod, dns: ClusterDns) -> str:
    assert pod.metadata is not None
    searches = (f"{pod.metadata.namespace}.svc.{dns.domain}", f"svc.{dns.domain}", dns.domain)
    return f"nameserver {dns.server}\nsearch {' '.join(searches)}\noptions ndots:5\n"


def name_service(pod: Pod, address: str, dns: ClusterDns) -> NameService:
    """Everything the Pod's programs are told of names. ``address``: the Pod's."""
    return NameService(
        hosts=_hosts(pod, address, dns.domain), resolv_conf=_resolv_conf(pod, dns), hostname=hostname(pod)
    )
