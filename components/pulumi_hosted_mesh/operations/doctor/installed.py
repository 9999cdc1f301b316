"""A mesh's objects in the data plane's cluster: missing ones, and ones with other content than the library writes.

The content follows from the endpoint's facts. Choices of the data plane's document are read from the objects: granted
features are at most all that exist, and webhooks have an annotation with their settings.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, cast

from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.clusters.api_server import ApiServer, RefusedError
from pulumi_hosted_mesh.data_plane import webhooks
from pulumi_hosted_mesh.data_plane.rights import SERVICE_ACCOUNT, cluster_rules, namespace_rules, reading_role
from pulumi_hosted_mesh.data_plane.values import mesh_config
from pulumi_hosted_mesh.operations.verdict import Verdict, few
from pulumi_hosted_mesh.spec.data_plane import Webhooks
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.spec.features import Features, Rule
from pulumi_hosted_mesh.vocabulary import (
    CONTROL_PLANE_CLUSTERS_ANNOTATION,
    MESH_LABEL,
    WEBHOOK_SETTINGS_ANNOTATION,
    namespace_of,
    suffixed,
)

Manifest = Mapping[str, Any]
RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
ACCESS, DATA_PLANE = "access", "data-plane"
ALL: Final = Features.model_validate(dict.fromkeys(Features.model_fields, True))
DECIDING: Final = ("rules", "namespaceSelector", "objectSelector", "sideEffects", "matchPolicy")
"""Fields of a webhook that the check of webhooks does not compare."""
ACCOUNT: Final = ("serviceaccount", "role", "rolebinding", "clusterrole", "clusterrolebinding")
RULE_KEYS: Final = ("apiGroups", "resources", "verbs")
Right = tuple[str, str, str, str]
"""A group, a resource, a verb, and the name of the object or an empty one."""


@dataclass(frozen=True)
class InstalledObject:
    """An object that a stack made. kind, name: as `kubectl get` takes them. path: at the API server."""

    kind: str
    name: str
    path: str
    stack: str


@dataclass(frozen=True)
class InstalledObservation:
    """The objects, each with its manifest or None. forbidden: kinds that the credential may not read."""

    objects: Sequence[tuple[InstalledObject, Manifest | None]]
    forbidden: tuple[str, ...] = ()


def installed_objects(endpoint: EndpointDocument) -> Iterator[InstalledObject]:
    """The objects of one revision of a mesh that every data plane has. Its webhooks may be unmanaged."""
    mesh, space = endpoint.mesh, namespace_of(endpoint.mesh)
    yield InstalledObject("namespace", space, f"/api/v1/namespaces/{space}", ACCESS)
    within = {"serviceaccount": f"/api/v1/namespaces/{space}/serviceaccounts/{SERVICE_ACCOUNT}"}
    for kind in ("role", "rolebinding"):
        within[kind] = f"{RBAC}/namespaces/{space}/{kind}s/{SERVICE_ACCOUNT}"
    for kind, path in within.items():
        yield InstalledObject(f"-n {space} {kind}", SERVICE_ACCOUNT, path, ACCESS)
    for kind in ("clusterrole", "clusterrolebinding"):
        yield InstalledObject(kind, reading_role(mesh), f"{RBAC}/{kind}s/{reading_role(mesh)}", ACCESS)
    name = suffixed("istio", endpoint.revision)
    yield InstalledObject(f"-n {space} configmap", name, f"/api/v1/namespaces/{space}/configmaps/{name}", DATA_PLANE)
    for one in _webhooks(endpoint):
        kind, name = one["kind"].lower(), one["metadata"]["name"]
        yield InstalledObject(kind, name, f"{ADMISSION}/{kind}s/{name}", DATA_PLANE)


def observe_installed(api: ApiServer, endpoint: EndpointDocument) -> InstalledObservation:
    """Reads the objects. Raises: UnreachableError."""
    found: list[tuple[InstalledObject, Manifest | None]] = []
    forbidden: list[str] = []
    for one in installed_objects(endpoint):
        try:
            found.append((one, api.get(one.path)))
        except RefusedError:
            forbidden.append(one.kind.rpartition(" ")[2])
    return InstalledObservation(found, tuple(dict.fromkeys(forbidden)))


def installed(
    endpoint: EndpointDocument, found: InstalledObservation, *, account_is_faulty: bool = False
) -> Iterator[Verdict]:
    """One verdict for each missing or changed object; one for all if there is none.

    A missing webhook is left to the check of webhooks, which detects unmanaged ones too. account_is_faulty: whether
    another check has found istiod's account or its rights wrong, so that these objects are left out.
    """
    looked_at = [
        (one, manifest)
        for one, manifest in found.objects
        if not (account_is_faulty and one.kind.rpartition(" ")[2] in ACCOUNT)
    ]
    faults = list(_faults(endpoint, looked_at))
    yield from faults
    check = f"objects of {endpoint.mesh} in the data plane's cluster"
    if found.forbidden:
        seen = f"this credential may not read kinds {few(found.forbidden, 9)}, so their objects were not checked"
        yield Verdict(check, "not-looked-at", seen, "Use a credential with the right to get them", notice=True)
    if not faults and looked_at:
        yield Verdict(check, None, f"{len(looked_at)} as the library writes them")


def _faults(
    endpoint: EndpointDocument, objects: Sequence[tuple[InstalledObject, Manifest | None]]
) -> Iterator[Verdict]:
    for one, manifest in objects:
        check = f"{one.kind} {one.name}"
        fix = f"`pulumi up --refresh` of the stack {one.stack} of {endpoint.mesh}"
        if manifest is None:
            if "webhook" not in one.kind:
                yield Verdict(check, "missing-object", "it is not there", fix)
        elif changed := list(_changes(endpoint, one, manifest)):
            yield Verdict(check, "changed-object", "; ".join(changed), fix)


def _changes(endpoint: EndpointDocument, one: InstalledObject, manifest: Manifest) -> Iterator[str]:
    metadata = manifest.get("metadata") or {}
    if (metadata.get("labels") or {}).get(MESH_LABEL) != endpoint.mesh:
        yield f"the label {MESH_LABEL} is not {endpoint.mesh}"
    kind = one.kind.rpartition(" ")[2]
    if kind == "namespace" and CONTROL_PLANE_CLUSTERS_ANNOTATION not in (metadata.get("annotations") or {}):
        yield f"the annotation {CONTROL_PLANE_CLUSTERS_ANNOTATION} is missing"
    if kind == "configmap" and (manifest.get("data") or {}).get("mesh") != mesh_config(_facts(endpoint)):
        yield "data.mesh is another one than the endpoint's"
    if kind == "clusterrole":
        wanted, most = (cluster_rules(endpoint.mesh, features) for features in (endpoint.features, ALL))
        yield from _other_rules(manifest, wanted, most)
    if kind == "role":
        yield from _other_rules(manifest, namespace_rules(endpoint.features), namespace_rules(ALL))
    if kind.endswith("binding"):
        yield from _other_subjects(endpoint.mesh, manifest)
    for wanted_one in _webhooks(endpoint) if "webhook" in kind else ():
        if (kind, one.name) == (wanted_one["kind"].lower(), wanted_one["metadata"]["name"]):
            yield from _other_webhooks(wanted_one, manifest)


def _other_rules(manifest: Manifest, wanted: Sequence[Rule], most: Sequence[Rule]) -> Iterator[str]:
    """Rights that the endpoint's features need and the role lacks, and rights that no feature needs."""
    granted = {
        right
        for rule in manifest.get("rules") or []
        for right in product(*(rule.get(key) or [] for key in RULE_KEYS), rule.get("resourceNames") or [""])
    }
    if lacking := _rights(wanted) - granted:
        yield f"rules lack {_named(lacking)}"
    if more := granted - _rights(most):
        yield f"rules also have {_named(more)}"


