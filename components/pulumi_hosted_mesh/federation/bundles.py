"""EnvoyFilters for trust `partial` and the steps towards it: proxies verify each peer by its own roots only. Pure.

Istio gives a proxy one bundle of roots for all peers. Envoy's SPIFFE validator has one for each trust domain, and
chooses it by the presented certificate. The filters add the validator to imported hosts and to the gateway's servers
only. The proxy's own certificate and the required identities stay as istiod sets them: istiod merges patches of TLS
contexts field by field (mergeTransportSocketCluster in cluster_patch.go and mergeTransportSocketListener in
listener_patch.go, both in pilot/pkg/networking/core/envoyfilter).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pulumi_hosted_mesh.spec.federation import Peer

Manifest = dict[str, Any]
TYPES = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3"


def of_gateways(host: str, peers: Iterable[Peer]) -> Manifest:
    """Spec of an EnvoyFilter: callers verify the gateways that serve an imported host."""
    # Without a context it also applies to callers other than sidecars.
    return {"configPatches": [_patch("CLUSTER", {"cluster": {"service": host}}, "UpstreamTlsContext", peers)]}


def of_callers(gateway: Peer, servers: Sequence[tuple[str, Sequence[Peer]]]) -> Manifest:
    """Spec of an EnvoyFilter: a gateway verifies its callers. servers: a host of each, and the peers that may call it.

    The gateway's other servers, also those on this port, keep the mesh's own root only.
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
    # The mesh's bundle arrives over SDS. This validator ignores it.
    beside = {"combined_validation_context": {"default_validation_context": {"custom_validator_config": validator}}}
    tls = {"@type": f"{TYPES}.{context}", "common_tls_context": beside}
    socket = {"transport_socket": {"name": "envoy.transport_sockets.tls", "typed_config": tls}}
    return {"applyTo": applied_to, "match": dict(match), "patch": {"operation": "MERGE", "value": socket}}
