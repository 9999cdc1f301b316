"""A mesh across two clusters that exist: istiod in one, proxies in the other.

pip install -r requirements.txt && pulumi stack init shop && pulumi up

An invalid document, kubeconfig or chart ends the run with one message and no trace.
"""

from pathlib import Path

import pulumi
import pulumi_hosted_mesh as hosted_mesh

document = pulumi.Config().get("document") or "mesh.yaml"
mesh = hosted_mesh.HostedMesh("shop", hosted_mesh.read_mesh(Path(__file__).parent / document))

pulumi.export("label your namespaces with", mesh.injection_labels)
pulumi.export("endpoints", mesh.endpoints)
