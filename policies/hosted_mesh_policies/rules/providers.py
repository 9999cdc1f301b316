"""Every cluster provider reaches a cluster of its role, and nothing goes to a data plane by default."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hosted_mesh_plan import vocabulary
from hosted_mesh_plan.clusters import Role
from hosted_mesh_plan.model import Provider, Resource

from ..evaluation.context import Context
from ..evaluation.finding import Severity
from ..evaluation.rule import Place, Rule
from ..evaluation.settings import CLUSTER_SCHEMA

ONE_SIDED: Final = {
    vocabulary.TYPE_EXTERNAL_CONTROL_PLANE: Role.CONTROL_PLANE,
    vocabulary.TYPE_REMOTE_DATA_PLANE: Role.DATA_PLANE,
}
"""Components with all objects in one kind of cluster."""


def check(context: Context, resource: Resource) -> Iterator[Place]:
    if resource.urn in context.clusters.providers:
        yield from _provider(context, context.clusters.providers[resource.urn])
    provider, role = resource.provider, context.clusters.role(resource)
    if provider is None or role is None or resource.is_provider:
        return
    if provider.is_default and role is not Role.CONTROL_PLANE:
        yield "", f"goes through the default provider, to a cluster that is {role.value}: name a provider for it"
    problem = context.clusters.clusters[provider.urn].problem if provider.urn in context.clusters.clusters else ""
    if role is Role.UNCLASSIFIED and problem and not provider.is_default:
        yield "", f"could not evaluate the cluster of provider {provider.name}: {problem}"
    for kind in context.stack.ancestor_types(resource):
        wanted = ONE_SIDED.get(kind)
        if wanted is not None and role is not wanted:
            yield "", f"belongs to a {wanted.value} but provider {provider.name} reaches a cluster that is {role.value}"


def _provider(context: Context, provider: Provider) -> Iterator[Place]:
    clusters = context.clusters
    cluster, claims = clusters.clusters[provider.urn], clusters.claimed(provider)
    if len(claims) > 1:
        yield "", f"provider {provider.name} is declared both as a control plane's and as a data plane's"
    evidence = clusters.by_server.get(cluster.server, set()) | clusters.by_authority.get(cluster.authority, set())
    if claims and evidence - claims:
        claim, other = (next(iter(roles)).value for roles in (claims, evidence - claims))
        what = f"is a {claim}'s by its role, but the API server that it reaches is a {other}"
        yield "kubeconfig", f"provider {provider.name} {what}"
    elif not claims and len(evidence) > 1:
        yield "kubeconfig", f"provider {provider.name} reaches an API server that is claimed by both roles"


def unclassified(context: Context) -> Iterator[tuple[Resource, str, str]]:
    """One finding for each undeclared address, at the first provider that reaches it."""
    told: set[str] = set()
    for urn, provider in context.clusters.providers.items():
        server = context.clusters.clusters[urn].server
        if not server or server in told or context.clusters.role_of_provider(provider) is not Role.UNCLASSIFIED:
            continue
        told.add(server)
        resource = context.stack.by_urn.get(urn) or Resource(urn, provider.type, provider.name, read_only=True)
        yield resource, "", f"provider {provider.name} reaches {server}, a cluster with no declared owner"


CLASSIFIED = Rule(
    name="clusters-are-classified",
    title="Clusters are classified",
    description="Each cluster is declared as a control plane or a data plane. An undeclared one counts as a data "
    "plane, and the pack does not search other clusters for its secrets.",
    cure="Add the address to controlPlaneServers or dataPlaneServers of providers-reach-their-own-cluster; if it is "
    "there, look for a misspelt policy or address.",
    severity=Severity.MEDIUM,
    page="clusters",
    mandatory=False,
    check_stack=unclassified,
)
PROVIDERS = Rule(
    name="providers-reach-their-own-cluster",
    title="Providers reach their own cluster",
    description="No object for a data plane goes through a default or swapped provider, and each provider points at "
    "a cluster of its own role. The API server's address decides.",
    cure="Pass the provider explicitly and check its kubeconfig and context. Declare clusters without a wrapper of the "
    "library in this policy's settings: controlPlaneServers or dataPlaneServers; while the address is unknown, "
    "controlPlaneProviders or dataPlaneProviders.",
    severity=Severity.CRITICAL,
    page="clusters",
    check=check,
    schema=CLUSTER_SCHEMA,
    rests_on_owner=True,
)
