"""One template of a mesh in each cluster of the document, under one root, and then their federation.

pip install -r requirements.txt && pulumi stack init fleet && pulumi up

deployment.yaml is the template with the clusters, federation.yaml has the exports and imports.
"""

from pathlib import Path
from typing import Any

import pulumi
import pulumi_hosted_mesh as hosted_mesh
import yaml

FOLDER = Path(__file__).parent
deployment: Any = hosted_mesh.read_deployment(FOLDER / "deployment.yaml")
shops: Any = yaml.safe_load((FOLDER / "federation.yaml").read_text())
fleet = hosted_mesh.MeshDeployment("fleet", deployment)

# In deployment.yaml a mesh has the name of its cluster.
clusters = {one["name"]: one["cluster"] for one in deployment["clusters"]}
for peer in shops["peers"]:
    mesh = peer["mesh"]
    part = hosted_mesh.MeshFederation(
        f"{shops['name']}-{mesh}",
        {"federation": shops, "mesh": mesh, "cluster": clusters[mesh]},
        # Its objects are in the mesh's namespace.
        pulumi.ResourceOptions(depends_on=[fleet]),
    )
    pulumi.export(f"{mesh}: imported hosts", part.hosts)

pulumi.export("label your namespaces with", fleet.injection_labels)
# The names of istiods and gateways in the documents lead to these.
pulumi.export("addresses of istiods", fleet.addresses)
pulumi.export("addresses of gateways", fleet.gateway_addresses)
