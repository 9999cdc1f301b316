"""What istiod gets of others: kubeconfigs of its data planes, and its authority. Checked, and as Secrets hold it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import pulumi

from pulumi_hosted_mesh.boundary.arguments import when_known
from pulumi_hosted_mesh.boundary.cacerts import whole_cacerts
from pulumi_hosted_mesh.clusters.account_kubeconfig import account_kubeconfig
from pulumi_hosted_mesh.clusters.kubeconfig import Asked
from pulumi_hosted_mesh.control_plane import manifests
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.data_plane import Membership
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.trust import AuthorityManagement
from pulumi_hosted_mesh.vocabulary import (
    CACERTS_SECRET,
    HTTPS_PORT,
    KUBECONFIG_KEY,
    KUBECONFIG_SECRET,
    REMOTE_CLUSTERS_SECRET,
    remote_kubeconfig_key,
)

SOURCE: Final = "the control plane"


def kubeconfigs(mesh: Mesh, given: Mapping[str, pulumi.Input[str]]) -> dict[str, pulumi.Output[str]]:
    """istiod's, by name of the membership: what is taken of each (see `account_kubeconfig`), a secret.

    given: as the program has them. Raises: InvalidInputError for one that is missing, or that holds anything else; if
    it is an Output, when it is known.
    """
    return {one.name: _kubeconfig(mesh, one, given) for one in mesh.memberships}


def _kubeconfig(mesh: Mesh, membership: Membership, given: Mapping[str, pulumi.Input[str]]) -> pulumi.Output[str]:
    if membership.name not in given:
        rule = f"has none for membership {membership.name}"
        raise InvalidInputError([Problem("kubeconfigs", rule, "Give that of its DataPlaneAccess")], SOURCE)
    fix = "Give that of its DataPlaneAccess, or with access.token: bounded what `hosted-mesh token` prints"
    asked = Asked(
        server=membership.access.api_server,
        # istiod takes a further cluster's name out of its kubeconfig (pkg/kube/multicluster/kubeconfig_files.go).
        identity=mesh.cluster_id(membership),
        field=f"kubeconfigs.{membership.name}",
        source=SOURCE,
    )
    return account_kubeconfig(given[membership.name], asked, fix)


def authority(mesh: Mesh, cacerts: Any) -> pulumi.Output[Any] | None:
    """The files of the mesh's intermediate, a secret; None where somebody else makes the Secret.

    cacerts: as the program has them. Raises: InvalidInputError if there should be some and are none, or the other way;
    and if they are not whole, when they are known.
    """
    unmanaged = mesh.trust.management is AuthorityManagement.UNMANAGED
    if unmanaged and cacerts is not None:
        rule, fix = "is given, but trust.management is unmanaged", "Leave it out, or set management: brought"
        raise InvalidInputError([Problem("cacerts", rule, fix)], SOURCE)
    if not unmanaged and cacerts is None:
        rule = "is required: without it istiod makes an authority of its own and writes its key to the data plane"
        fix = "Give that of MeshTrust and MeshRoot, or your own; or set trust.management: unmanaged"
        raise InvalidInputError([Problem("cacerts", rule, fix)], SOURCE)
    if cacerts is None:
        return None
    given: pulumi.Output[Any] = pulumi.Output.secret(cacerts)
    files: pulumi.Output[Any] = when_known(given, lambda found: dict(whole_cacerts(found, SOURCE)))
    return files


def secrets(
    mesh: Mesh, cacerts: pulumi.Output[Any] | None, kubeconfigs: Mapping[str, pulumi.Output[str]]
) -> dict[str, Any]:
    """`stringData` of the mesh's Secrets by their names: the chart mounts the first membership's kubeconfig."""
    first, *others = mesh.memberships
    secrets: dict[str, Any] = {KUBECONFIG_SECRET: {KUBECONFIG_KEY: kubeconfigs[first.name]}}
    if cacerts is not None:
        secrets[CACERTS_SECRET] = cacerts
    if others:
        # istiod reads what ends in .yaml or .yml alone (pkg/kube/krt/files), and takes the cluster's name out of it.
        secrets[REMOTE_CLUSTERS_SECRET] = {remote_kubeconfig_key(one.name): kubeconfigs[one.name] for one in others}
    return secrets


def network_policy(mesh: Mesh, kubeconfigs: Mapping[str, pulumi.Output[str]]) -> Any:
    """`spec` of the namespace's NetworkPolicy.

    Plain where the document has the API servers' addresses; else their ports are read from the kubeconfigs.
    """
    if len(mesh.api_server_ports) and all(one.access.api_server for one in mesh.memberships):
        return manifests.network_policy_spec(mesh, sorted(mesh.api_server_ports))
    texts = pulumi.Output.unsecret(pulumi.Output.all(*kubeconfigs.values()).apply(_ports))
    return texts.apply(lambda ports: manifests.network_policy_spec(mesh, ports))


def _ports(kubeconfigs: Sequence[str]) -> list[int]:
    """Ports of the API servers that kubeconfigs name."""
    servers = [json.loads(text)["clusters"][0]["cluster"]["server"] for text in kubeconfigs]
    return sorted({urlsplit(server).port or HTTPS_PORT for server in servers})
