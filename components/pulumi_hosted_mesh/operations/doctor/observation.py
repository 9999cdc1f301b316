"""Facts for doctor: a mesh's proxies and its part of a federation; on request its istiod and webhooks. Read-only."""

from __future__ import annotations

import base64
import binascii
import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import quote, urlencode

from pulumi_hosted_mesh.clusters.api_server import ApiServer, RefusedError
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig
from pulumi_hosted_mesh.federation.imports import imported
from pulumi_hosted_mesh.operations.discovery.mesh_identity import labels_of
from pulumi_hosted_mesh.operations.doctor.access import AccessObservation, access
from pulumi_hosted_mesh.operations.doctor.clocks import Clock, ahead, now_here
from pulumi_hosted_mesh.operations.doctor.configuration import ProxyConfiguration, configured
from pulumi_hosted_mesh.operations.doctor.connection import GatewayConnection, LocalNetwork
from pulumi_hosted_mesh.operations.doctor.installed import InstalledObservation, observe_installed
from pulumi_hosted_mesh.operations.doctor.namespaces import answered, labels_by_name, misspelt_in, wishes_in
from pulumi_hosted_mesh.operations.doctor.proxies import Proxy, labels_of_webhooks, of_mesh, proxies_of, tags_of
from pulumi_hosted_mesh.operations.webhooks import observation as webhooks
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.spec.features import Features
from pulumi_hosted_mesh.spec.federation import Federation, Offer, Peer
from pulumi_hosted_mesh.spec.fields import is_address
from pulumi_hosted_mesh.spec.networks import CrossNetwork
from pulumi_hosted_mesh.spec.trust import CERT_MANAGER_GROUP
from pulumi_hosted_mesh.vocabulary import (
    CACERTS_SECRET,
    FEDERATION_LABEL,
    KUBECONFIG_SECRET,
    MESH_LABEL,
    REMOTE_CLUSTERS_SECRET,
    REVISION_LABEL,
    control_plane_namespace_of,
    namespace_of,
    remote_kubeconfig_key,
    root_certificate_config_map,
)

Manifest = Mapping[str, Any]
TLS_CERTIFICATE: Final = "tls.crt"
"""The file's name in a Secret of type kubernetes.io/tls, as cert-manager makes it."""
KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "Gateway": ("networking.istio.io/v1", "gateways"),
    "VirtualService": ("networking.istio.io/v1", "virtualservices"),
    "ServiceEntry": ("networking.istio.io/v1", "serviceentries"),
    "DestinationRule": ("networking.istio.io/v1", "destinationrules"),
    "ProxyConfig": ("networking.istio.io/v1beta1", "proxyconfigs"),
    "EnvoyFilter": ("networking.istio.io/v1alpha3", "envoyfilters"),
    "AuthorizationPolicy": ("security.istio.io/v1", "authorizationpolicies"),
}


@dataclass(frozen=True)
class ControlPlaneObservation:
    """cacerts: files of the mesh's authority, with its key; None if there is no Secret. istiods: Deployments.

    policies: NetworkPolicies of the mesh's namespace. tenant: the mesh's. certificate: cert-manager's of the Secret;
    None without one, or without the right to get it.
    """

    cacerts: Mapping[str, str] | None = field(repr=False)
    istiods: tuple[Manifest, ...]
    policies: tuple[Manifest, ...]
    access: AccessObservation
    tenant: str | None = None
    certificate: Manifest | None = None


