"""One mesh document per cluster, from a template, the clusters and overrides. Pure: no resource."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pulumi_hosted_mesh.charts.merge import merged
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.data_plane import ServiceType
from pulumi_hosted_mesh.spec.deployment import Component, Deployment, DeploymentCluster, RootSharing
from pulumi_hosted_mesh.spec.exposure import EXTERNAL, ExternalExposure
from pulumi_hosted_mesh.spec.load import read_arguments
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.trust import AuthorityManagement
from pulumi_hosted_mesh.vocabulary import DEFAULT_REVISION, EAST_WEST_PORT, suffixed

Arguments = dict[str, Any]
SOURCE = "the deployment"
RESOURCE = "resource"
STATUS_PORT = 15021
UNIQUE = "Put {cluster} into it, or override it for one of them"


@dataclass(frozen=True)
class Planned:
    """The mesh of one cluster. namespaces: to be created there, as members of the mesh."""

    cluster: DeploymentCluster
    mesh: Mesh
    namespaces: tuple[str, ...]


def planned(deployment: Deployment) -> list[Planned]:
    """A mesh for each selected cluster, sorted by the clusters' names.

    A cluster's mesh depends on the template, the cluster's entry and its overrides, and on no other cluster.
    Raises: InvalidInputError with every problem: selections and overrides without a cluster, invalid mesh documents,
    and names that two meshes would share.
    """
    problems = [*_unknown_names(deployment), *_selects_nothing(deployment)]
    if problems:
        raise InvalidInputError(problems, SOURCE)
    clusters = chosen(deployment)
    problems = list(_overrides_elsewhere(deployment, clusters))
    plans = []
    for cluster in clusters:
        arguments = _arguments(deployment, cluster)
        namespaces = arguments["memberships"][0].pop("namespaces", [])
        try:
            plans.append(Planned(cluster, read_arguments(Mesh, arguments), tuple(namespaces)))
        except InvalidInputError as refused:
            problems += [_of_deployment(deployment, cluster, one) for one in refused.problems]
    problems += [*_external_with_ranges(deployment, plans), *_shared_names(plans), *_shared_root(deployment, plans)]
    if problems:
        raise InvalidInputError(list(dict.fromkeys(problems)), SOURCE)
    return plans


def chosen(deployment: Deployment) -> list[DeploymentCluster]:
    """The clusters that get a mesh, by name."""
    select = deployment.select
    found = deployment.clusters
    if select is not None:
        wanted = select.labels.items()
        found = tuple(one for one in found if one.name in select.names or (wanted and wanted <= one.labels.items()))
    return sorted(found, key=lambda one: one.name)


def _unknown_names(deployment: Deployment) -> Iterator[Problem]:
    clusters = [one.name for one in deployment.clusters]
    named = [("select.names", name) for name in (deployment.select.names if deployment.select else ())]
    for position, override in enumerate(deployment.overrides):
        named += [(f"overrides[{position}].clusters", name) for name in override.clusters]
    for field, name in named:
        if name not in clusters:
            near = difflib.get_close_matches(name, clusters, n=1)
            fix = f"Did you mean {near[0]}?" if near else f"The clusters are {', '.join(sorted(clusters))}"
            yield Problem(field, f"names {name}, which is none of the clusters", fix)


def _selects_nothing(deployment: Deployment) -> Iterator[Problem]:
    """An error, not a warning: without a selected cluster the next `pulumi up` would remove every mesh."""
    select = deployment.select
    if select is None:
        return
    if not select.names and not select.labels:
        yield Problem("select", "chooses no cluster", "Add names or labels, or leave select out for all clusters")
    elif select.labels and not any(select.labels.items() <= one.labels.items() for one in deployment.clusters):
        shown = ", ".join(f"{key}: {value}" for key, value in sorted(select.labels.items()))
        rule = f"matches none of the clusters ({shown})"
        yield Problem("select.labels", rule, "Correct these labels or the clusters' labels")


def _overrides_elsewhere(deployment: Deployment, clusters: Iterable[DeploymentCluster]) -> Iterator[Problem]:
    names = {one.name for one in clusters}
    for position, override in enumerate(deployment.overrides):
        for name in override.clusters:
            if name not in names:
                rule = f"names {name}, which select does not choose, so it would have no effect"
                yield Problem(f"overrides[{position}].clusters", rule, "Choose it in select, or remove it here")


def _arguments(deployment: Deployment, cluster: DeploymentCluster) -> Arguments:
    """The plain arguments of a cluster's mesh."""
    template = deployment.template.arguments()
    for override in deployment.overrides:
        if cluster.name in override.clusters:
            template = _overridden(template, override.arguments())
    name = str(template.get("name") or f"{deployment.name}-{{cluster}}").replace("{cluster}", cluster.name)
    template = {"trust_domain": "{mesh}.mesh.local", "network": "{mesh}", **template, "name": name}
    template = _filled(template, {"{cluster}": cluster.name, "{mesh}": name})
    data_plane = {**template.pop("data_plane", {}), "network": template.pop("network")}
    template.pop("provider", None)
    gateways = [_component(one) for one in data_plane.pop("components", [])]
    data_plane["gateways"] = [*gateways, *data_plane.get("gateways", [])]
    given = cluster.arguments()
    own = {key: given[key] for key in ("api_server", "certificate_authority") if given.get(key)}
    data_plane["access"] = {**data_plane.get("access", {}), **own}
    revisions = [_exposed(one, cluster) for one in template.get("revisions", [])]
    control_plane = deployment.control_plane.arguments()
    control_plane.pop("cluster", None)
    return {**template, "control_plane": control_plane, "revisions": revisions, "memberships": [data_plane]}


