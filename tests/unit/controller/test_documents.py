"""Rules beyond the documents' models: clusters and charts by name, and the provider's own fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pytest
from hosted_mesh_controller.documents import KINDS, checked, configuration
from hosted_mesh_controller.settings import Settings
from hosted_mesh_controller.vocabulary import Role, Side
from pulumi_hosted_mesh import InvalidInputError
from pulumi_hosted_mesh.spec.fields import file_path, models_in
from pydantic import AfterValidator, BaseModel

from tests.unit.controller.service import CLUSTERS, OWN_CLUSTER, documents

SETTINGS = Settings.model_validate(
    {
        "data": "/data",
        "program": "/program",
        "passphraseFile": "/passphrase",
        "clusters": CLUSTERS,
        "charts": {"istio": "/mounted/charts"},
        "tenants": {"acme": {}, "other": {}},
    }
)


def problems(kind: str, body: Any, role: Role = Role.PROVIDER, tenant: str = "acme") -> dict[str, str]:
    try:
        checked(KINDS[kind], body, SETTINGS, tenant, role)
    except InvalidInputError as error:
        return {one.field: one.rule for one in error.problems}
    return {}


def file_fields(model: type[BaseModel], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of all fields that name files, in any depth."""
    for field in model.model_fields.values():
        deeper = (*path, str(field.alias))
        validators = [one for one in _metadata(field) if isinstance(one, AfterValidator)]
        if any(one.func is file_path for one in validators):
            yield deeper
        for inner in models_in(field.annotation):
            yield from file_fields(inner, deeper)


def _metadata(field: Any) -> list[Any]:
    found = list(field.metadata)
    for part in get_args(field.annotation):
        found += getattr(part, "__metadata__", ())
    return found


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_every_file_that_a_document_may_name_is_replaced_by_a_name(kind: Any) -> None:
    """A new field with a path would let a user read files of the controller."""
    named = {(*(step for step in place if step != "*"), "kubeconfig") for place in kind.clusters}
    named |= {tuple(step for step in place if step != "*") for place in kind.charts}
    assert {path for key, model in kind.documents.items() for path in file_fields(model, (key,))} == named


def test_the_search_for_files_finds_them() -> None:
    found = set(file_fields(KINDS["meshes"].documents["mesh"]))
    assert ("memberships", "cluster", "kubeconfig") in found
    assert ("revisions", "charts", "path") in found


@pytest.mark.parametrize(
    "name", ["/mounted/north", "~/.kube/config", "$KUBECONFIG", "south", "hub", "absent", "../north"]
)
@pytest.mark.parametrize("kind", [one for one in KINDS if one != "dns"])
def test_only_one_s_own_clusters_in_their_role(kind: str, name: str) -> None:
    body = documents(kind, "acme")
    (place,) = [place for place, side in KINDS[kind].clusters.items() if side is Side.DATA_PLANE]
    part: Any = body
    for step in place:
        part = part[0] if step == "*" else part[step]
    part["kubeconfig"] = name
    field = ".".join(place).replace(".*", "[0]")
    rule = "must be the name of a data-plane cluster of this tenant, not the path of a file"
    assert problems(kind, body) == {f"{field}.kubeconfig": rule}


@pytest.mark.parametrize("kind", KINDS)
def test_a_cluster_is_required_and_has_no_other_field(kind: str) -> None:
    place = next(iter(KINDS[kind].clusters))
    for value, ending in ((None, ""), ({"kubeconfig": "hub"}, ""), ("more", ".context")):
        body = documents(kind, "acme")
        part: Any = body
        for step in place[:-1]:
            part = part[step]
        if value == "more":
            part[place[-1]]["context"] = "admin"
        elif value is None:
            part[place[-1]] = None
        else:
            del part[place[-1]]
        found = problems(kind, body)
        is_required = value == "more" or place not in KINDS[kind].optional_clusters
        assert (".".join(place) + ending in found) == is_required, (value, found)


def test_charts_are_names(tmp_path: Any) -> None:
    body = documents("meshes", "acme")
    body["mesh"]["revisions"][0]["charts"] = {"path": str(tmp_path)}
    rule = "must be the name of a directory in the controller's settings, not a path"
    assert problems("meshes", body) == {"mesh.revisions[0].charts.path": rule}
    body["mesh"]["revisions"][0]["charts"] = {"path": "istio"}
    config = configuration(KINDS["meshes"], body, SETTINGS, "acme")
    assert config["mesh"]["revisions"][0]["charts"]["path"] == "/mounted/charts"
    assert body["mesh"]["revisions"][0]["charts"]["path"] == "istio"


