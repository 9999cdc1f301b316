"""What istiod writes into every namespace of the data plane goes with the mesh: its root certificate has an owner.

istiod makes a ConfigMap in each namespace (namespacecontroller.go), and Pulumi does not know of them. A mutating
admission policy gives each, when it is made, the mesh's Namespace as owner; so the cluster's own garbage collector
removes them once that Namespace is gone. No Pod, no webhook and no second command is needed for it.
"""

from __future__ import annotations

from typing import Any

import pulumi
from pulumi_kubernetes import core
from pulumi_kubernetes.admissionregistration import v1 as admission

from pulumi_hosted_mesh.clusters.cluster import DataPlaneCluster
from pulumi_hosted_mesh.clusters.metadata import cluster_wide
from pulumi_hosted_mesh.vocabulary import namespace_of, revocation_list_config_map, root_certificate_config_map


def own_root_certificates(
    name: str, mesh: str, cluster: DataPlaneCluster, namespace: core.v1.Namespace, *, parent: pulumi.Resource
) -> None:
    """Makes the policy and its binding. mesh: its name. namespace: the mesh's, whose uid the policy repeats."""
    metadata = cluster_wide(mesh, cluster, policy_name(mesh))
    policy = admission.MutatingAdmissionPolicy(
        f"{name}-root-certificates",
        metadata=metadata,
        spec=namespace.metadata.uid.apply(lambda uid: policy_spec(mesh, str(uid))),
        opts=cluster.options(parent),
    )
    admission.MutatingAdmissionPolicyBinding(
        f"{name}-root-certificates",
        metadata=metadata,
        spec={"policyName": policy_name(mesh)},
        opts=cluster.options(parent, depends_on=[policy]),
    )


def policy_name(mesh: str) -> str:
    """Name of the policy and of its binding."""
    return f"hosted-mesh-root-certificates-{mesh}"


def policy_spec(mesh: str, uid: str) -> dict[str, Any]:
    """`spec` of the policy. uid: of the mesh's Namespace.

    failurePolicy Ignore: a certificate without owner is better than none. The garbage collector wants the uid: a name
    alone could be that of a later Namespace.
    """
    names = [root_certificate_config_map(mesh), revocation_list_config_map(mesh)]
    owner = (
        'Object.metadata.ownerReferences{apiVersion: "v1", kind: "Namespace", '
        f'name: "{namespace_of(mesh)}", uid: "{uid}"}}'
    )
    return {
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE", "UPDATE"],
                    "resources": ["configmaps"],
                    "resourceNames": names,
                }
            ]
        },
        "matchConditions": [
            # Names of what is being created are not known to resourceNames on every path, so they are asked for again.
            {"name": "of-this-mesh", "expression": f"object.metadata.name in {names!r}".replace("'", '"')},
            {"name": "without-owner", "expression": "!has(object.metadata.ownerReferences)"},
        ],
        "failurePolicy": "Ignore",
        "reinvocationPolicy": "Never",
        "mutations": [
            {
                "patchType": "ApplyConfiguration",
                "applyConfiguration": {
                    "expression": f"Object{{metadata: Object.metadata{{ownerReferences: [{owner}]}}}}"
                },
            }
        ],
    }