@dataclass(frozen=True)
class MeshObservation:
    """Facts of one mesh.

    root: PEM, as its proxies have it. proxies: as `of_mesh`. revisions: of the data plane's cluster. clocks: lead
    of the API servers' over this machine's. now: UTC. control_plane: None without its credential. webhooks, installed:
    None without an endpoint. configured: the proxies' statistics; None if not requested. gateways: all Istio Gateways
    of the data plane's cluster. wishes: revisions and tags in the namespaces' labels, by namespace; None if they may
    not be listed. misspelt: as `misspelt_in`.
    answered: revisions and tags with webhooks. tags: revisions by tag. meshes: those with webhooks in that cluster.
    of_federations: objects there with any federation's label, without `objects`.

    The other fields describe the mesh's part of a federation. objects: those with the federation's label. service,
    deployment, policies: of the gateway, and of its namespace. egress_service, egress_deployment: of the egress gateway
    in the document. resolved: addresses of each gateway's name on this machine; empty if it does not resolve. reached:
    connections by the same names, for gateways with exports. exported: Services of the namespaces of its exports; None
    if they may not be listed. is_joined: whether gateways join networks, from the
    endpoint.
    """

    root: str | None
    proxies: tuple[Proxy, ...]
    revisions: frozenset[str]
    clocks: Mapping[str, timedelta]
    now: datetime
    control_plane: ControlPlaneObservation | None = None
    webhooks: webhooks.WebhookObservation | None = None
    installed: InstalledObservation | None = None
    configured: tuple[ProxyConfiguration, ...] | None = None
    gateways: tuple[Manifest, ...] = ()
    wishes: Mapping[str, str] | None = None
    answered: frozenset[str] = frozenset()
    tags: Mapping[str, str] = field(default_factory=dict)
    meshes: frozenset[str] = frozenset()
    of_federations: tuple[Manifest, ...] = ()
    misspelt: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    objects: tuple[Manifest, ...] = ()
    service: Manifest | None = None
    deployment: Manifest | None = None
    policies: tuple[Manifest, ...] = ()
    resolved: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    reached: Mapping[str, GatewayConnection | None] = field(default_factory=dict)
    egress_service: Manifest | None = None
    egress_deployment: Manifest | None = None
    is_joined: bool = False
    exported: tuple[Manifest, ...] | None = None


def observe(
    federation: Federation | None,
    mesh: str,
    offers: Iterable[Offer],
    data_plane: Kubeconfig,
    control_plane: Kubeconfig | None = None,
    endpoint: EndpointDocument | None = None,
    here: LocalNetwork | None = None,
    clock: Clock = now_here,
    *,
    ask_proxies: bool = False,
    tenant: str | None = None,
) -> MeshObservation:
    """Reads one mesh. federation: None for a mesh without one. offers: as in its stack. control_plane: the cluster of
    its istiod. endpoint: for its webhooks. ask_proxies: True to read the statistics of each proxy too.
    tenant: the mesh's, for its namespace on the control plane.

    Raises: UnreachableError; InvalidInputError as `imported`.
    """
    api = ApiServer(data_plane)
    centre = ApiServer(control_plane) if control_plane else None
    space = quote(federation.peer(mesh).gateway_namespace if federation else namespace_of(mesh))
    config_map = f"/api/v1/namespaces/{space}/configmaps/{quote(root_certificate_config_map(mesh))}"
    hooks = labels_of_webhooks(api)
    proxies = tuple(of_mesh(mesh, list(proxies_of(api)), hooks))
    labels = labels_by_name(api)
    own, others = list[Manifest](), list[Manifest]()
    for one in _labelled(api):
        (own if federation is not None and _is_of(one, federation.name, mesh) else others).append(one)
    observed = MeshObservation(
        root=((api.get(config_map) or {}).get("data") or {}).get("root-cert.pem"),
        proxies=proxies,
        revisions=frozenset(one[REVISION_LABEL] for one in hooks if REVISION_LABEL in one),
        clocks={
            place: ahead(one, clock)
            for place, one in (("data plane", api), ("control plane", centre))
            if one is not None
        },
        now=clock(),
        control_plane=_control_plane(mesh, tenant, centre, data_plane, endpoint) if centre else None,
        webhooks=webhooks.observe(endpoint, data_plane) if endpoint else None,
        installed=observe_installed(api, endpoint) if endpoint else None,
        gateways=tuple(api.list("/apis/{}/{}".format(*KINDS["Gateway"]))),
        wishes=None if labels is None else wishes_in(labels),
        misspelt=misspelt_in(labels or {}),
        answered=answered(hooks),
        tags=tags_of(hooks),
        meshes=frozenset(one[MESH_LABEL] for one in hooks if MESH_LABEL in one),
        of_federations=tuple(others),
        objects=tuple(own),
    )
    if federation is not None:
        observed = _federated(
            observed, federation, federation.peer(mesh), list(offers), api, endpoint, here or LocalNetwork()
        )
    # Last, because it takes longest and needs the widest right.
    return dataclasses.replace(observed, configured=tuple(configured(api, proxies))) if ask_proxies else observed


