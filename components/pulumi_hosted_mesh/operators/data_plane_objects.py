"""Objects in the hosted cluster: OLM's definitions, accounts, catalogs, the APIService, placement. No Pod, no key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
from pulumi_kubernetes import apiextensions, apiregistration, core, rbac
from pulumi_kubernetes.admissionregistration import v1 as admission

from pulumi_hosted_mesh.clusters.cluster import DataPlaneCluster
from pulumi_hosted_mesh.data_plane.account import RBAC_GROUP, Account, Grant, policy_rule
from pulumi_hosted_mesh.operators import crds, manifests, placement, rights, tunnel
from pulumi_hosted_mesh.operators.sides import Side
from pulumi_hosted_mesh.spec.operators import Operators
from pulumi_hosted_mesh.vocabulary import ACCEPT_ANNOTATION, SKIP_AWAIT_ANNOTATION

Hosted = Side[DataPlaneCluster]
PACKAGES: Final = "packages.operators.coreos.com"
ALL_NAMESPACES: Final = "operators"
"""Namespace with an OperatorGroup for operators of all namespaces, as in OLM's own chart."""
ACCEPTED: Final = {
    ACCEPT_ANNOTATION: "istiod-rights-are-least: an account of OLM, which grants operators their rights; not of istiod"
}
"""On OLM's roles. The policies judge every role of this library by istiod's needs."""
ACCEPTED_TUNNEL: Final = {
    ACCEPT_ANNOTATION: "istiod-rights-are-least: an account of the tunnel, to verify its agent's token; not of istiod"
}
DELEGATION: Final = "extension-apiserver-authentication-reader"
SYSTEM_NAMESPACE: Final = "kube-system"


@dataclass(frozen=True)
class Credential:
    """An account's credential, both secret. token: alone. kubeconfig: with it."""

    token: pulumi.Output[str]
    kubeconfig: pulumi.Output[str]


def definitions(side: Hosted, *, keep: bool) -> list[pulumi.Resource]:
    """OLM's definitions. keep: they stay when the component is destroyed, and existing ones are adopted."""
    return [
        apiextensions.v1.CustomResourceDefinition(
            f"{side.name}-{one['name'].partition('.')[0]}",
            metadata=side.cluster_wide(one["name"], annotations=one["annotations"]),
            spec=one["spec"],
            opts=pulumi.ResourceOptions.merge(
                side.cluster.options(side.parent, adopt=keep), pulumi.ResourceOptions(retain_on_delete=keep)
            ),
        )
        for one in crds.definitions()
    ]


def credentials(
    called: str,
    document: Operators,
    side: Hosted,
    namespace: core.v1.Namespace,
    authority: pulumi.Input[str | None] | None,
    generation: int,
) -> dict[str, Credential]:
    """Accounts by name, with the rights of module `rights`. authority: PEM that verifies the API server."""
    rules = {
        manifests.OLM_OPERATOR: list(rights.OLM_OPERATOR),
        manifests.CATALOG_OPERATOR: rights.catalog_operator(document.operand_groups),
        manifests.PACKAGE_SERVER: list(rights.PACKAGE_SERVER),
        **({tunnel.TUNNEL: list(rights.TUNNEL)} if document.tunnel else {}),
    }
    found = {}
    for name, granted in rules.items():
        accepted = ACCEPTED_TUNNEL if name == tunnel.TUNNEL else ACCEPTED
        account = Account(
            called=called,
            prefix=f"{side.name}-{name}",
            name=name,
            namespace=document.namespace,
            labels=side.labels,
            grants=[Grant("manages", f"hosted-mesh-{name}", granted, everywhere=True, annotations=accepted)],
            generations=range(generation, generation + 1),
            holder=name,
            authority="certificate_authority",
        )
        made = account.make(side.cluster, namespace, parent=side.parent)
        token = account.token(side.cluster, made, parent=side.parent)
        kubeconfig = account.kubeconfig(document.name, token, document.api_server, authority)
        found[name] = Credential(pulumi.Output.secret(token), kubeconfig)
    _delegation(document, side, namespace)
    return found


def _delegation(document: Operators, side: Hosted, namespace: core.v1.Namespace) -> None:
    """Lets packageserver read the authority of the API server's requests, and its headers."""
    subject = {"kind": "ServiceAccount", "name": manifests.PACKAGE_SERVER, "namespace": document.namespace}
    rbac.v1.RoleBinding(
        f"{side.name}-packageserver-delegation",
        metadata=side.metadata("hosted-mesh-packageserver", namespace=SYSTEM_NAMESPACE),
        role_ref={"api_group": RBAC_GROUP, "kind": "Role", "name": DELEGATION},
        subjects=[subject],
        opts=side.options(namespace),
    )


