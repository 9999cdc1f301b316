"""Checks istiod's inputs, kubeconfigs of data planes and the authority, and makes the data of its Secrets."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pulumi

from pulumi_hosted_mesh import canonical
from pulumi_hosted_mesh.boundary.cacerts import secret_cacerts
from pulumi_hosted_mesh.boundary.name_constraints import name_constraints, require_permitted
from pulumi_hosted_mesh.clusters.account_kubeconfig import account_kubeconfig
from pulumi_hosted_mesh.clusters.kubeconfig import KubeconfigRequest
from pulumi_hosted_mesh.control_plane import manifests
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.data_plane import Membership
from pulumi_hosted_mesh.spec.gateway import GatewayFacts
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.vocabulary import (
    CACERTS_SECRET,
    KUBECONFIG_KEY,
    KUBECONFIG_SECRET,
    REMOTE_CLUSTERS_SECRET,
    remote_kubeconfig_key,
)

SOURCE: Final = "the control plane"


def require_split(mesh: Mesh, source: str) -> None:
    """Raises InvalidInputError for a mesh of one cluster, which has no control plane elsewhere."""
    if not mesh.split:
        rule = "is false: such a mesh has no control plane in another cluster"
        raise InvalidInputError([Problem("split", rule, "Use the stack all-in-one or HostedMesh")], source)


def kubeconfigs(mesh: Mesh, given: Mapping[str, pulumi.Input[str]]) -> dict[str, pulumi.Output[str]]:
    """istiod's kubeconfigs by name of the membership, validated by `account_kubeconfig`. Secrets.

    given: the component's argument. Raises: InvalidInputError for a missing or an invalid one; for an Output, when it
    resolves.
    """
    return {one.name: _kubeconfig(mesh, one, given) for one in mesh.memberships}


def _kubeconfig(mesh: Mesh, membership: Membership, given: Mapping[str, pulumi.Input[str]]) -> pulumi.Output[str]:
    if membership.name not in given:
        rule = f"has none for membership {membership.name}"
        raise InvalidInputError([Problem("kubeconfigs", rule, "Add the output of its DataPlaneAccess")], SOURCE)
    fix = "Give the output of its DataPlaneAccess, or with access.token: bounded the output of `hosted-mesh token`"
    request = KubeconfigRequest(
        server=membership.access.api_server,
        # istiod reads a further cluster's name from its kubeconfig (pkg/kube/multicluster/kubeconfig_files.go).
        identity=mesh.cluster_id(membership),
        field=f"kubeconfigs.{membership.name}",
        source=SOURCE,
    )
    access = membership.access
    way = {"proxy-url": access.proxy_url, "tls-server-name": access.tls_server_name}
    own = {key: value for key, value in way.items() if value}
    return account_kubeconfig(given[membership.name], request, fix, own)


def authority(mesh: Mesh, cacerts: Any) -> pulumi.Output[Any] | None:
    """The files of the mesh's intermediate, a secret; None for a Secret that another program makes.

    cacerts: the component's argument. Raises: InvalidInputError if it is missing, or set with `management: unmanaged`
    or `cert-manager`, or incomplete; for an Output, when it resolves.
    """
    management = mesh.trust.management
    if management.has_outside_key and cacerts is not None:
        rule, fix = f"is set, but trust.management is {management.value}", "Leave it out, or set management: brought"
        raise InvalidInputError([Problem("cacerts", rule, fix)], SOURCE)
    if not management.has_outside_key and cacerts is None:
        rule = "is required: without it istiod makes its own authority and writes its key to the data plane"
        fix = "Add the files of MeshTrust and MeshRoot, or your own; or set trust.management: unmanaged or cert-manager"
        raise InvalidInputError([Problem("cacerts", rule, fix)], SOURCE)
    if cacerts is None:
        return None
    hosts = name_constraints(mesh).dns_domains
    return secret_cacerts(
        cacerts, SOURCE, lambda files: require_permitted(files, SOURCE, domain=mesh.domain, hosts=hosts)
    )


def secrets(
    mesh: Mesh, cacerts: pulumi.Output[Any] | None, kubeconfigs: Mapping[str, pulumi.Output[str]]
) -> dict[str, Any]:
    """`stringData` of the mesh's Secrets, by name. The chart mounts the first membership's kubeconfig."""
    first, *others = mesh.memberships
    secrets: dict[str, Any] = {KUBECONFIG_SECRET: {KUBECONFIG_KEY: kubeconfigs[first.name]}}
    if cacerts is not None:
        secrets[CACERTS_SECRET] = cacerts
    if others:
        # istiod reads files that end in .yaml or .yml only (pkg/kube/krt/files), and the cluster's name in them.
        secrets[REMOTE_CLUSTERS_SECRET] = {remote_kubeconfig_key(one.name): kubeconfigs[one.name] for one in others}
    return secrets


def network_policy(
    mesh: Mesh, kubeconfigs: Mapping[str, pulumi.Output[str]], gateway: GatewayFacts | None = None
) -> Any:
    """`spec` of the namespace's NetworkPolicy. gateway: the shared one.

    It is plain if the document has the API servers' addresses; else their ports come from the kubeconfigs.
    """
    if len(mesh.api_server_ports) and all(one.access.api_server for one in mesh.memberships):
        return manifests.network_policy_spec(mesh, sorted(mesh.api_server_ports), gateway)
    texts = pulumi.Output.unsecret(pulumi.Output.all(*kubeconfigs.values()).apply(_ports))
    return texts.apply(lambda ports: manifests.network_policy_spec(mesh, ports, gateway))


def _ports(kubeconfigs: Sequence[str]) -> list[int]:
    """Ports of the API servers in kubeconfigs, or of the proxies to them."""
    clusters = [json.loads(text)["clusters"][0]["cluster"] for text in kubeconfigs]
    servers = [one.get("proxy-url") or one["server"] for one in clusters]
    return sorted({canonical.server_host_and_port(server)[1] for server in servers})
