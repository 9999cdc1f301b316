"""An owner for the root certificate that istiod writes into every namespace of the data plane.

istiod makes a ConfigMap in each namespace (namespacecontroller.go), outside of Pulumi's state. A mutating admission
policy sets the mesh's Namespace as the owner of each. The cluster's garbage collector removes them with that
Namespace. This needs no Pod, no webhook and no second command.
"""

from __future__ import annotations

from typing import Any

import pulumi
from pulumi_kubernetes import core
from pulumi_kubernetes.admissionregistration import v1 as admission

from pulumi_hosted_mesh.clusters.cluster import Cluster
from pulumi_hosted_mesh.clusters.metadata import cluster_wide
from pulumi_hosted_mesh.vocabulary import namespace_of, revocation_list_config_map, root_certificate_config_map

Manifest = dict[str, Any]


def own_root_certificates(
    name: str, mesh: str, cluster: Cluster, namespace: core.v1.Namespace, *, parent: pulumi.Resource
) -> pulumi.Resource:
    """Makes the policy and its binding, which it returns. mesh: its name. namespace: the mesh's, the future owner."""
    metadata = cluster_wide(mesh, cluster, policy_name(mesh))
    policy = admission.MutatingAdmissionPolicy(
        f"{name}-root-certificates",
        metadata=metadata,
        spec=policy_spec(mesh),
        opts=cluster.options(parent, depends_on=[namespace]),
    )
    binding: pulumi.Resource = admission.MutatingAdmissionPolicyBinding(
        f"{name}-root-certificates",
        metadata=metadata,
        spec=binding_spec(mesh),
        opts=cluster.options(parent, depends_on=[policy]),
    )
    return binding


def policy_name(mesh: str) -> str:
    """Name of the policy and its binding."""
    return f"hosted-mesh-root-certificates-{mesh}"


def policy_spec(mesh: str) -> Manifest:
    """`spec` of the policy. Its parameter is the mesh's Namespace: the owner reference takes the uid from it.

    So a preview has no unknown value. failurePolicy Ignore: a certificate without an owner is better than none.
    """
    names = [root_certificate_config_map(mesh), revocation_list_config_map(mesh)]
    # A map, not Object.metadata.ownerReferences{...}: API servers of 1.36 panic on a list of that type.
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
                # Not an apply configuration: an owner reference is atomic, which an apply configuration must not set.
                "patchType": "JSONPatch",
                "jsonPatch": {
                    "expression": f'[JSONPatch{{op: "add", path: "/metadata/ownerReferences", value: [{owner}]}}]'
                },
            }
        ],
    }


def binding_spec(mesh: str) -> Manifest:
    """`spec` of the binding. Without the Namespace the policy has no effect."""
    parameter = {"name": namespace_of(mesh), "parameterNotFoundAction": "Allow"}
    return {"policyName": policy_name(mesh), "paramRef": parameter}
