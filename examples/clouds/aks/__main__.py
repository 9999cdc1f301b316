"""Two AKS clusters, and a mesh across them: istiod in `meshes`, proxies in `prod`.

Not run in a cloud: a test previews this program with invented answers of Azure.

    pip install -r requirements.txt && pulumi stack init shop
    pulumi config set azure-native:location westeurope
    pulumi config set hosted-mesh:host istiod.shop.example.com
    pulumi config set --path 'hosted-mesh:sourceRanges[0]' 203.0.113.10/32      # outbound addresses of prod
    pulumi up

docs/clusters/aks.md explains `kubelogin`, the load balancer, and the addresses.
"""

import base64
from typing import Any

import pulumi
import pulumi_hosted_mesh as hosted_mesh
from pulumi_azure_native import containerservice, resources

config = pulumi.Config("hosted-mesh")
group = resources.ResourceGroup("meshes")


def cluster(name: str) -> pulumi.Output[str]:
    """A cluster with Entra ID; returns its kubeconfig, without a credential: its user is kubelogin."""
    made = containerservice.ManagedCluster(
        name,
        resource_group_name=group.name,
        dns_prefix=name,
        identity={"type": containerservice.ResourceIdentityType.SYSTEM_ASSIGNED},
        aad_profile={"managed": True, "enable_azure_rbac": True},
        agent_pool_profiles=[{"name": "system", "mode": "System", "count": 2, "vm_size": "Standard_D4s_v5"}],
    )
    found = containerservice.list_managed_cluster_user_credentials_output(
        resource_group_name=group.name, resource_name=made.name
    )
    # The file's mode requests a code from a person. This one takes the login of `az`, or of the pipeline's step.
    text: pulumi.Output[str] = found.kubeconfigs[0].value.apply(
        lambda value: base64.b64decode(value).decode().replace("devicecode", "azurecli")
    )
    return text


# Set identities once: changed ones replace all objects.
control_plane: Any = {"kubeconfig": cluster("meshes"), "identity": "meshes-eu-1"}
data_plane: Any = {"kubeconfig": cluster("prod"), "identity": "prod-eu-1"}
exposure: Any = {"source_ranges": config.require_object("sourceRanges"), "allocate_node_ports": True}
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
