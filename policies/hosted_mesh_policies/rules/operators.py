"""An operator and its objects are in the same cluster, and users' operators and catalogs run off the control plane."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from hosted_mesh_plan import yaml_text
from hosted_mesh_plan.model import Resource
from hosted_mesh_plan.tree import at, items, leaves

from ..evaluation.context import Context
from ..evaluation.finding import Severity
from ..evaluation.rule import Rule

Kind = tuple[str, str]
"""(API group, kind)"""
OLM: Final = "operators.coreos.com"
OWNED: Final = "olm.gvk"
"""The property of a bundle that names a kind of its operator."""
LONGEST_CATALOG: Final = 2 * 2**20
CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")


def check_stack(context: Context) -> Iterator[tuple[Resource, str, str]]:
    """Objects of an operator's kinds are in its cluster: by ClusterServiceVersions, and by Subscriptions to bundles."""
    sides: dict[Kind, dict[str, Resource]] = {}
    for resource in context.stack.resources:
        if resource.kind == "ClusterServiceVersion" and resource.provider:
            for owned in items(resource.body, "spec", "customresourcedefinitions", "owned"):
                plural, kind = at(owned, "name", default=""), at(owned, "kind")
                if isinstance(plural, str) and isinstance(kind, str):
                    group = plural.partition(".")[2]
                    sides.setdefault((group, kind), {})[_server(context, resource)] = resource
    packages = _packages(context)
    for resource in context.stack.resources:
        if resource.kind == "Subscription" and resource.group == OLM and resource.provider:
            for owned_kind in packages.get(str(at(resource.body, "spec", "name")), ()):
                sides.setdefault(owned_kind, {})[_server(context, resource)] = resource
    for resource in context.stack.resources:
        operators = sides.get((resource.group, resource.kind))
        if operators and resource.provider and _server(context, resource) not in operators:
            operator = next(iter(operators.values()))
            roles = (context.clusters.role(one) for one in (operator, resource))
            there, here = (role.value if role else "none" for role in roles)
            name = operator.object_name or operator.name
            yield resource, "", f"its operator {name} runs in another cluster ({there}) than it does ({here})"


def _packages(context: Context) -> dict[str, set[Kind]]:
    """Kinds by package, from file-based catalogs in ConfigMaps."""
    found: dict[str, set[Kind]] = {}
    for resource in context.stack.resources:
        if resource.kind != "ConfigMap":
            continue
        for leaf in leaves(at(resource.body, "data")):
            text = leaf.value
            if isinstance(text, str) and OWNED in text and len(text) <= LONGEST_CATALOG:
                for bundle in _bundles(text):
                    kinds = found.setdefault(str(bundle.get("package")), set())
                    for one in bundle.get("properties") or ():
                        value = one.get("value") if isinstance(one, dict) and one.get("type") == OWNED else None
                        if isinstance(value, dict):
                            kinds.add((str(value.get("group")), str(value.get("kind"))))
    return found


def _bundles(text: str) -> Iterator[dict[str, Any]]:
    try:
        for one in yaml_text.load_all(text):
            if isinstance(one, dict) and one.get("schema") == "olm.bundle":
                yield one
    except yaml_text.UNPARSABLE:
        return


def _server(context: Context, resource: Resource) -> str:
    """The cluster's address, else its provider."""
    if resource.provider is None:
        return ""
    cluster = context.clusters.clusters.get(resource.provider.urn)
    return cluster.server if cluster and cluster.server else resource.provider.urn


def check_images(context: Context) -> Iterator[tuple[Resource, str, str]]:
    """Images of a data plane's catalogs and operators do not run on the control plane."""
    users: dict[str, Resource] = {}
    for resource in context.stack.resources:
        if context.clusters.on_data_plane(resource) and resource.group == OLM:
            for image in _users_images(resource):
                users.setdefault(image, resource)
    if not users:
        return
    for resource in context.stack.resources:
        if context.clusters.on_control_plane(resource):
            for path, image in _run_images(resource):
                if owner := users.get(image):
                    name = owner.object_name or owner.name
                    yield resource, path, f"runs the image of {owner.kind} {name}, which is a data plane's"


def _users_images(resource: Resource) -> Iterator[str]:
    """Images that OLM runs for a CatalogSource or a ClusterServiceVersion."""
    spec = at(resource.body, "spec")
    found = [at(spec, "image")] if resource.kind == "CatalogSource" else []
    if resource.kind == "ClusterServiceVersion":
        found += [at(one, "image") for one in items(spec, "relatedImages")]
        for one in items(spec, "install", "spec", "deployments"):
            pod = at(one, "spec", "template", "spec")
            found += [at(each, "image") for kind in CONTAINERS for each in items(pod, kind)]
    yield from (image for image in found if isinstance(image, str) and image)


def _run_images(resource: Resource) -> Iterator[tuple[str, str]]:
    """Images of a workload with their paths; of a catalog that OLM would run too."""
    if resource.kind == "CatalogSource" and resource.group == OLM:
        image = at(resource.body, "spec", "image")
        if isinstance(image, str):
            yield "spec.image", image
    for path in (("spec",), ("spec", "template", "spec"), ("spec", "jobTemplate", "spec", "template", "spec")):
        for kind in CONTAINERS:
            for position, one in enumerate(items(resource.body, *path, kind)):
                image = at(one, "image")
                if isinstance(image, str):
                    yield f"{'.'.join(path)}.{kind}[{position}].image", image


OPERATORS = Rule(
    name="operators-stay-with-operands",
    title="Operators stay with their operands",
    description="An operator and the objects that it operates are in the same cluster: across the boundary it "
    "would need a credential of the other side.",
    cure="Install the operator in the cluster of its objects, or move the objects to the operator's cluster.",
    severity=Severity.MEDIUM,
    page="operators",
    acceptable=True,
    check_stack=check_stack,
)
USER_IMAGES = Rule(
    name="user-images-stay-off-control-plane",
    title="Users' images stay off the control plane",
    description="No workload of a control plane runs the image of a data plane's catalog or operator: its owner would "
    "run programs beside control-plane secrets.",
    cure="Run it in the data plane's cluster, or serve a catalog of your own and list it there by address.",
    severity=Severity.HIGH,
    page="operators",
    acceptable=True,
    check_stack=check_images,
)
