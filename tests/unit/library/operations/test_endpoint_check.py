"""What both sides' documents must say alike, and what the data plane's side is told where they do not."""

from __future__ import annotations

from typing import Any

import pytest
from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.boundary.endpoint_check import require_matching_endpoints
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.data_plane import DataPlane
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.spec.federation import Offer
from pulumi_hosted_mesh.spec.fields import Model
from pulumi_hosted_mesh.spec.load import read_arguments, read_document
from pulumi_hosted_mesh.spec.mesh import Mesh

from tests.unit.library.documents import CERTIFICATE, document


def told(**membership: str) -> EndpointDocument:
    mesh = read_document(Mesh, document({f"memberships.0.{field}": value for field, value in membership.items()}))
    endpoint = ControlPlaneEndpoint.of(mesh, mesh.revisions[0], mesh.memberships[0], CERTIFICATE)
    return endpoint.document.model_copy(update={"root_certificate": CERTIFICATE})


def data_plane(**fields: Any) -> DataPlane:
    return read_document(DataPlane, {"mesh": "demo", **fields})


@pytest.mark.parametrize(
    "names",
    [{}, {"name": "east"}, {"clusterId": "a"}, {"network": "b"}, {"network": ""}, {"clusterId": "a", "network": "b"}],
    ids=str,
)
def test_both_sides_give_the_cluster_one_name(names: dict[str, str]) -> None:
    require_matching_endpoints(data_plane(**names), [told(**names)])


@pytest.mark.parametrize(
    ("model", "file"),
    [
        (EndpointDocument, told().model_dump(mode="json", by_alias=True, exclude_none=True)),
        (Offer, {"federation": "shops", "mesh": "west"}),
    ],
    ids=["endpoint", "offer"],
)
@pytest.mark.parametrize("newer", [{"networkView": "x"}, {"version": 2}], ids=str)
def test_a_file_of_a_newer_version_is_told(model: type[Model], file: dict[str, Any], newer: dict[str, Any]) -> None:
    """And no field is guessed that its name resembles."""
    read_document(model, file)
    with pytest.raises(InvalidInputError) as refused:
        read_document(model, file | newer)
    (problem,) = refused.value.problems
    (field,) = newer
    assert problem.field == field
    assert problem.fix == "If a newer hosted-mesh made the file, install that version here; else make the file again"


def test_a_file_of_an_older_version_is_as_it_was() -> None:
    """One that was made before fields that came later."""
    later = {"crossNetwork", "injects"}
    file = told().model_dump(mode="json", by_alias=True, exclude_none=True)
    assert later < file.keys()
    older = read_document(EndpointDocument, {name: value for name, value in file.items() if name not in later})
    require_matching_endpoints(data_plane(), [older])
    assert older.injection_url.endswith("/inject/cluster/demo/net/demo")


def test_arguments_are_this_versions_own() -> None:
    with pytest.raises(InvalidInputError, match=r"Did you mean host\?"):
        read_arguments(EndpointDocument, {**told().model_dump(mode="json", exclude_none=True), "hots": "x"})


@pytest.mark.parametrize(
    ("theirs", "words"),
    [
        ({"clusterId": "a"}, ["clusterId: is 'a', but dataPlane.clusterId is 'demo'", "network: is 'a'"]),
        ({"network": "b"}, ["network: is 'b', but dataPlane.network is 'demo'"]),
    ],
)
def test_another_name_is_refused(theirs: dict[str, str], words: list[str]) -> None:
    with pytest.raises(InvalidInputError) as refused:
        require_matching_endpoints(data_plane(), [told(**theirs)])
    assert len(refused.value.problems) == len(words)
    for word in words:
        assert word in str(refused.value)