def require_known(mesh: str, observed: MeshObservation) -> None:
    """Detects a mistyped name or a wrong cluster: no facts of the mesh, but facts of other meshes.

    Raises: InvalidInputError with the names of the cluster's meshes.
    """
    centre = observed.control_plane
    has_istiod = centre is not None and (centre.cacerts is not None or bool(centre.istiods))
    has_proxies = any(one.injected is not None and one.injected.mesh == mesh for one in observed.proxies)
    is_seen = observed.root is not None or mesh in observed.meshes or has_istiod or has_proxies
    if observed.meshes and not is_seen:
        rule = f"is no mesh of the data plane's cluster, which has {' and '.join(sorted(observed.meshes))}"
        raise InvalidInputError(
            [Problem("--mesh", rule, "Name one of them, or use the kubeconfig of its own data plane")],
            "the command line",
        )


def _federated(
    observed: MeshObservation,
    federation: Federation,
    peer: Peer,
    offers: Sequence[Offer],
    api: ApiServer,
    endpoint: EndpointDocument | None,
    here: LocalNetwork,
) -> MeshObservation:
    """Adds the facts of the mesh's part of a federation."""
    service, deployment = _gateway(api, peer.gateway_namespace, peer.gateway.name)
    egress = _gateway(api, peer.egress_namespace, peer.egress.gateway) if peer.egress else (None, None)
    hosts = _hosts(federation, peer.mesh, offers)
    resolved = {one.gateway.address: _addresses(one, here) for one in _called(federation, peer)}
    # An endpoint file of an older version lacks this field.
    says = endpoint.cross_network if endpoint and "cross_network" in endpoint.model_fields_set else None
    return dataclasses.replace(
        observed,
        service=service,
        deployment=deployment,
        policies=_policies(api, peer.gateway_namespace),
        resolved=resolved,
        reached={
            one.gateway.address: here.reach(resolved[one.gateway.address], one.gateway.port, hosts[one.mesh], authority)
            for one in _called(federation, peer)
            if (authority := verified_by(federation, peer.mesh, one, observed.root))
            and one.mesh in hosts
            and resolved[one.gateway.address]
        },
        egress_service=egress[0],
        egress_deployment=egress[1],
        is_joined=says is CrossNetwork.GATEWAYS,
        exported=_services(api, sorted({one.namespace for one in peer.exports})),
    )


def _is_of(manifest: Manifest, federation: str, mesh: str) -> bool:
    labels = labels_of(manifest)
    return (labels.get(FEDERATION_LABEL), labels.get(MESH_LABEL)) == (federation, mesh)


def _labelled(api: ApiServer) -> Iterator[Manifest]:
    """Objects with the label of any federation."""
    selector = urlencode({"labelSelector": FEDERATION_LABEL})
    for kind, (version, plural) in KINDS.items():
        for one in api.list(f"/apis/{version}/{plural}?{selector}"):
            yield {**one, "apiVersion": version, "kind": kind}


def _gateway(api: ApiServer, namespace: str, name: str) -> tuple[Manifest | None, Manifest | None]:
    """The Service and the Deployment of a gateway."""
    service = api.get(f"/api/v1/namespaces/{quote(namespace)}/services/{quote(name)}")
    return service, api.get(f"/apis/apps/v1/namespaces/{quote(namespace)}/deployments/{quote(name)}")


