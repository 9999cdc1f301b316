"""The kinds of ordered objects: their documents, their stack, and the rules beyond the documents' own models.

Documents come from users. So they name clusters and charts by the names in the settings, never by a path: a path
would read any file of the controller.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pulumi_hosted_mesh import (
    DnsEdgeStack,
    DnsStack,
    Federation,
    FederationMember,
    Intents,
    IntentsTarget,
    InvalidInputError,
    Inventory,
    Mesh,
    Model,
    ObservabilityStack,
    Offer,
    OperatorsStack,
    Problem,
    StackKind,
    field_path,
    read_document,
)

from hosted_mesh_controller.settings import Settings
from hosted_mesh_controller.vocabulary import PROJECT, KindName, Role, Side, stack_name

Documents = dict[str, Any]
Place = tuple[str | int, ...]
EACH: Final = "*"
SOURCE: Final = "the request"


@dataclass(frozen=True)
class Kind:
    """One kind of object: a row of this table is a set of routes.

    name: plural, in paths. documents: models by their key in the stack's file. lists: the keys with a list.
    optional: the keys that may be absent. clusters: places of cluster references, and the role there; the document
    may lack those in optional_clusters.
    tenants_fields: the fields that a tenant may set; None for all. ordered_by: the roles that may order it.
    """

    name: KindName
    title: str
    stack: StackKind
    documents: Mapping[str, type[Model]]
    named: Callable[[Documents], str]
    clusters: Mapping[Place, Side]
    lists: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    optional_clusters: frozenset[Place] = frozenset()
    charts: tuple[Place, ...] = ()
    tenants_fields: frozenset[Place] | None = None
    ordered_by: frozenset[Role] = frozenset({Role.PROVIDER, Role.TENANT})


MESHES: Final = Kind(
    name=KindName.MESHES,
    title="Mesh",
    stack=StackKind.ALL_IN_ONE,
    documents={"mesh": Mesh},
    named=lambda found: str(found["mesh"]["name"]),
    clusters={
        ("mesh", "controlPlane", "cluster"): Side.CONTROL_PLANE,
        ("mesh", "memberships", EACH, "cluster"): Side.DATA_PLANE,
    },
    charts=(("mesh", "revisions", EACH, "charts", "path"),),
    tenants_fields=frozenset(
        {
            ("mesh", "name"),
            ("mesh", "trustDomain"),
            ("mesh", "tags"),
            ("mesh", "crossNetwork"),
            ("mesh", "controlPlane", "cluster"),
            ("mesh", "revisions", EACH, "name"),
            ("mesh", "revisions", EACH, "host"),
            ("mesh", "revisions", EACH, "exposure", "kind"),
            ("mesh", "revisions", EACH, "exposure", "sourceRanges"),
            ("mesh", "memberships"),
        }
    ),
)
KINDS: Final[Mapping[str, Kind]] = {
    str(kind.name): kind
    for kind in (
        MESHES,
        Kind(
            name=KindName.FEDERATIONS,
            title="Federation",
            stack=StackKind.FEDERATION,
            documents={"federation": Federation, "member": FederationMember, "offers": Offer},
            named=lambda found: f"{found['federation']['name']}-{found['member']['mesh']}",
            clusters={("member", "cluster"): Side.DATA_PLANE},
            lists=frozenset({"offers"}),
            optional=frozenset({"offers"}),
        ),
        Kind(
            name=KindName.DNS_EDGES,
            title="DnsEdge",
            stack=StackKind.DNS_EDGE,
            documents={"dnsEdge": DnsEdgeStack},
            named=lambda found: str(found["dnsEdge"]["edge"]["name"]),
            clusters={("dnsEdge", "cluster"): Side.DATA_PLANE},
        ),
        Kind(
            name=KindName.DNS,
            title="Dns",
            stack=StackKind.DNS,
            documents={"dns": DnsStack},
            named=lambda _found: "dns",
            clusters={("dns", "cluster"): Side.CONTROL_PLANE},
            ordered_by=frozenset({Role.PROVIDER}),
        ),
        Kind(
            name=KindName.INTENTS,
            title="Intents",
            stack=StackKind.INTENTS,
            documents={"intents": Intents, "inventory": Inventory, "target": IntentsTarget},
            named=lambda found: f"{found['intents']['project']}-{found['target']['name']}",
            clusters={("target", "cluster"): Side.DATA_PLANE},
        ),
        # These two run images that their documents name, in the control plane's cluster.
        Kind(
            name=KindName.OPERATORS,
            title="Operators",
            stack=StackKind.OPERATORS,
            documents={"operators": OperatorsStack},
            named=lambda found: str(found["operators"]["operators"]["name"]),
            clusters={
                ("operators", "controlPlane"): Side.CONTROL_PLANE,
                ("operators", "dataPlane"): Side.DATA_PLANE,
            },
            ordered_by=frozenset({Role.PROVIDER}),
        ),
        Kind(
            name=KindName.OBSERVABILITY,
            title="Observability",
            stack=StackKind.OBSERVABILITY,
            documents={"observability": ObservabilityStack},
            named=lambda found: str(found["observability"]["observability"]["mesh"]),
            clusters={
                ("observability", "controlPlane"): Side.CONTROL_PLANE,
                ("observability", "dataPlane"): Side.DATA_PLANE,
            },
            optional_clusters=frozenset({("observability", "controlPlane"), ("observability", "dataPlane")}),
            ordered_by=frozenset({Role.PROVIDER}),
        ),
    )
}


def checked(kind: Kind, documents: object, settings: Settings, tenant: str, role: Role) -> str:
    """The name of the object that these documents describe. Raises: InvalidInputError with every problem."""
    if not isinstance(documents, dict):
        fix = "Give an object with the keys of the kind, as in the stack's file"
        raise InvalidInputError([Problem("(document)", "must be a mapping of keys to documents", fix)], SOURCE)
    problems = list(_missing_or_unknown(kind, documents))
    if role is Role.TENANT and kind.tenants_fields is not None:
        problems += not_the_tenants(kind.tenants_fields, documents)
    merged = effective(kind, documents, settings, tenant)
    problems += _invalid(kind, merged)
    if not problems:
        problems += _wrong_names(kind, merged, settings, tenant)
        problems += _unsigned(kind, merged)
        if role is Role.TENANT:
            problems += _outside(kind, merged, settings.tenants[tenant].domains)
    if not problems and len(name := kind.named(merged)) > LONGEST:
        problems.append(Problem("(name)", f"has {len(name)} characters, more than {LONGEST}", "Choose shorter names"))
    if problems:
        raise InvalidInputError(problems, SOURCE)
    return kind.named(merged)


LONGEST: Final = 63


def effective(kind: Kind, documents: Documents, settings: Settings, tenant: str) -> Documents:
    """The documents with the provider's decisions for this tenant below them."""
    decided = settings.tenants[tenant].mesh
    if kind is not MESHES or not decided or not isinstance(documents.get("mesh"), dict):
        return documents
    return {**documents, "mesh": _above(documents["mesh"], decided)}