def users_rights(side: Hosted) -> None:
    """Rights of the hosted cluster's users, aggregated to admin, edit and view."""
    for name, rules, labels in (
        ("aggregate-olm-edit", rights.EDIT, rights.EDIT_LABELS),
        ("aggregate-olm-view", rights.VIEW, rights.VIEW_LABELS),
    ):
        rbac.v1.ClusterRole(
            f"{side.name}-{name}",
            metadata=side.cluster_wide(name, labels),
            rules=[policy_rule(rule) for rule in rules],
            opts=side.options(),
        )


def packages_api(
    document: Operators, side: Hosted, bundle: pulumi.Output[str], after: Sequence[pulumi.Resource]
) -> pulumi.Resource:
    """The APIService, and the Service that leads to packageserver's host. bundle: its CA's, in base64, public."""
    exposure, name = document.package_server, manifests.PACKAGE_SERVER
    service = core.v1.Service(
        f"{side.name}-packages",
        metadata=side.metadata(name, annotations={SKIP_AWAIT_ANNOTATION: "true"}),
        spec={"type": "ExternalName", "external_name": exposure.host, "ports": [{"port": exposure.port}]},
        opts=side.options(*after),
    )
    waits = None if document.wait_until_ready else {SKIP_AWAIT_ANNOTATION: "true"}
    made: pulumi.Resource = apiregistration.v1.APIService(
        f"{side.name}-packages",
        metadata=side.cluster_wide(f"v1.{PACKAGES}", annotations=waits),
        spec={
            "group": PACKAGES,
            "version": "v1",
            "group_priority_minimum": 2000,
            "version_priority": 15,
            "ca_bundle": bundle,
            "service": {"name": name, "namespace": document.namespace, "port": exposure.port},
        },
        opts=side.options(service),
    )
    return made


def place(document: Operators, side: Hosted) -> list[pulumi.Resource]:
    """The placement's policies and bindings."""
    made: list[pulumi.Resource] = []
    for one in placement.policies(document):
        metadata = side.cluster_wide(one.name)
        resource = f"{side.name}-{one.name.removeprefix('hosted-mesh-')}"
        policy = admission.MutatingAdmissionPolicy(resource, metadata=metadata, spec=one.spec, opts=side.options())
        made.append(
            admission.MutatingAdmissionPolicyBinding(
                resource, metadata=metadata, spec=one.binding, opts=side.options(policy)
            )
        )
    return made


def operators_namespace(side: Hosted, after: Sequence[pulumi.Resource]) -> list[pulumi.Resource]:
    """The namespace of operators of all namespaces, with its OperatorGroup."""
    namespace = core.v1.Namespace(
        f"{side.name}-operators", metadata=side.cluster_wide(ALL_NAMESPACES), opts=side.options(*after)
    )
    group = _olm_object(side, "group", "v1", "OperatorGroup", "global-operators", ALL_NAMESPACES, {}, [namespace])
    return [namespace, group]


def catalog_sources(document: Operators, side: Hosted, after: Sequence[pulumi.Resource]) -> list[pulumi.Resource]:
    """The listed catalogs."""
    return [
        _olm_object(
            side,
            f"catalog-{one.name}",
            "v1alpha1",
            "CatalogSource",
            one.name,
            document.namespace,
            manifests.catalog_source(document, one),
            after,
        )
        for one in document.catalogs
        if one.listed
    ]


def subscriptions(document: Operators, side: Hosted, after: Sequence[pulumi.Resource]) -> None:
    """The provider's Subscriptions."""
    for one in document.subscriptions:
        spec = {
            "name": one.package or one.name,
            "channel": one.channel,
            "source": one.catalog,
            "sourceNamespace": document.namespace,
            "installPlanApproval": one.approval.value,
            **({"startingCSV": one.starting_csv} if one.starting_csv else {}),
        }
        name = f"subscription-{one.namespace}-{one.name}"
        _olm_object(side, name, "v1alpha1", "Subscription", one.name, one.namespace, spec, after)


def _olm_object(
    side: Hosted,
    resource: str,
    version: str,
    kind: str,
    name: str,
    namespace: str,
    spec: Mapping[str, object],
    after: Sequence[pulumi.Resource],
) -> pulumi.Resource:
    made: pulumi.Resource = apiextensions.CustomResource(
        f"{side.name}-{resource}",
        api_version=f"{rights.OLM}/{version}",
        kind=kind,
        # The generic waiting reads status.conditions, which OLM's objects use in their own way.
        metadata=side.metadata(name, annotations={SKIP_AWAIT_ANNOTATION: "true"}, namespace=namespace),
        spec=dict(spec),
        opts=side.options(*after),
    )
    return made
