"""Every cluster provider reaches the cluster that its role says, and nothing goes to a data plane by default."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .. import vocabulary
from ..evaluation.context import Context
from ..evaluation.finding import Severity
from ..evaluation.rule import Place, Rule
from ..evaluation.settings import CLUSTER_SCHEMA
from ..plan.clusters import Role
from ..plan.model import Provider, Resource

ONE_SIDED: Final = {
    vocabulary.TYPE_EXTERNAL_CONTROL_PLANE: Role.CONTROL_PLANE,
    vocabulary.TYPE_REMOTE_DATA_PLANE: Role.DATA_PLANE,
}
"""Components all of whose objects belong in one kind of cluster."""


def check(context: Context, resource: Resource) -> Iterator[Place]:
    if resource.urn in context.clusters.providers:
        yield from _provider(context, context.clusters.providers[resource.urn])
    provider, role = resource.provider, context.clusters.role(resource)
    if provider is None or role is None or resource.is_provider:
        return
    if provider.is_default and role is not Role.CONTROL_PLANE:
        yield "", f"goes through the default provider, whose cluster is {role.value}: name a provider for it"
    problem = context.clusters.clusters[provider.urn].problem if provider.urn in context.clusters.clusters else ""
    if role is Role.UNCLASSIFIED and problem and not provider.is_default:
        yield "", f"could not evaluate where provider {provider.name} goes: {problem}"
    for kind in context.stack.ancestor_types(resource):
        wanted = ONE_SIDED.get(kind)
        if wanted is not None and role is not wanted:
            yield "", f"belongs to a {wanted.value} but provider {provider.name} reaches a cluster that is {role.value}"


def _provider(context: Context, provider: Provider) -> Iterator[Place]:
    clusters = context.clusters
    cluster, claims = clusters.clusters[provider.urn], clusters.claimed(provider)
    if len(claims) > 1:
        yield "", f"provider {provider.name} is said to be both a control plane's and a data plane's"
    evidence = clusters.by_server.get(cluster.server, set()) | clusters.by_authority.get(cluster.authority, set())
    if claims and evidence - claims:
        claim, other = (next(iter(roles)).value for roles in (claims, evidence - claims))
        what = f"is a {claim}'s by its role, but the API server that it reaches is a {other}"
        yield "kubeconfig", f"provider {provider.name} {what}"
    elif not claims and len(evidence) > 1:
        yield "kubeconfig", f"provider {provider.name} reaches an API server that is claimed by both roles"


def unclassified(context: Context) -> Iterator[tuple[Resource, str, str]]:
    """One finding for each address that nobody classified, at the first provider that reaches it."""
    told: set[str] = set()
    for urn, provider in context.clusters.providers.items():
        server = context.clusters.clusters[urn].server
        if not server or server in told or context.clusters.role_of_provider(provider) is not Role.UNCLASSIFIED:
            continue
        told.add(server)
        resource = context.stack.by_urn.get(urn) or Resource(urn, provider.type, provider.name, read_only=True)
        yield resource, "", f"provider {provider.name} reaches {server}, and nobody says whose cluster that is"


CLASSIFIED = Rule(
    name="clusters-are-classified",
    title="Clusters are classified",
    description="The pack knows of every cluster whether it is a control plane or a data plane. One that it does not "
    "know counts as a data plane's, and its secrets as nobody's: they are not looked for elsewhere.",
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
    description="No object for a data plane goes through a default or swapped provider, and no provider points at "
    "another cluster than its role says. Judged by the API server's address.",
    cure="Pass the provider explicitly, check which kubeconfig and context it has, and classify clusters that "
    "the library's wrappers do not cover in this policy's configuration: controlPlaneServers or dataPlaneServers; "
    "where the address is not known yet, controlPlaneProviders or dataPlaneProviders.",
    severity=Severity.CRITICAL,
    page="clusters",
    check=check,
    schema=CLUSTER_SCHEMA,
)