def _rights(rules: Sequence[Rule]) -> set[Right]:
    return {right for rule in rules for right in product([rule.group], rule.resources, rule.verbs, rule.names or [""])}


def _named(rights: Collection[tuple[str, ...]]) -> str:
    return few(sorted({f"{verb} {resource}{f'.{group}' if group else ''}" for group, resource, verb, _ in rights}))


def _other_subjects(mesh: str, manifest: Manifest) -> Iterator[str]:
    found = [(one.get("kind"), one.get("namespace"), one.get("name")) for one in manifest.get("subjects") or []]
    if found != [("ServiceAccount", namespace_of(mesh), SERVICE_ACCOUNT)]:
        named = few([f"{kind} {name}" for kind, _, name in found]) or "nobody"
        yield f"subjects are {named}, in place of ServiceAccount {SERVICE_ACCOUNT} of namespace {namespace_of(mesh)}"


def _other_webhooks(wanted: Manifest, manifest: Manifest) -> Iterator[str]:
    there = {str(hook.get("name")): hook for hook in manifest.get("webhooks") or []}
    written = ((manifest.get("metadata") or {}).get("annotations") or {}).get(WEBHOOK_SETTINGS_ANNOTATION)
    if lost := sorted({hook["name"] for hook in wanted["webhooks"]} - there.keys()):
        yield f"webhooks {few(lost)} are missing"
    for hook in wanted["webhooks"]:
        if (found := there.get(hook["name"])) is None:
            continue
        others = [key for key in DECIDING if key in hook and found.get(key) != hook[key]]
        if written and webhooks.settings_of(found) != written:
            others.append(f"settings {webhooks.settings_of(found)} in place of {written}")
        if others:
            yield f"{hook['name']} has other {few(others, 9)}"


def _webhooks(endpoint: EndpointDocument) -> list[webhooks.Manifest]:
    """The configurations, without their settings and CA bundle."""
    return webhooks.manifests(_facts(endpoint), Webhooks(), "")


def _facts(endpoint: EndpointDocument) -> ControlPlaneEndpoint:
    return ControlPlaneEndpoint(endpoint, cast("Any", None))
