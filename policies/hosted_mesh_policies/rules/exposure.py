"""istiod's exposure: by name, over TLS, from the necessary addresses."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, Final

from hosted_mesh_plan import vocabulary
from hosted_mesh_plan.annotations import is_annotated
from hosted_mesh_plan.istiod import WORKLOADS, discovery_container, is_external, is_istios, pod_of
from hosted_mesh_plan.model import SECRET_DATA, Resource
from hosted_mesh_plan.tree import UNKNOWN, at, items

from ..detect.secrets.resource_types import KEY_TYPE
from ..evaluation.context import Context
from ..evaluation.finding import Severity
from ..evaluation.rule import Place, Rule, not_known

PLAIN_PORTS: Final = {15010: "plaintext xDS", 15014: "istiod's metrics and debug pages"}
ISTIODS_PORTS: Final = {**PLAIN_PORTS, 8080: "istiod's debug pages"}
"""For istiod's objects only: many other programs listen on 8080."""
ALL_ADDRESSES: Final = frozenset({"0.0.0.0/0", "::/0"})
WEAK_TLS: Final = frozenset({"TLS_AUTO", "TLSV1_0", "TLSV1_1"})
AUTHORITY_KEY: Final = "ca-key.pem"
MESHS_KEY: Final = "gives a gateway the key of a mesh"
ENCRYPTED: Final = frozenset({"HTTPS", "TLS"})


def check(context: Context, resource: Resource) -> Iterator[Place]:
    if not context.clusters.on_control_plane(resource) or resource.read_only:
        return
    container = discovery_container(resource)
    if container is not None and is_external(resource, container):
        yield from _istiod(container)
    elif resource.kind in WORKLOADS and container is None:
        yield from _mounted_keys(resource)
    elif resource.kind == "Service":
        yield from _service(resource, _ports(context, resource))
    elif resource.kind == "Gateway" and resource.group == "networking.istio.io":
        yield from _istio_gateway(context, resource, _ports(context, resource))
    elif resource.kind == "Gateway" and resource.group == "gateway.networking.k8s.io":
        yield from _gateway(context, resource)
    elif resource.kind == "Ingress" and is_istios(context.stack, resource):
        for position, rule in enumerate(items(resource.body, "spec", "rules")):
            yield from _host(f"spec.rules[{position}].host", at(rule, "host"))


def _istiod(container: Any) -> Iterator[Place]:
    """Port 15010 needs no credentials, so it is off: `--grpcAddr` empty."""
    args = items(container, "args")
    if UNKNOWN in args:
        yield "spec.template.spec.containers.args", not_known("istiod's arguments")
    elif not any(isinstance(arg, str) and arg.replace('"', "") == "--grpcAddr=" for arg in args) and not any(
        arg == "--grpcAddr" and after in {"", '""'} for arg, after in itertools.pairwise(args)
    ):
        yield "spec.template.spec.containers.args", 'plaintext xDS is on: start istiod with --grpcAddr=""'


def _ports(context: Context, resource: Resource) -> Mapping[int, str]:
    selector = at(resource.body, "spec", "selector", default={})
    chosen = selector.values() if isinstance(selector, dict) else [selector]
    selects = any(value in ("istiod", UNKNOWN) for value in chosen)
    return ISTIODS_PORTS if selects or is_istios(context.stack, resource) else PLAIN_PORTS


def _service(resource: Resource, ports: Mapping[int, str]) -> Iterator[Place]:
    kind = at(resource.body, "spec", "type", default="ClusterIP")
    if kind is UNKNOWN:
        yield "spec.type", not_known("the type of Service")
    if kind not in {"LoadBalancer", "NodePort"}:
        return
    for position, port in enumerate(items(resource.body, "spec", "ports")):
        for key in ("port", "targetPort"):
            if at(port, key) in ports or at(port, key) == "grpc-xds":
                name = ports.get(at(port, key), "plaintext xDS")
                yield f"spec.ports[{position}].{key}", f"exposes {name} outside the cluster"
    if kind != "LoadBalancer" or is_annotated(resource, vocabulary.OPEN_TO_ALL_ANNOTATION):
        return
    ranges = items(resource.body, "spec", "loadBalancerSourceRanges")
    if UNKNOWN in ranges:
        yield "spec.loadBalancerSourceRanges", not_known("the list of source ranges")
    elif not ranges:
        what = f"is empty: list the data planes' ranges, or annotate {vocabulary.OPEN_TO_ALL_ANNOTATION}"
        yield "spec.loadBalancerSourceRanges", what
    elif ALL_ADDRESSES & set(map(str, ranges)):
        what = f"admits all addresses: list ranges, or annotate {vocabulary.OPEN_TO_ALL_ANNOTATION}"
        yield "spec.loadBalancerSourceRanges", what