def configuration(kind: Kind, documents: Documents, settings: Settings, tenant: str) -> dict[str, Any]:
    """The stack's configuration: documents with the places of their clusters and charts, and references.

    Names that the settings no longer have are rejected. Raises: InvalidInputError.
    """
    merged = copy.deepcopy(effective(kind, documents, settings, tenant))
    if problems := _wrong_names(kind, merged, settings, tenant):
        raise InvalidInputError(problems, SOURCE)
    for place in kind.clusters:
        for _path, parent, key in _references(kind, merged, place):
            parent[key] = settings.clusters[parent[key]["kubeconfig"]].reference
    for place in kind.charts:
        for _path, parent, key in _at(merged, place):
            if parent[key] is not None:
                parent[key] = settings.charts[parent[key]]
    config: dict[str, Any] = {"stack": str(kind.stack), **merged}
    if kind.stack is StackKind.DNS:
        edges = [one["name"] for one in merged["dns"]["bridge"].get("edges", ())]
        stacks = {name: f"organization/{PROJECT}/{stack_name(tenant, KindName.DNS_EDGES, name)}" for name in edges}
        config["references"] = {"edges": stacks}
    return config


def claims(kind: Kind, documents: Documents, settings: Settings, tenant: str) -> dict[str, str]:
    """Names that only one object of all tenants may have, and their fields.

    A mesh takes a namespace in each of its clusters, and DNS names that the control plane's cluster may publish.
    """
    merged = effective(kind, documents, settings, tenant)
    places = [one for place in kind.clusters for one in _references(kind, merged, place)]
    clusters = {parent[key]["kubeconfig"] for _path, parent, key in places}
    if kind.name in _NAMES:
        field = _NAMES[kind.name]
        return {f"{cluster}/{kind.name}-{kind.named(merged)}": field for cluster in clusters}
    if kind is not MESHES:
        return {}
    mesh = merged["mesh"]
    taken = {f"{cluster}/mesh-{mesh['name']}": "mesh.name" for cluster in clusters}
    return taken | {f"host/{host}": field for field, host in _hosts(mesh)}


