"""What is refused of an Output is printed when it is found; what is refused at once, by Pulumi alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pulumi
import pulumi_hosted_mesh as hosted_mesh
import pytest
import yaml
from pulumi.runtime import settings
from pulumi_hosted_mesh.boundary.cacerts import FILES
from pulumi_hosted_mesh.boundary.refusals import printed_at_once
from pulumi_hosted_mesh.clusters import distinct
from pulumi_hosted_mesh.clusters.kubeconfig import for_account
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.trust import Trust
from pulumi_hosted_mesh.trust.management import mesh_authority

from stacks import control_plane as control_plane_stack
from stacks import references
from tests.support.authorities import constrained_certificate
from tests.unit.library.boundary.endpoint_outputs import (
    TOKENS,
    VALUE,
    access,
    bridge,
    control_plane,
    edge,
    later,
)
from tests.unit.library.clusters.kubeconfigs import content
from tests.unit.library.dns.documents import document as dns_document
from tests.unit.library.dns.documents import provider
from tests.unit.library.documents import CERTIFICATE
from tests.unit.library.program import run
from tests.unit.library.stacks.referenced_stacks import MESH, SETTINGS, Outputs

pytestmark = pytest.mark.usefixtures("without_transforms")
KUBECONFIG = yaml.safe_dump(content())
BROUGHT = read_document(Trust, {"management": "brought"})


def written(cluster: Any) -> None:
    """An object in the cluster, which waits for what is checked of it."""
    box = pulumi.ComponentResource("test:index:Box", "box")
    pulumi.CustomResource("kubernetes:core/v1:ConfigMap", "it", {"data": {}}, cluster.options(box))


def given_twice(form: Callable[[Any], Any]) -> None:
    clusters = [
        role("shop", kubeconfig=form(KUBECONFIG), context="provider")
        for role in (hosted_mesh.ControlPlaneCluster, hosted_mesh.DataPlaneCluster)
    ]
    clusters[1].distinct_from(clusters[0])
    written(clusters[1])


def without_authority(form: Callable[[Any], Any]) -> None:
    cluster = hosted_mesh.DataPlaneCluster(kubeconfig=form(KUBECONFIG.replace("-authority-data", "-nothing")))
    hosted_mesh.DataPlaneAccess("demo", {"mesh": "demo", "cluster": cluster})


def record(form: Callable[[Any], Any]) -> None:
    kubeconfigs = {name: for_account(name, "https://h:1", CERTIFICATE, "t0k3n") for name in ("north", "south")}
    arguments: dict[str, Any] = {
        "bridge": dns_document(provider(controlPlaneZones=["mesh.example.com"])),
        "cluster": hosted_mesh.ControlPlaneCluster(kubeconfig=KUBECONFIG),
        "credentials": {"inner": {"username": "bridge", "password": "x"}},
        "records": {"a.mesh.example.com": form(["not an address"])},
        "publisher_kubeconfigs": kubeconfigs,
        "reader_kubeconfigs": kubeconfigs,
    }
    hosted_mesh.ExternalDNSBridge("names", arguments)


def another_server(form: Callable[[Any], Any]) -> None:
    written(hosted_mesh.ControlPlaneCluster(kubeconfig=KUBECONFIG, server=form("https://127.0.0.1:9")))


def no_server(form: Callable[[Any], Any]) -> None:
    pulumi.export("it", hosted_mesh.ControlPlaneCluster(kubeconfig=later(KUBECONFIG), server=form(VALUE)).server)


BAD: dict[str, Callable[[Callable[[Any], Any]], object]] = {
    "istiod's kubeconfig": lambda form: control_plane(kubeconfigs={"default": form(VALUE)}),
    "the root certificate": lambda form: control_plane(root_certificate=form(VALUE)),
    "where the API server is": lambda form: access(api_server=form(VALUE)),
    "an edge's authority": lambda form: edge(certificate_authority=form(VALUE)),
    "a root's request": lambda form: hosted_mesh.MeshRoot("root", {"requests": {"demo": form(VALUE)}}),
    "a cluster's kubeconfig": lambda form: written(hosted_mesh.ControlPlaneCluster(kubeconfig=form(VALUE))),
    "a kubeconfig without authority": without_authority,
    "a server that is none": no_server,
    "a server that is another's": another_server,
    "one cluster twice": given_twice,
    "a record's target": record,
}
ALWAYS_LATER: dict[str, Callable[[], object]] = {
    "cacerts": lambda: control_plane(cacerts=later(dict.fromkeys(FILES, VALUE))),
    "an authority for another mesh": lambda: control_plane(
        cacerts=later(dict.fromkeys(FILES, constrained_certificate("other.mesh.local", "istiod.other.example.com")))
    ),
    "an authority that is brought": lambda: pulumi.export(
        "it",
        mesh_authority(
            BROUGHT, pytest.fail, brought=later({"ca-key.pem": VALUE}), root_certificate=None, source="it"
        ).files,
    ),
    "a bridge's kubeconfig": lambda: bridge(VALUE, "reader"),
    "another stack's output": lambda: pulumi.export("it", control_plane_stack._kubeconfigs(MESH, SETTINGS)),
    "what a root has signed": lambda: pulumi.export(
        "it", control_plane_stack.signed_elsewhere(MESH.name, SETTINGS).files
    ),
}
OTHERS = {"a": {}, "t": {"private_key": "x"}, "r": {"certificates": {}, "certificate": "x"}}


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr(pulumi.log, "error", found.append)
    monkeypatch.setattr(distinct, "kube_system_uid", lambda _: None)
    monkeypatch.setattr(references.pulumi, "StackReference", lambda name: Outputs(OTHERS[name]))
    return found


def refused(program: Callable[[], Any]) -> str:
    with pytest.raises(InvalidInputError) as error:
        run(program, outputs=TOKENS)
    return str(error.value)


@pytest.mark.parametrize("name", [*BAD, *ALWAYS_LATER])
def test_it_is_printed_when_it_is_found(name: str, printed: list[str]) -> None:
    """Once, and without the value."""
    program = ALWAYS_LATER.get(name) or (lambda: BAD[name](later))
    assert printed == [refused(program)]
    assert VALUE not in printed[0]


@pytest.mark.parametrize("name", BAD)
def test_what_is_plain_is_left_to_pulumi(name: str, printed: list[str]) -> None:
    """It waits for what was registered before it prints what a program raises by itself."""
    refused(lambda: BAD[name](lambda value: value))
    assert printed == []


def test_a_component_in_another_languages_program_leaves_it_to_the_engine(printed: list[str]) -> None:
    assert settings.get_root_resource() is None
    with pytest.raises(InvalidInputError), printed_at_once():
        raise InvalidInputError([Problem("field", "is wrong", "Correct it")], "it")
    assert printed == []
