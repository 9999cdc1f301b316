"""The calls of Bookinfo in two meshes, east and west: the objects of its intents in each mesh's cluster.

pip install -r requirements.txt && pulumi stack init intents && pulumi up

intents.yaml has the calls, inventory.yaml the clusters and the places of the services; README.md explains them.
"""

from pathlib import Path

import pulumi
import pulumi_hosted_mesh as hosted_mesh

FOLDER = Path(__file__).parent
intents = hosted_mesh.read_document_file(hosted_mesh.Intents, FOLDER / "intents.yaml")
inventory = hosted_mesh.read_document_file(hosted_mesh.Inventory, FOLDER / "inventory.yaml")

# The config clusters of the two meshes. A mesh's further members need no objects, but dedicated egress gateways.
for name in ("east", "west"):
    part = hosted_mesh.TrafficIntents(
        f"bookinfo-{name}",
        {
            "intents": intents.arguments(),
            "inventory": inventory.arguments(),
            "target": name,
            "cluster": hosted_mesh.DataPlaneCluster(kubeconfig_file="$KUBECONFIG", context=name, identity=f"{name}-1"),
        },
    )
    pulumi.export(f"{name}: exports for the federation document", part.exports)
    pulumi.export(f"{name}: imports for the federation document", part.imports)
