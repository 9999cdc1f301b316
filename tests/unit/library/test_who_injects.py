"""Each Pod is injected by one istiod: beside a tag `default`."""

from __future__ import annotations

import pytest
from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.boundary.handover import require_match
from pulumi_hosted_mesh.data_plane import webhooks
from pulumi_hosted_mesh.operations.webhooks.check import verdicts
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.data_plane import DataPlane
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.spec.load import read
from pulumi_hosted_mesh.spec.mesh import Mesh

from tests.unit.library.documents import CERTIFICATE, document
from tests.unit.library.test_webhook_check import ENDPOINT, installed, observed

CANARY = {"name": "canary", "host": "istiod-canary.demo.example.com", "exposure": {"sourceRanges": ["203.0.113.0/24"]}}
MUTATING = "MutatingWebhookConfiguration"


def mesh(name: str = "demo", revision: str = "default", **tags: str) -> Mesh:
    """Of two revisions."""
    written = document({"name": name, "revisions.0.name": revision})
    return read(Mesh, {**written, "revisions": [*written["revisions"], CANARY], "tags": tags})


def endpoints(of: Mesh) -> list[ControlPlaneEndpoint]:
    return [ControlPlaneEndpoint.of(of, one, of.memberships[0], CERTIFICATE) for one in of.revisions]


def configurations(of: Mesh, kind: str = MUTATING) -> list[webhooks.Manifest]:
    settings = of.memberships[0].webhooks
    made = [one for endpoint in endpoints(of) for one in webhooks.manifests(endpoint, settings, "")]
    return [one for one in made if one["kind"] == kind]


def names(of: Mesh, kind: str = MUTATING) -> set[str]:
    return {one["metadata"]["name"] for one in configurations(of, kind)}


def test_the_tag_default_takes_the_pods_of_the_revision_of_that_name() -> None:
    """Both would be asked about the same ones. The revision is still asked by its other tags, and validates."""
    before, after = mesh(prod="default"), mesh(prod="default", default="canary")
    assert names(before) - names(after) == {"istio-sidecar-injector-mesh-demo"}
    assert names(after) - names(before) == {"istio-revision-tag-default-mesh-demo"}
    assert names(before, "ValidatingWebhookConfiguration") == names(after, "ValidatingWebhookConfiguration")
    old, new = endpoints(after)
    assert (old.document.asked_by, new.document.asked_by) == (("prod",), ("canary", "default"))


def test_a_revision_without_pods_of_its_own_name_is_checked_without_them() -> None:
    endpoint = ENDPOINT.model_copy(update={"injects": False, "tags": ()})
    found = observed(configurations=installed(endpoint), pods={})
    assert [one["kind"] for one in found.configurations] == ["ValidatingWebhookConfiguration"]
    assert [one.cause for one in verdicts(endpoint, found)] == [None, None]
    assert next(one.cause for one in verdicts(ENDPOINT, found)) == "revision-not-present"


def test_files_of_before_and_after_the_tag_moved_are_refused() -> None:
    told = [[one.document for one in endpoints(of)] for of in (mesh(), mesh(default="canary"))]
    said = [[one.model_copy(update={"root_certificate": CERTIFICATE}) for one in both] for both in told]
    for together in said:
        require_match(read(DataPlane, {"mesh": "demo"}), together)
    mixed: list[EndpointDocument] = [said[0][0], said[1][1]]
    with pytest.raises(InvalidInputError, match="several revisions that are asked for by default"):
        require_match(read(DataPlane, {"mesh": "demo"}), mixed)
