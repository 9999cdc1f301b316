"""An account of a cluster with the rights that a page says suffice, and no others; and which doctor's page says."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pulumi_hosted_mesh.clusters import kubeconfig
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig

from tests.live.federation.breaking.federation import kubectl
from tests.live.federation.meshes.federated import Meshes
from tests.support.waiting import eventually

Rights = Mapping[str, Sequence[tuple[str, str]]]
"""For a verb, groups and resources."""

# As docs/operations.md has them for doctor.
ISTIO, WEBHOOKS, POLICY = (
    "networking.istio.io",
    "admissionregistration.k8s.io",
    ("networking.k8s.io", "networkpolicies"),
)
EVERYWHERE: Rights = {
    "list": [
        *(
            (ISTIO, kind)
            for kind in (
                "gateways",
                "virtualservices",
                "serviceentries",
                "destinationrules",
                "envoyfilters",
                "proxyconfigs",
            )
        ),
        ("security.istio.io", "authorizationpolicies"),
        ("", "pods"),
        *((WEBHOOKS, f"{kind}webhookconfigurations") for kind in ("mutating", "validating")),
    ]
}
OF_PROXIES: Rights = {"get": [("", "pods/proxy"), ("", "pods/log")]}
THERE: Rights = {
    "get": [("", "services"), ("", "configmaps"), ("apps", "deployments")],
    "list": [POLICY],
    "create": [("", "pods"), (ISTIO, "gateways")],
}
OF_THE_CONTROL_PLANE: Rights = {"get": [("", "secrets")], "list": [("apps", "deployments"), POLICY]}


@contextmanager
def limited(
    meshes: Meshes, mesh: str | None, namespace: str, everywhere: Rights, there: Rights
) -> Iterator[Kubeconfig]:
    """mesh: whose data plane; None: the control plane's cluster. there: rights in this namespace alone.

    The API server's authorizer has changed roles a moment later, also those that are removed at the end.
    """
    own, group = {"name": "limited", "namespace": namespace}, "rbac.authorization.k8s.io"
    made: list[dict[str, Any]] = [{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": own}]
    for prefix, metadata, rights in (("Cluster", {"name": "limited"}, everywhere), ("", own, there)):
        rules = [
            {"apiGroups": [api], "resources": [resource], "verbs": [verb]}
            for verb, pairs in rights.items()
            for api, resource in pairs
        ]
        role = {"apiVersion": f"{group}/v1", "kind": f"{prefix}Role", "metadata": metadata}
        reference = {"apiGroup": group, "kind": role["kind"], "name": "limited"}
        subjects = [{"kind": "ServiceAccount", **own}]
        made += [
            {**role, "rules": rules},
            {**role, "kind": f"{prefix}RoleBinding", "roleRef": reference, "subjects": subjects},
        ]
    everything = {"apiVersion": "v1", "kind": "List", "items": made}
    kubectl(meshes, mesh, "create", "--filename=-", given=everything)

    def admitted() -> list[bool]:
        """Whether the first right of each of both roles is in force."""
        firsts: tuple[tuple[Rights, dict[str, str]], ...] = ((everywhere, {}), (there, {"namespace": namespace}))
        return [
            _admitted(meshes, mesh, f"system:serviceaccount:{namespace}:limited", verb, *pairs[0], **where)
            for rights, where in firsts
            for verb, pairs in itertools.islice(rights.items(), 1)
        ]

    try:
        eventually(lambda: all(admitted()), "the rights are in force")
        cluster = meshes.sandbox.control_plane if mesh is None else meshes.cluster(mesh)
        authority = base64.b64encode(cluster.certificate_authority.read_bytes()).decode()
        token = kubectl(meshes, mesh, "create", "token", "limited", f"-n={namespace}").strip()
        entry = {"server": cluster.server, "certificate-authority-data": authority}
        yield kubeconfig.from_content(
            kubeconfig.minimal("limited", entry, {"token": token}), kubeconfig.KubeconfigRequest()
        )
    finally:
        kubectl(meshes, mesh, "delete", "--filename=-", "--ignore-not-found", given=everything)
        eventually(lambda: not any(admitted()), "the rights are gone")


def _admitted(meshes: Meshes, mesh: str | None, user: str, verb: str, api: str, resource: str, **where: str) -> bool:
    """As the API server decides it now. resource: may have a subresource."""
    name, _, part = resource.partition("/")
    asked = {"verb": verb, "group": api, "resource": name, "subresource": part, **where}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": asked},
    }
    answer = json.loads(kubectl(meshes, mesh, "create", "--filename=-", "--output=json", given=review))
    return bool(answer["status"]["allowed"])
