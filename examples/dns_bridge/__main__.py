"""Names of data planes' clusters, published from the control plane's, with no DNS credential in any of theirs.

pip install -r requirements.txt && pulumi stack init names
pulumi config set --path 'hosted-mesh:credentials.office[0]' tsig-secret
pulumi config set --secret hosted-mesh:office.tsig-secret && pulumi up

Each edge of dns.yaml is a context of $KUBECONFIG, and so is `control-plane`. An invalid document ends the
run with one message and no trace.
"""

from pathlib import Path

import pulumi
import pulumi_hosted_mesh as hosted_mesh

config = pulumi.Config("hosted-mesh")
bridge = hosted_mesh.read_dns_bridge(Path(__file__).parent / (config.get("document") or "dns.yaml"))
# Set it once: a changed identity replaces all objects of a cluster.
edges = {
    edge["name"]: hosted_mesh.DnsEdge(
        edge["name"],
        {
            "edge": edge,
            "cluster": hosted_mesh.DataPlaneCluster(
                edge["name"], kubeconfig_file="$KUBECONFIG", context=edge["name"], identity=edge["name"]
            ),
            "keep_crd": config.get_bool("keepCrd", True),
        },
    )
    for edge in bridge["edges"]
}
# The names of a provider's keys are public, their values are secrets.
keys: dict[str, list[str]] = config.get_object("credentials") or {}
names = hosted_mesh.ExternalDNSBridge(
    "names",
    {
        "bridge": bridge,
        "cluster": hosted_mesh.ControlPlaneCluster(
            kubeconfig_file="$KUBECONFIG", context="control-plane", identity="control-plane-1"
        ),
        "publisher_kubeconfigs": {name: edge.publisher_kubeconfig for name, edge in edges.items()},
        "reader_kubeconfigs": {name: edge.reader_kubeconfig for name, edge in edges.items()},
        "credentials": {
            provider: {key: config.require_secret(f"{provider}.{key}") for key in found}
            for provider, found in keys.items()
        },
        # As {"istiod.mesh.example.com": [address]}: in a program of your own, of outputs of the control plane's stack.
        "records": config.get_object("records") or {},
    },
)

pulumi.export("zones", names.zones)
