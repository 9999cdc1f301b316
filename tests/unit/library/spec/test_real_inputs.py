"""Values as people write them: each is accepted as meant, or rejected with its fix."""

from __future__ import annotations

import copy
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from pulumi_hosted_mesh.clusters.kubeconfig import KubeconfigRequest, from_content
from pulumi_hosted_mesh.operations.doctor.authority import roots
from pulumi_hosted_mesh.operations.doctor.observation import MeshObservation
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.data_plane import DataPlane
from pulumi_hosted_mesh.spec.dns import DnsBridge
from pulumi_hosted_mesh.spec.federation import Federation
from pulumi_hosted_mesh.spec.fields import Model
from pulumi_hosted_mesh.spec.load import read_document, read_document_file
from pulumi_hosted_mesh.spec.mesh import Mesh

from tests.support.authorities import NOW, Authority, pem
from tests.unit.library.cli.documents import FEDERATION
from tests.unit.library.clusters.kubeconfigs import content
from tests.unit.library.dns import documents as dns
from tests.unit.library.documents import document
from tests.unit.library.operations.doctor_reports import ROOT, given

BRACKETED, PLAIN = "[2001:DB8:0::10]", "2001:db8::10"


def federation(address: str) -> Federation:
    whole: dict[str, Any] = copy.deepcopy(FEDERATION)
    whole["peers"][1]["gateway"]["address"] = address
    return read_document(Federation, whole)


def bridge(address: str) -> DnsBridge:
    of_server = {"host": address, "serverZones": ["example.com"], "tsigKeyName": "bridge"}
    return read_document(DnsBridge, dns.document(dns.provider(dns.RFC2136, rfc2136=of_server), nameservers=[address]))


def test_an_address_in_brackets_is_the_address() -> None:
    """As in a URL. Istio, Envoy and external-dns reject brackets elsewhere."""
    assert federation(BRACKETED) == federation(PLAIN)
    assert federation(BRACKETED).peer("west").gateway.address == PLAIN
    assert bridge(BRACKETED) == bridge(PLAIN)
    (provider,) = bridge(BRACKETED).providers
    assert provider.rfc2136 is not None
    assert (provider.rfc2136.host, bridge(BRACKETED).nameservers) == (PLAIN, (PLAIN,))


@pytest.mark.parametrize("server", ["https://[2001:db8::10]", "https://rancher.example.com/k8s/clusters/c-m-1"])
def test_an_api_server_without_a_port_or_with_a_path(server: str) -> None:
    cluster = {"kubeconfig": "kubeconfig", "server": server}
    mesh = read_document(Mesh, document({"controlPlane.cluster": cluster, "memberships.0.cluster": cluster}))
    assert mesh.control_plane.cluster is not None
    assert mesh.control_plane.cluster.server == server
    member = read_document(DataPlane, {"mesh": "demo", "access": {"apiServer": server}})
    assert member.access.api_server == server


@pytest.mark.parametrize(
    ("model", "whole", "field"),
    [
        (Mesh, document({"controlPlane.cluster": {"kubeconfig": "k", "identity": "MARK"}}), "controlPlane.cluster"),
        (DataPlane, {"mesh": "demo", "cluster": {"kubeconfig": "k", "identity": "MARK"}}, "cluster"),
    ],
)
@pytest.mark.parametrize("digits", ["012345670123", "0x1F", "1e3"])
def test_the_advice_for_a_number_has_its_digits(
    tmp_path: Path, model: type[Model], whole: dict[str, Any], field: str, digits: str
) -> None:
    """An account's number with a first zero is octal in YAML 1.1: its value would name another cluster."""
    file = tmp_path / "given.yaml"
    file.write_text(yaml.safe_dump(whole).replace("MARK", digits))
    with pytest.raises(InvalidInputError) as refused:
        read_document_file(model, file)
    (problem,) = refused.value.problems
    assert problem.field == f"{field}.identity"
    assert f'"{digits}"' in problem.fix


@pytest.mark.parametrize("value", ["2024-01-01", "2024-01-01T10:00:00Z", "2024-01-01 10:00:00", "012", "yes", "1.0"])
def test_a_kubeconfig_with_unquoted_values_of_other_types(value: str) -> None:
    whole = content(clusters=[dict(one) for one in content()["clusters"]], preferences={"since": "MARK"})
    for one in whole["clusters"]:
        one["cluster"] = {**one["cluster"], "extensions": [{"name": "e", "extension": {"last-update": "MARK"}}]}
    command = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "login",
        "env": [{"name": "A", "value": "MARK"}],
    }
    whole["users"] = [{"name": "admin", "user": {"exec": command}}]
    found = from_content(yaml.safe_dump(whole).replace("MARK", value), KubeconfigRequest())
    assert found.server == "https://127.0.0.1:1"


def test_a_root_bundle_in_another_order_with_text_before_it_is_the_same() -> None:
    first, second, of_west = ROOT, Authority("second"), Authority("west")
    texts = {one: pem(one.certificate).decode() for one in (first, second, of_west)}
    whole = {**given(), "trust": "partial"}
    whole["peers"][0]["rootCertificate"] = texts[first] + texts[second]
    whole["peers"][1]["rootCertificate"] = texts[of_west]
    known = read_document(Federation, whole)
    text = f"subject=CN=second\nissuer=CN=second\n{texts[second]}\n# root\n{texts[first]}"
    written = text.replace("\n", "\r\n")
    for bundle, cause in ((written, None), (texts[of_west], "roots-differ")):
        held = MeshObservation(bundle, (), frozenset(), {}, NOW)
        (found,) = roots(known, "east", held, timedelta(0))
        assert found.cause == cause