@pytest.mark.parametrize("kind", KINDS)
def test_the_configuration_has_the_clusters_places(kind: str) -> None:
    config = configuration(KINDS[kind], documents(kind, "acme"), SETTINGS, "acme")
    assert config["stack"] == KINDS[kind].stack
    text = str(config)
    side = CLUSTERS["hub" if kind == "dns" else OWN_CLUSTER["acme"]]
    assert str(side["kubeconfig"]) in text
    assert "'kubeconfig': 'north'" not in text


def test_a_cluster_that_left_the_settings_is_rejected_at_the_run() -> None:
    without = SETTINGS.model_copy(update={"clusters": {"hub": SETTINGS.clusters["hub"]}})
    with pytest.raises(InvalidInputError, match="must be the name of a data-plane cluster"):
        configuration(KINDS["meshes"], documents("meshes", "acme"), without, "acme")


def test_dns_refers_to_the_tenant_s_own_edges() -> None:
    config = configuration(KINDS["dns"], documents("dns", "acme"), SETTINGS, "acme")
    assert config["references"] == {"edges": {"north": "organization/hosted-mesh/acme.dns-edges.north"}}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("trust", {"root": {"protect": False}}),
        ("controlPlane.networkPolicy", {}),
        ("controlPlane.removeInUse", {}),
        ("revisions[0].istiod", {"replicas": 1}),
        ("revisions[0].charts", {"hub": "evil.example.com/x"}),
        ("revisions[0].chartValues", {"a": 1}),
        ("revisions[0].features", {}),
        ("revisions[0].exposure.annotations", {"a.example.com/b": "c"}),
        ("revisions[0].exposure.openToAll", False),
    ],
)
def test_a_tenant_leaves_the_provider_s_fields_alone(path: str, value: Any) -> None:
    body = documents("meshes", "acme")
    part: Any = body["mesh"]
    *steps, last = path.replace("[0]", ".0").split(".")
    for step in steps:
        part = part[int(step)] if step.isdigit() else part[step]
    part[last] = value
    assert problems("meshes", body, Role.TENANT)[f"mesh.{path}"] == "is set by the provider"
    assert "is set by the provider" not in problems("meshes", body).values()


def test_a_tenant_sets_the_rest() -> None:
    body = documents("meshes", "acme")
    body["mesh"]["crossNetwork"] = "gateways"
    body["mesh"]["memberships"][0]["gateways"] = [{"name": "ingress"}]
    assert problems("meshes", body, Role.TENANT) == {}


def test_a_tenant_s_hosts_are_below_its_domains() -> None:
    tenants = {"acme": {"domains": ["demo.example.com"]}}
    settings = Settings.model_validate({**SETTINGS.model_dump(by_alias=True), "tenants": tenants})
    body = documents("meshes", "acme")
    assert body["mesh"]["revisions"][0]["host"] == "istiod.demo.example.com"
    assert checked(KINDS["meshes"], body, settings, "acme", Role.TENANT) == "acme-mesh"
    body["mesh"]["revisions"][0]["host"] = "istiod.notdemo.example.com"
    with pytest.raises(InvalidInputError, match=r"mesh\.revisions\[0\]\.host: is outside of your domains"):
        checked(KINDS["meshes"], body, settings, "acme", Role.TENANT)
    assert checked(KINDS["meshes"], body, settings, "acme", Role.PROVIDER) == "acme-mesh"


def test_optional_clusters_and_the_collector_s_certificate() -> None:
    body = documents("observability", "acme")
    inner = body["observability"]
    assert problems("observability", body) == {}
    config = configuration(KINDS["observability"], body, SETTINGS, "acme")["observability"]
    assert (config["controlPlane"], config["dataPlane"]["context"]) == ({"kubeconfig": "/mounted/hub"}, "n")
    for absent in ("leave out", None):
        inner.pop("dataPlane", None)
        if absent is None:
            inner["dataPlane"] = None
        assert problems("observability", body) == {}
        config = configuration(KINDS["observability"], body, SETTINGS, "acme")["observability"]
        assert config.get("dataPlane") is None
    inner["dataPlane"] = {"kubeconfig": "hub"}
    assert list(problems("observability", body)) == ["observability.dataPlane.kubeconfig"]
    del inner["dataPlane"], inner["observability"]["collector"]["serverSecret"]
    assert list(problems("observability", body)) == ["observability.observability.collector.serverSecret"]
    del (wrong := documents("operators", "acme"))["operators"]["dataPlane"]
    assert list(problems("operators", wrong)) == ["operators.dataPlane"]