def _mounted_keys(resource: Resource) -> Iterator[Place]:
    """A proxy in front of istiod needs no key of a mesh: it passes TLS through."""
    for position, volume in enumerate(items(pod_of(resource), "volumes")):
        sources = items(volume, "projected", "sources")
        names = [at(volume, "secret", "secretName"), *(at(source, "secret", "name") for source in sources)]
        if any(name in vocabulary.AUTHORITY_SECRETS for name in names if isinstance(name, str)):
            yield f"spec.template.spec.volumes[{position}]", f"{MESHS_KEY}, which only istiod needs"


def _is_meshs_key(context: Context, namespace: str, name: Any) -> bool:
    """Whether a Secret has the key of a mesh: by its name, its content, or a generated key that a `cacerts` has too.

    name: an unknown one is judged before the write.
    """
    if not isinstance(name, str):
        return False
    if name in vocabulary.AUTHORITY_SECRETS:
        return True
    secrets = [
        one for one in context.stack.resources if one.kind == "Secret" and context.clusters.on_control_plane(one)
    ]
    authorities = {key for one in secrets if _is_authority(one) for key in _generated_keys(context, one)}
    return any(
        _is_authority(one) or not authorities.isdisjoint(_generated_keys(context, one))
        for one in secrets
        if one.object_name == name and one.namespace == namespace
    )


def _is_authority(secret: Resource) -> bool:
    """Whether a Secret has the files of istiod's authority."""
    data = [at(secret.body, part, default={}) for part in SECRET_DATA]
    return secret.object_name in vocabulary.AUTHORITY_SECRETS or any(
        AUTHORITY_KEY in part for part in data if isinstance(part, dict)
    )


def _generated_keys(context: Context, secret: Resource) -> set[str]:
    """URNs of the private keys that a Secret's data comes from."""
    sources = itertools.chain.from_iterable(context.stack.sources_of(secret, part) for part in SECRET_DATA)
    return {one.urn for one in sources if one.type == KEY_TYPE}


def _istio_gateway(context: Context, resource: Resource, ports: Mapping[int, str]) -> Iterator[Place]:
    for position, server in enumerate(items(resource.body, "spec", "servers")):
        where = f"spec.servers[{position}]"
        if server is UNKNOWN:
            yield where, not_known("the server")
            continue
        hosts = items(server, "hosts")
        for host in hosts or [None]:
            yield from _host(f"{where}.hosts", host)
        number = at(server, "port", "number")
        if number in ports:
            yield f"{where}.port.number", f"exposes {ports[number]}"
        protocol, mode = at(server, "port", "protocol"), at(server, "tls", "mode")
        if protocol is UNKNOWN or mode is UNKNOWN:
            yield where, not_known("the protocol or TLS mode")
        elif str(protocol).upper() not in ENCRYPTED:
            yield f"{where}.port.protocol", "is not encrypted"
        elif mode not in {"PASSTHROUGH", "AUTO_PASSTHROUGH"}:
            least = at(server, "tls", "minProtocolVersion")
            if least is None or least in WEAK_TLS:
                yield f"{where}.tls.minProtocolVersion", "is missing or below TLSV1_2"
            if _is_meshs_key(context, resource.namespace, at(server, "tls", "credentialName")):
                yield f"{where}.tls.credentialName", f"{MESHS_KEY}: set mode PASSTHROUGH"


def _gateway(context: Context, resource: Resource) -> Iterator[Place]:
    for position, listener in enumerate(items(resource.body, "spec", "listeners")):
        where = f"spec.listeners[{position}]"
        if listener is UNKNOWN:
            yield where, not_known("the listener")
            continue
        yield from _host(f"{where}.hostname", at(listener, "hostname"))
        if str(at(listener, "protocol")).upper() not in ENCRYPTED:
            yield f"{where}.protocol", "is not encrypted"
        for number, reference in enumerate(items(listener, "tls", "certificateRefs")):
            namespace = at(reference, "namespace") or resource.namespace
            if _is_meshs_key(context, str(namespace), at(reference, "name")):
                yield f"{where}.tls.certificateRefs[{number}]", f"{MESHS_KEY}: set mode Passthrough"


def _host(where: str, host: Any) -> Iterator[Place]:
    if host is UNKNOWN:
        yield where, not_known("the host name")
    elif not isinstance(host, str) or host.rsplit("/", 1)[-1] in {"", "*"}:
        yield where, "passes any host: name the mesh's own"


EXPOSURE = Rule(
    name="exposure-is-hardened",
    title="istiod's exposure is hardened",
    description="In the control plane: no plaintext xDS port, no gateway or listener for any host, no gateway with the "
    "key of a mesh, source ranges on load balancers, TLS 1.2 or later.",
    cure='Start istiod with --grpcAddr="", expose 15012 and 15017 only, by the mesh\'s host name, with '
    f"loadBalancerSourceRanges (or annotation {vocabulary.OPEN_TO_ALL_ANNOTATION} with a reason) and "
    "minProtocolVersion TLSV1_2.",
    severity=Severity.HIGH,
    page="exposure",
    acceptable=True,
    check=check,
)