def _services(api: ApiServer, namespaces: Sequence[str]) -> tuple[Manifest, ...] | None:
    """The Services of namespaces; None if the listing is forbidden."""
    try:
        return tuple(one for space in namespaces for one in api.list(f"/api/v1/namespaces/{quote(space)}/services"))
    except RefusedError:
        return None


def _called(federation: Federation, peer: Peer) -> Iterator[Peer]:
    """The peer itself, and the peers that it imports from."""
    wanted = {peer.mesh, *(mesh for one in peer.imports for mesh in one.meshes)}
    return (one for one in federation.peers if one.mesh in wanted)


def _hosts(federation: Federation, mesh: str, offers: Sequence[Offer]) -> dict[str, str]:
    """One exported host of each gateway: of this mesh's own, and of the peers that it imports from."""
    hosts = {one.mesh: one.services[0].host for one in offers if one.mesh == mesh and one.services}
    for one in imported(federation, mesh, offers):
        for peer in one.peers:
            hosts.setdefault(peer.mesh, one.offered.host)
    return hosts


def verified_by(federation: Federation, mesh: str, peer: Peer, root: str | None) -> str | None:
    """The roots that a caller in a mesh verifies a gateway by. root: as the mesh's proxies have it."""
    foreign = federation.has_bundles and peer.mesh != mesh
    return peer.root_certificate if foreign else root


def _addresses(peer: Peer, here: LocalNetwork) -> tuple[str, ...]:
    return (peer.gateway.address,) if is_address(peer.gateway.address) else here.resolve(peer.gateway.address)


def _policies(api: ApiServer, namespace: str) -> tuple[Manifest, ...]:
    return tuple(api.list(f"/apis/networking.k8s.io/v1/namespaces/{quote(namespace)}/networkpolicies"))


def _control_plane(
    mesh: str, tenant: str | None, api: ApiServer, data_plane: Kubeconfig, endpoint: EndpointDocument | None
) -> ControlPlaneObservation:
    namespace = control_plane_namespace_of(mesh, tenant)
    authority = _secret(api, namespace, CACERTS_SECRET)
    files = {name: _decoded(value) for name, value in ((authority or {}).get("data") or {}).items()}
    return ControlPlaneObservation(
        cacerts=None if authority is None else files,
        istiods=tuple(api.list(f"/apis/apps/v1/namespaces/{namespace}/deployments?labelSelector=app%3Distiod")),
        policies=_policies(api, namespace),
        access=_access(mesh, namespace, api, data_plane, endpoint),
        tenant=tenant,
        certificate=_certificate(api, namespace) if authority is None or TLS_CERTIFICATE in files else None,
    )


def _certificate(api: ApiServer, namespace: str) -> Manifest | None:
    """cert-manager's Certificate of the Secret."""
    path = f"/apis/{CERT_MANAGER_GROUP}/v1/namespaces/{namespace}/certificates/{CACERTS_SECRET}"
    with contextlib.suppress(RefusedError):
        return api.get(path)
    return None


def _access(
    mesh: str, namespace: str, api: ApiServer, data_plane: Kubeconfig, endpoint: EndpointDocument | None
) -> AccessObservation:
    """Access by the kubeconfig of the endpoint's membership; by default of the mesh's first."""
    if endpoint is None:
        return access(_secret(api, namespace, KUBECONFIG_SECRET), data_plane, mesh, Features())
    further, key = _secret(api, namespace, REMOTE_CLUSTERS_SECRET), remote_kubeconfig_key(endpoint.membership)
    if key not in ((further or {}).get("data") or {}):
        return access(_secret(api, namespace, KUBECONFIG_SECRET), data_plane, mesh, endpoint.features)
    found = access(further, data_plane, mesh, endpoint.features, key)
    return dataclasses.replace(found, secret=f"{REMOTE_CLUSTERS_SECRET} ({key})")


def _secret(api: ApiServer, namespace: str, name: str) -> Manifest | None:
    return api.get(f"/api/v1/namespaces/{namespace}/secrets/{name}")


def _decoded(value: str) -> str:
    try:
        return base64.b64decode(value).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
