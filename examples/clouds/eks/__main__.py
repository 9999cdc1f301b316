"""Two EKS clusters, and a mesh across them: istiod in `meshes`, proxies in `prod`.

Not run in a cloud: a test previews this program with invented answers of AWS.

    pip install -r requirements.txt && pulumi stack init shop
    pulumi config set aws:region eu-central-1
    pulumi config set hosted-mesh:host istiod.shop.example.com
    pulumi config set --path 'hosted-mesh:sourceRanges[0]' 203.0.113.10/32      # the NAT gateways of prod
    pulumi up

docs/clusters/eks.md explains the load balancer, its controller, and the addresses.
"""

from typing import Any

import pulumi
import pulumi_eks as eks
import pulumi_hosted_mesh as hosted_mesh

config = pulumi.Config("hosted-mesh")

meshes = eks.Cluster("meshes", instance_type="m7i.large", desired_capacity=2, min_size=2, max_size=4)
prod = eks.Cluster("prod", instance_type="m7i.large", desired_capacity=2, min_size=2, max_size=4)

# Set identities once: changed ones replace all objects.
control_plane: Any = {"kubeconfig": meshes.kubeconfig_json, "identity": "meshes-eu-1"}
data_plane: Any = {"kubeconfig": prod.kubeconfig_json, "identity": "prod-eu-1"}
exposure: Any = {
    "source_ranges": config.require_object("sourceRanges"),
    "load_balancer_class": "service.k8s.aws/nlb",
    "annotations": {
        "service.beta.kubernetes.io/aws-load-balancer-nlb-target-type": "ip",
        "service.beta.kubernetes.io/aws-load-balancer-scheme": "internet-facing",
    },
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