def _component(purpose: str) -> Arguments:
    """The gateway of a component. For peers it has the port of a federation's default."""
    if purpose == Component.INGRESS:
        return {"name": purpose}
    inside = {"type": ServiceType.CLUSTER_IP.value} if purpose == Component.EGRESS else {}
    ports = [{"name": "status-port", "port": STATUS_PORT}, {"name": "tls", "port": EAST_WEST_PORT}]
    return {"name": purpose, "service": {**inside, "ports": ports}}


def _overridden(template: Arguments, override: Arguments) -> Arguments:
    override = {key: value for key, value in override.items() if key != "clusters"}
    revisions = {_name(one): one for one in template.get("revisions", [])}
    for one in override.pop("revisions", []):
        under = dict(revisions.get(_name(one), {}))
        if "exposure" in one:
            under.pop("exposure", None)
        revisions[_name(one)] = merged(under, one)
    return {**merged(template, override), "revisions": list(revisions.values())}


def _name(revision: Arguments) -> str:
    return str(revision.get("name", DEFAULT_REVISION))


def _filled(part: Any, names: Mapping[str, str]) -> Any:
    """The part with the names in every text, except for keys."""
    if isinstance(part, Mapping):
        return {key: _filled(value, names) for key, value in part.items()}
    if isinstance(part, list):
        return [_filled(value, names) for value in part]
    if isinstance(part, str):
        for place, name in names.items():
            part = part.replace(place, name)
    return part


def _exposed(revision: Arguments, cluster: DeploymentCluster) -> Arguments:
    """The revision with the cluster's ranges. With kind `external` they have no effect: a later check rejects them."""
    exposure = revision.get("exposure") or {}
    if not cluster.source_ranges or exposure.get("kind") == EXTERNAL:
        return revision
    return {**revision, "exposure": {**exposure, "source_ranges": list(cluster.source_ranges)}}


def _of_deployment(deployment: Deployment, cluster: DeploymentCluster, problem: Problem) -> Problem:
    """A problem of a cluster's mesh document, with the deployment's field."""
    position = deployment.clusters.index(cluster)
    field = problem.field.removeprefix("memberships[0].")
    inner = field != problem.field
    if field in ("access.apiServer", "access.certificateAuthority"):
        return Problem(f"clusters[{position}].{field.removeprefix('access.')}", problem.rule, problem.fix)
    place = f"template.dataPlane.{field}" if inner and field != "network" else f"template.{field}"
    if field == "(document)":
        place = "template"
    elif field.endswith(".exposure") and problem.rule == "is required":
        fix = f"Add sourceRanges in clusters[{position}], or an exposure in the template"
        return Problem(f"clusters[{position}].sourceRanges", "is required if the template has no exposure", fix)
    overridden = any(cluster.name in one.clusters for one in deployment.overrides)
    return Problem(f"{place}, as overridden for {cluster.name}" if overridden else place, problem.rule, problem.fix)


def _external_with_ranges(deployment: Deployment, plans: Iterable[Planned]) -> Iterator[Problem]:
    for one in plans:
        external = [isinstance(revision.exposure, ExternalExposure) for revision in one.mesh.revisions]
        if one.cluster.source_ranges and all(external):
            field = f"clusters[{deployment.clusters.index(one.cluster)}].sourceRanges"
            yield Problem(field, "has no effect: its mesh's exposure is external", "Leave it out")


def _shared_root(deployment: Deployment, plans: Sequence[Planned]) -> Iterator[Problem]:
    """One root has one algorithm, and one lifetime of its own and of all its intermediates."""
    if deployment.root is not RootSharing.SHARED:
        return
    for one in plans:
        trust = one.mesh.trust
        if trust.management is not AuthorityManagement.OWN:
            rule = f"is shared, but the mesh of {one.cluster.name} has trust.management: {trust.management.value}"
            yield Problem("root", rule, "Leave root out, or trust.management")
        for field in ("algorithm", "root", "intermediate"):
            if getattr(trust, field) != getattr(plans[0].mesh.trust, field):
                rule = f"differs between {plans[0].cluster.name} and {one.cluster.name}, but they share one root"
                yield Problem(f"template.trust.{field}", rule, "Leave it out of overrides")


def _shared_names(plans: Iterable[Planned]) -> Iterator[Problem]:
    """Names that must differ between meshes, but do not. Meshes of one name would also share a namespace."""
    owners: dict[tuple[str, str], str] = {}
    for one in plans:
        for kind, field, value in _names(one):
            first = owners.setdefault((kind, value), one.cluster.name)
            if first == one.cluster.name:
                continue
            if kind == RESOURCE:
                rule = f"{first} and {one.cluster.name} with their revisions make one name, {value}"
                yield Problem(field, rule, "Rename one of the clusters, or its revision")
            else:
                rule = f"would be {value} for both {first} and {one.cluster.name}"
                yield Problem(f"template.{field}", rule, UNIQUE)


def _names(one: Planned) -> Iterator[tuple[str, str, str]]:
    """The names that must differ: kind, field that sets it, and name."""
    mesh = one.mesh
    yield "name", "name", mesh.name
    yield "trust domain", "trustDomain", mesh.domain
    yield "network", "network", mesh.network(mesh.memberships[0])
    for position, revision in enumerate(mesh.revisions):
        field = f"revisions[{position}]"
        yield "host", f"{field}.host", revision.host
        # Pulumi's names of a revision's parts: `berlin` with revision `canary` equals a cluster `berlin-canary`.
        yield RESOURCE, "clusters", suffixed(one.cluster.name, revision.name)
        if host := revision.exposure.address.webhook_host:
            own = "webhookHost" if isinstance(revision.exposure, ExternalExposure) else "webhooks.host"
            yield "host", f"{field}.exposure.{own}", host
