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

Manifest = dict[str, Any]


def own_root_certificates(
    name: str, mesh: str, cluster: DataPlaneCluster, namespace: core.v1.Namespace, *, parent: pulumi.Resource
) -> None:
    """Makes the policy and its binding. mesh: its name. namespace: the mesh's, which becomes the owner."""
    metadata = cluster_wide(mesh, cluster, policy_name(mesh))
    policy = admission.MutatingAdmissionPolicy(
        f"{name}-root-certificates",
        metadata=metadata,
        spec=policy_spec(mesh),
        opts=cluster.options(parent, depends_on=[namespace]),
    )
    admission.MutatingAdmissionPolicyBinding(
        f"{name}-root-certificates",
        metadata=metadata,
        spec=binding_spec(mesh),
        opts=cluster.options(parent, depends_on=[policy]),
    )


def policy_name(mesh: str) -> str:
    """Name of the policy and of its binding."""
    return f"hosted-mesh-root-certificates-{mesh}"


def policy_spec(mesh: str) -> Manifest:
    """`spec` of the policy. Its parameter is the mesh's Namespace, whose uid an owner reference has to repeat: so
    nothing of it is unknown at a preview.

    failurePolicy Ignore: a certificate without owner is better than none.
    """
    names = [root_certificate_config_map(mesh), revocation_list_config_map(mesh)]
    # A map, not Object.metadata.ownerReferences{...}: API servers of 1.36 panic over a list of that type.
    owner = (
        '{"apiVersion": "v1", "kind": "Namespace", '
        '"name": string(params.metadata.name), "uid": string(params.metadata.uid)}'
    )
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["configmaps"],
        "resourceNames": names,
    }
    return {
        "paramKind": {"apiVersion": "v1", "kind": "Namespace"},
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [{"name": "without-owner", "expression": "!has(object.metadata.ownerReferences)"}],
        "failurePolicy": "Ignore",
        "reinvocationPolicy": "Never",
        "mutations": [
            {
                # Not an apply configuration: an owner reference is atomic there, and may not be set.
                "patchType": "JSONPatch",
                "jsonPatch": {
                    "expression": f'[JSONPatch{{op: "add", path: "/metadata/ownerReferences", value: [{owner}]}}]'
                },
            }
        ],
    }


def binding_spec(mesh: str) -> Manifest:
    """`spec` of the binding. Once the Namespace is gone the policy does nothing."""
    parameter = {"name": namespace_of(mesh), "parameterNotFoundAction": "Allow"}
    return {"policyName": policy_name(mesh), "paramRef": parameter}
