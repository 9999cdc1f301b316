"""Operators of the hosted cluster in operators.yaml, with OLM on the control plane.

pip install -r requirements.txt && pulumi stack init north && pulumi up

Contexts `control-plane` and `north` of $KUBECONFIG are the two clusters. An invalid document, or an upgrade that an
operator blocks, ends the run with one message and no trace.
"""

from pathlib import Path

import pulumi
import pulumi_hosted_mesh as hosted_mesh

document = hosted_mesh.read_document_file(hosted_mesh.Operators, Path(__file__).parent / "operators.yaml")
# Set it once: a changed identity replaces all objects of a cluster.
operators = hosted_mesh.HostedOperators(
    document.name,
    {
        "operators": document.arguments(),
        "control_plane": hosted_mesh.ControlPlaneCluster(
            kubeconfig_file="$KUBECONFIG", context="control-plane", identity="control-plane-1"
        ),
        "data_plane": hosted_mesh.DataPlaneCluster(
            kubeconfig_file="$KUBECONFIG", context=document.name, identity=document.name
        ),
    },
)

pulumi.export("addresses", operators.addresses)
