"""Two GKE clusters, and a mesh across them: istiod in `meshes`, proxies in `prod`.

Not run in a cloud: a test previews this program with invented answers of Google Cloud.

    pip install -r requirements.txt && pulumi stack init shop
    pulumi config set gcp:project PROJECT
    pulumi config set hosted-mesh:host istiod.shop.example.com
    pulumi config set --path 'hosted-mesh:sourceRanges[0]' 203.0.113.10/32      # Cloud NAT of prod
    pulumi up

docs/clusters/gke.md explains the plug-in `gke-gcloud-auth-plugin`, the load balancer, and the addresses.
"""

import json
from typing import Any

import pulumi
import pulumi_gcp as gcp
import pulumi_hosted_mesh as hosted_mesh

LOCATION = "europe-west1"
config = pulumi.Config("hosted-mesh")


def kubeconfig(cluster: gcp.container.Cluster) -> pulumi.Output[str]:
    """A kubeconfig without a credential: its user is GKE's plug-in."""

    def text(parts: Any) -> str:
        name, endpoint, authority = parts
        server = {"server": f"https://{endpoint}", "certificate-authority-data": authority["cluster_ca_certificate"]}
        version, command = "client.authentication.k8s.io/v1beta1", "gke-gcloud-auth-plugin"
        user = {"apiVersion": version, "command": command, "interactiveMode": "Never", "provideClusterInfo": True}
        return json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": name,
                "clusters": [{"name": name, "cluster": server}],
                "users": [{"name": name, "user": {"exec": user}}],
                "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            }
        )

    return pulumi.Output.all(cluster.name, cluster.endpoint, cluster.master_auth).apply(text)


meshes, prod = (
    gcp.container.Cluster(name, location=LOCATION, initial_node_count=1, deletion_protection=True)
    for name in ("meshes", "prod")
)

# Set identities once: changed ones replace all objects.
control_plane: Any = {"kubeconfig": kubeconfig(meshes), "identity": "meshes-eu-1"}
data_plane: Any = {"kubeconfig": kubeconfig(prod), "identity": "prod-eu-1"}
exposure: Any = {
    "source_ranges": config.require_object("sourceRanges"),
    "load_balancer_class": "networking.gke.io/l4-regional-external",
}
mesh = hosted_mesh.HostedMesh(
    "shop",
    {
        "name": "shop",
        "control_plane": {"cluster": control_plane},
        "revisions": [{"host": config.require("host"), "exposure": exposure, "charts": {"version": "1.31.1"}}],
        # The cluster is not there at the first preview, so it cannot answer.
        "memberships": [{"cluster": data_plane, "access": {"root_certificate_owner": False}}],
    },
)

pulumi.export("label your namespaces with", mesh.injection_labels)
