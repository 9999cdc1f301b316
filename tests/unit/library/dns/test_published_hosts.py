"""Names that the stack `dns` publishes itself: of other stacks' outputs, and of its configuration."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pulumi
import pytest
from pulumi_hosted_mesh.clusters.kubeconfig import for_account
from pulumi_hosted_mesh.dns.published_hosts import PublishedHost, control_plane_hosts, gateway_host, published_records
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.dns import DnsBridge
from pulumi_hosted_mesh.spec.federation import Federation
from pulumi_hosted_mesh.spec.load import read_document

from stacks import configuration, dns
from tests.unit.library.dns.documents import document, provider
from tests.unit.library.documents import CERTIFICATE
from tests.unit.library.program import run

EAST = {"default/default": {"mesh": "east"}, "second/default": {"mesh": "east"}}
ISTIOD, GATEWAY = "istiod.east.mesh.example.com", "eastwest.east.mesh.example.com"


def federation(address: str = GATEWAY, **fields: Any) -> Federation:
    peers = [
        {"mesh": "east", "gateway": {"address": address, **fields}},
        {"mesh": "west", "gateway": {"address": "eastwest.west.mesh.example.com"}},
    ]
    return read_document(Federation, {"name": "shops", "domain": "shops.example.com", "peers": peers})


def published(*known: PublishedHost) -> dict[str, list[str]]:
    bridge = read_document(DnsBridge, document(provider(controlPlaneZones=["mesh.example.com"])))
    return published_records(known, bridge)


def test_istiods_hosts_lead_to_their_load_balancers() -> None:
    addresses = {ISTIOD: ["192.0.2.7", "2001:db8::7"], "hooks.east.mesh.example.com": ["lb.example.net"]}
    assert published(*control_plane_hosts("east", EAST, addresses)) == {
        ISTIOD: ["192.0.2.7", "2001:db8::7"],
        "hooks.east.mesh.example.com": ["lb.example.net"],
    }
    # With `exposure: external` somebody else leads the host to istiod, and publishes it.
    assert control_plane_hosts("east", EAST, {}) == []


@pytest.mark.parametrize(("fields", "name"), [({}, "mesh-east/eastwest"), ({"namespace": "ew"}, "ew/eastwest")])
def test_a_gateways_host_is_the_federations_and_its_address_the_data_planes(fields: Any, name: str) -> None:
    others = {"mesh-east/ingress": ["192.0.2.1"], "other/eastwest": ["192.0.2.2"]}
    known = gateway_host(federation(**fields), "east", EAST, {name: ["192.0.2.9"], **others})
    assert published(known) == {GATEWAY: ["192.0.2.9"]}


@pytest.mark.parametrize(
    ("mesh", "endpoints", "addresses", "message"),
    [
        ("north", EAST, {}, r"references\.dataPlanes\.north: is no peer of federation shops"),
        ("west", EAST, {}, r"references\.dataPlanes\.west: names a stack of mesh east"),
        ("east", EAST, {"mesh-east/ingress": []}, "names a stack that has no gateway mesh-east/eastwest"),
        (
            "east",
            EAST,
            {"mesh-east/eastwest": []},
            r"has no address for mesh-east/eastwest\. Run `pulumi up --refresh`",
        ),
    ],
)
def test_a_gateway_that_cannot_be_published_is_named(
    mesh: str, endpoints: dict[str, Any], addresses: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        gateway_host(federation(), mesh, endpoints, addresses)


def test_a_gateway_that_has_no_name_is_said_to_have_none() -> None:
    with pytest.raises(InvalidInputError, match=r"in federation shops its gateway\.address is an IP address"):
        gateway_host(federation("192.0.2.9"), "east", EAST, {"mesh-east/eastwest": ["192.0.2.9"]})


@pytest.mark.parametrize(
    ("mesh", "addresses", "message"),
    [
        ("west", {}, r"references\.controlPlanes\.west: names a stack of mesh east"),
        ("east", {ISTIOD: []}, rf"references\.controlPlanes\.east: names a stack that has no address for {ISTIOD}"),
    ],
)
def test_a_control_plane_that_cannot_be_published_is_named(mesh: str, addresses: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        control_plane_hosts(mesh, EAST, addresses)


def test_what_cannot_be_published_is_said_with_the_field_that_it_comes_from() -> None:
    with pytest.raises(InvalidInputError) as caught:
        published(
            PublishedHost("istiod.east.example.org", ("192.0.2.7",), "references.controlPlanes.east"),
            PublishedHost("a.mesh.example.com", ("192.0.2.256",), "records.a.mesh.example.com"),
            PublishedHost("b.mesh.example.com", ("192.0.2.1",), "records.b.mesh.example.com"),
            PublishedHost("b.mesh.example.com", ("192.0.2.1",), "references.dataPlanes.east"),
        )
    assert str(caught.value).splitlines() == [
        "the stack's configuration cannot be used:",
        "  references.dataPlanes.east: has b.mesh.example.com, which records.b.mesh.example.com has too. "
        "Remove one of them, or rename one.",
        "  references.controlPlanes.east: has istiod.east.example.org, which lies in none of the control plane's zones "
        "(mesh.example.com). Add its domain to a provider's controlPlaneZones, or correct the host.",
        "  records.a.mesh.example.com: has the target '192.0.2.256', which is neither an address nor a host name. "
        "Set the address of its Service.",
    ]


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ({"a.mesh.example.com": ["192.0.2.256"]}, r"records\.a\.mesh\.example\.com\[0\]: .* a mistyped IP address"),
        ({"*.mesh.example.com": ["192.0.2.1"]}, "must be a DNS name"),
        ({"a.mesh.example.com": "192.0.2.1"}, "must be a list"),
    ],
)
def test_a_record_of_the_configuration_that_cannot_be_used_is_named(records: Any, message: str) -> None:
    values = {"stack": "dns", "records": json.dumps(records)}
    pulumi.runtime.set_all_config({f"{pulumi.get_project()}:{key}": value for key, value in values.items()})
    with pytest.raises(InvalidInputError, match=message):
        configuration.settings()


@dataclass(frozen=True)
class Outputs:
    """Another stack, as a reference to it answers."""

    values: dict[str, Any]

    @property
    def outputs(self) -> pulumi.Output[dict[str, Any]]:
        return pulumi.Output.from_input(self.values)

    async def get_output_details(self, name: str) -> pulumi.StackReferenceOutputDetails:
        return pulumi.StackReferenceOutputDetails(value=self.values.get(name))

    def get_output(self, name: str) -> pulumi.Output[Any]:
        return pulumi.Output.secret(self.values.get(name))


def test_the_stack_publishes_what_others_know(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = base64.b64encode(CERTIFICATE.encode()).decode()
    (tmp_path / "config").write_text(
        json.dumps(
            {
                "current-context": "it",
                "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
                "clusters": [
                    {"name": "it", "cluster": {"server": "https://it:1", "certificate-authority-data": authority}}
                ],
                "users": [{"name": "it", "user": {"token": "t0k3n"}}],
            }
        )
    )
    kubeconfig = for_account("north", "https://north:1", CERTIFICATE, "t0k3n")
    others: dict[str, dict[str, Any]] = {
        "edge": {"publisher_kubeconfig": kubeconfig, "reader_kubeconfig": kubeconfig},
        "east": {
            "endpoints": EAST,
            "addresses": {ISTIOD: ["192.0.2.7"]},
            "gateway_addresses": {"mesh-east/eastwest": ["192.0.2.9"]},
        },
    }
    bridge = document(provider(controlPlaneZones=["mesh.example.com"], authentication="none"), edges=("north",))
    values = {
        "stack": "dns",
        "dns": json.dumps({"cluster": {"kubeconfig": str(tmp_path / "config"), "identity": "it"}, "bridge": bridge}),
        "references": json.dumps(
            {"edges": {"north": "edge"}, "controlPlanes": {"east": "east"}, "dataPlanes": {"east": "east"}}
        ),
        "federation": federation().model_dump_json(by_alias=True, exclude_unset=True),
        "records": json.dumps({"status.mesh.example.com": ["lb.example.net"]}),
    }
    referenced = []

    def reference(name: str) -> Outputs:
        referenced.append(name)
        return Outputs(others[name])

    monkeypatch.setattr(pulumi, "StackReference", reference)

    async def program() -> None:
        pulumi.runtime.set_all_config({f"{pulumi.get_project()}:{key}": value for key, value in values.items()})
        await dns.build(configuration.settings())

    written = [one.inputs["spec"]["endpoints"] for one in run(program) if one.type.endswith(":DNSEndpoint")]
    assert {one["dnsName"]: (one["recordType"], one["targets"]) for (one,) in written} == {
        ISTIOD: ("A", ["192.0.2.7"]),
        GATEWAY: ("A", ["192.0.2.9"]),
        "status.mesh.example.com": ("CNAME", ["lb.example.net"]),
    }
    assert sorted(referenced) == ["east", "edge"]  # the engine refuses a second reference to one stack
    del others["east"]["addresses"]
    with pytest.raises(InvalidInputError) as refused:
        run(program)
    assert str(refused.value) == (
        "the stack's configuration cannot be used, references.controlPlanes.east: names the stack east, which has no "
        "public output 'addresses'. Run `pulumi up` of that stack first, with this hosted-mesh or a newer one; it must "
        "be of kind control-plane or all-in-one."
    )
    others["east"] |= {"addresses": others["east"].pop("gateway_addresses")}
    with pytest.raises(InvalidInputError, match=r"dataPlanes\.east: .* data-plane or all-in-one\."):
        run(program)
