"""Stack `dns-edge`: the DNS bridge's accounts on one data plane, and the kind DNSEndpoint there."""

from __future__ import annotations

from typing import Any

from pulumi_hosted_mesh import DnsEdge, DnsEdgeStack, StackSettings, data_plane_cluster, has_user_facing_service

from stacks import configuration


async def build(_settings: StackSettings) -> dict[str, Any]:
    """Outputs: `publisher_kubeconfig`, `reader_kubeconfig` (secret, for `dns`), and `user_facing` (public)."""
    document = configuration.document(DnsEdgeStack, "dnsEdge")
    made = DnsEdge(
        document.edge.name,
        {
            "edge": document.edge.arguments(),
            "cluster": data_plane_cluster(document.cluster, "dnsEdge.cluster", configuration.SOURCE),
            "install_crd": document.install_crd,
            "keep_crd": document.keep_crd,
            "admission_zones": list(document.admission_zones),
            "token_generation": document.token_generation,
        },
    )
    outputs = {"publisher_kubeconfig": made.publisher_kubeconfig, "reader_kubeconfig": made.reader_kubeconfig}
    if not document.edge.only_user_facing:
        return outputs
    found = has_user_facing_service(document.cluster, document.edge, "dnsEdge.cluster", configuration.SOURCE)
    return {**outputs, "user_facing": found}
