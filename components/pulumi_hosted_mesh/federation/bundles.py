"""With trust `partial`, and on the way there: how proxies verify a peer by its own roots, and by no other's. Pure.

Istio gives a proxy one bundle of roots for all that it meets. Envoy's SPIFFE validator takes one for each trust
domain, and chooses by the certificate that is shown. It is added where peers meet, and nowhere else: to what an import
leads to, and to the gateway's servers. The proxy's own certificate and the identities that it asks for stay as istiod
makes them: it merges patches of TLS contexts field by field (mergeTransportSocketCluster in cluster_patch.go and
mergeTransportSocketListener in listener_patch.go, both in pilot/pkg/networking/core/envoyfilter).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pulumi_hosted_mesh.spec.federation import Peer

Manifest = dict[str, Any]
TYPES = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3"


def of_gateways(host: str, peers: Iterable[Peer]) -> Manifest:
    """Spec of an EnvoyFilter: callers verify the gateways that serve an imported host."""
    # Of any context, so that it also holds where something else than a sidecar calls.
    return {"configPatches": [_patch("CLUSTER", {"cluster": {"service": host}}, "UpstreamTlsContext", peers)]}


def of_callers(gateway: Peer, servers: Sequence[tuple[str, Sequence[Peer]]]) -> Manifest:
    """Spec of an EnvoyFilter: a gateway verifies who calls. servers: a host of each, and the peers that may call it.

    Every other server of the gateway stays as it is, on this port too: it knows the mesh's own root alone.
    """
    patches = []
    for host, peers in servers:
        listener = {"portNumber": gateway.gateway.port, "filterChain": {"sni": host}}
        match = {"context": "GATEWAY", "listener": listener}
        patches.append(_patch("FILTER_CHAIN", match, "DownstreamTlsContext", peers))
    return {"workloadSelector": {"labels": {"app": gateway.gateway.name}}, "configPatches": patches}


def _patch(applied_to: str, match: Mapping[str, Any], context: str, peers: Iterable[Peer]) -> Manifest:
    validator = {
        "name": "envoy.tls.cert_validator.spiffe",
        "typed_config": {
            "@type": f"{TYPES}.SPIFFECertValidatorConfig",
            "trust_domains": [
                {"name": one.domain, "trust_bundle": {"inline_string": one.root_certificate}}
                for one in sorted(peers, key=lambda peer: peer.domain)
            ],
        },
    }
    # Beside the bundle of the mesh, which comes over SDS and which this validator does not look at.
    beside = {"combined_validation_context": {"default_validation_context": {"custom_validator_config": validator}}}
    tls = {"@type": f"{TYPES}.{context}", "common_tls_context": beside}
    socket = {"transport_socket": {"name": "envoy.transport_sockets.tls", "typed_config": tls}}
    return {"applyTo": applied_to, "match": dict(match), "patch": {"operation": "MERGE", "value": socket}}