def clusters_in(kind: Kind, documents: Documents) -> dict[str, Side]:
    """Names of the clusters in checked documents, and their roles there."""
    return {
        parent[key]["kubeconfig"]: side
        for place, side in kind.clusters.items()
        for _path, parent, key in _references(kind, documents, place)
    }


_NAMES: Final[Mapping[str, str]] = {
    KindName.OPERATORS: "operators.operators.name",
    KindName.OBSERVABILITY: "observability.observability.mesh",
}
"""Fields whose values name namespaces, by kind."""


def _references(kind: Kind, documents: Any, place: Place) -> Iterator[tuple[list[str | int], dict[str, Any], str]]:
    """The cluster references at a place that are there."""
    for path, parent, key in _at(documents, place):
        if parent[key] is not None or place not in kind.optional_clusters:
            yield path, parent, key


def _hosts(mesh: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Fields and values of a mesh's DNS names."""
    for at, revision in enumerate(mesh["revisions"]):
        field = f"mesh.revisions[{at}]"
        yield f"{field}.host", revision["host"]
        webhooks = revision["exposure"].get("webhooks")
        if webhooks:
            yield f"{field}.exposure.webhooks.host", webhooks["host"]


def _outside(kind: Kind, documents: Documents, domains: tuple[str, ...]) -> Iterator[Problem]:
    """Problems with DNS names outside of a tenant's domains, and with gateways in another's mesh."""
    if kind is not MESHES:
        return
    mesh = documents["mesh"]
    for field, host in _hosts(mesh) if domains else ():
        if not any(host == domain or host.endswith(f".{domain}") for domain in domains):
            yield Problem(field, "is outside of your domains", f"Choose a name below {' or '.join(domains)}")
    yield from anothers(_gateways(mesh), mesh["name"])


def _gateways(mesh: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Fields and values of the namespaces of a mesh's gateways."""
    for at, membership in enumerate(mesh.get("memberships", ())):
        for position, gateway in enumerate(membership.get("gateways", ())):
            if gateway.get("namespace"):
                yield f"mesh.memberships[{at}].gateways[{position}].namespace", gateway["namespace"]


_ROOTS: Final = "mesh-"
"""Begin of the meshes' namespaces. A policy there is for a whole mesh, and a Pod there reads its gateways' keys."""


def anothers(namespaces: Iterable[tuple[str, str]], mesh: str) -> Iterator[Problem]:
    """Problems with namespaces of other meshes. namespaces: fields and values."""
    for field, namespace in namespaces:
        if namespace.startswith(_ROOTS) and namespace != f"{_ROOTS}{mesh}":
            rule = f"is the namespace of another mesh than {mesh}"
            yield Problem(field, rule, "Use namespaces of your own services")


def _unsigned(kind: Kind, documents: Documents) -> Iterator[Problem]:
    """The problem of a collector without a certificate: no other stack here has an authority to sign one."""
    if kind.name != KindName.OBSERVABILITY:
        return
    collector = ObservabilityStack.model_validate(documents["observability"]).observability.collector
    if collector.placement.value == Side.CONTROL_PLANE.value and collector.server_secret is None:
        field = "observability.observability.collector.serverSecret"
        yield Problem(field, "is required: the controller has no authority for a collector", "Name a Secret with one")


def _missing_or_unknown(kind: Kind, documents: Documents) -> Iterator[Problem]:
    for key in documents.keys() - kind.documents.keys():
        yield Problem(str(key), "is not a key of this kind", f"The keys are {', '.join(kind.documents)}")
    for key in kind.documents:
        if key not in documents and key not in kind.optional:
            yield Problem(key, "is required", "Add it")


def _invalid(kind: Kind, documents: Documents) -> Iterator[Problem]:
    """The problems that the documents' models find, with the key before each field."""
    for key, model in kind.documents.items():
        if key not in documents:
            continue
        value = documents[key]
        if key in kind.lists and not isinstance(value, list):
            yield Problem(key, "must be a list", "Change its value")
            continue
        parts = enumerate(value) if key in kind.lists else [(None, value)]
        for at, part in parts:
            try:
                read_document(model, part, SOURCE)
            except InvalidInputError as error:
                begin = field_path([key] if at is None else [key, at])
                for one in error.problems:
                    field = begin if one.field.startswith("(") else f"{begin}.{one.field}"
                    yield Problem(field, one.rule, one.fix)


def _wrong_names(kind: Kind, documents: Documents, settings: Settings, tenant: str) -> list[Problem]:
    """Problems with names of clusters and charts. Names of other tenants' clusters count as unknown."""
    own = settings.clusters_of(tenant)
    problems = []
    for place, side in kind.clusters.items():
        usable = sorted(name for name, entry in own.items() if entry.side is side)
        fix = f"Name one of {', '.join(usable)}" if usable else f"The provider has to add a {side} cluster for you"
        for path, parent, key in _at(documents, place, required=True):
            field = field_path(path)
            if parent.get(key) is None and place in kind.optional_clusters:
                continue
            if parent.get(key) is None:
                problems.append(Problem(field, "is required", f"Add kubeconfig with a cluster's name. {fix}"))
                continue
            reference = parent[key]
            if reference["kubeconfig"] not in usable:
                rule = f"must be the name of a {side} cluster of this tenant, not the path of a file"
                problems.append(Problem(f"{field}.kubeconfig", rule, fix))
            problems += [
                Problem(f"{field}.{more}", "is set by the controller's settings", "Leave it out")
                for more in reference.keys() - {"kubeconfig"}
            ]
    for place in kind.charts:
        for path, parent, key in _at(documents, place):
            if parent[key] is not None and parent[key] not in settings.charts:
                rule = "must be the name of a directory in the controller's settings, not a path"
                names = ", ".join(sorted(settings.charts)) or "none"
                problems.append(Problem(field_path(path), rule, f"The names are: {names}"))
    return problems


def not_the_tenants(allowed: frozenset[Place], documents: Documents) -> Iterator[Problem]:
    """Problems with the fields that only the provider sets."""

    def walk(value: Any, place: Place, path: Place) -> Iterator[Problem]:
        if place in allowed:
            return
        inner: list[tuple[str | int, str | int, Any]] = []
        if isinstance(value, dict):
            inner = [(str(key), str(key), one) for key, one in value.items()]
        elif isinstance(value, list):
            inner = [(EACH, at, one) for at, one in enumerate(value)]
        for step, shown, one in inner:
            deeper = (*place, step)
            if any(field[: len(deeper)] == deeper for field in allowed):
                yield from walk(one, deeper, (*path, shown))
            else:
                rule = "is set by the provider"
                yield Problem(field_path([*path, shown]), rule, "Leave it out, or request it from the provider")

    for key, document in documents.items():
        yield from walk(document, (key,), (key,))


def _above(own: Any, below: Any) -> Any:
    """A document above the provider's: mappings merge, and a list with one entry is below each entry of the other."""
    if isinstance(own, dict) and isinstance(below, dict):
        both = {key: _above(own[key], below[key]) for key in own.keys() & below.keys()}
        return {**below, **own, **both}
    if isinstance(own, list) and isinstance(below, list) and len(below) == 1:
        return [_above(one, below[0]) for one in own]
    return own


def _at(
    document: Any, place: Place, *, required: bool = False
) -> Iterator[tuple[list[str | int], dict[str, Any], str]]:
    """The mappings with a place's last key: path, mapping and key. required: also those that lack the key."""
    found: list[tuple[list[str | int], Any]] = [([], document)]
    *steps, last = place
    for step in steps:
        deeper: list[tuple[list[str | int], Any]] = []
        for path, value in found:
            if step == EACH:
                deeper += [([*path, at], one) for at, one in enumerate(value)]
            elif step in value:
                deeper.append(([*path, step], value[step]))
            elif required:
                deeper.append(([*path, step], {}))
        found = deeper
    for path, value in found:
        if required or last in value:
            yield [*path, last], value, str(last)
