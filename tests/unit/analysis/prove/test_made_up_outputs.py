"""What programs read of outputs and answers that nobody gives here: enough of it is made up for them to run on."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import pulumi
import pulumi_kubernetes as k8s
from hosted_mesh_analysis.prove.verdict import Kind
from hosted_mesh_analysis.runner.capture import Capture
from hosted_mesh_analysis.runner.program.declared import outputs_of
from hosted_mesh_analysis.runner.program.monitor import RunOptions
from hosted_mesh_analysis.runner.secrets.generator import FIRST, SecretGenerator

from tests.corpus.world import World
from tests.unit.analysis.prove.in_process import KNOWN, captured, proven


@pulumi.output_type
class Door:
    """A class inside of a class, as SDKs have them."""

    nat_ip: str = pulumi.property("natIp")
    doors: Sequence[Door] | None = pulumi.property("doors", default=None)


@pulumi.output_type
class Login:
    host: str = pulumi.property("host")
    admin_password: str = pulumi.property("adminPassword")


class House(pulumi.CustomResource):
    """A cloud's resource. `doors` may be given in part."""

    def __init__(self, name: str, doors: Any = None, near: Any = None) -> None:
        given = {"doors": doors, "near": near, "front_door": None, "keys": None, "tags": None}
        super().__init__("cloud:index:House", name, given)

    def translate_output_property(self, prop: str) -> str:
        return {"frontDoor": "front_door"}.get(prop, prop)

    @property
    @pulumi.getter(name="frontDoor")
    def front_door(self) -> pulumi.Output[Door]:
        found: pulumi.Output[Door] = pulumi.get(self, "front_door")
        return found

    doors: pulumi.Output[Sequence[Door]] = pulumi.property("doors")
    near: pulumi.Output[str] = pulumi.property("near")
    keys: pulumi.Output[Sequence[str] | None] = pulumi.property("keys")
    tags: pulumi.Output[Mapping[str, str]] = pulumi.property("tags")


def read(program: Any, **surroundings: Any) -> tuple[dict[str, Any], Capture]:
    """What a program has read, by name."""
    found: dict[str, Any] = {}

    def play(world: World) -> None:
        for name, output in program(world).items():
            output.apply(lambda value, name=name: found.update({name: value}))

    capture = captured(play, FIRST, SecretGenerator(seed=0), RunOptions("corpus", "corpus", KNOWN, **surroundings))
    assert capture.problems == []
    return found, capture


def test_an_object_without_metadata_has_a_name_and_a_service_an_address() -> None:
    def program(_: World) -> dict[str, Any]:
        app = k8s.apps.v1.Deployment("App", spec={"selector": {}, "template": {"spec": {"containers": []}}})
        service = k8s.core.v1.Service("app", metadata={"labels": {"a": "b"}}, spec={"ports": [{"port": 80}]})
        return {
            "labels": app.metadata.apply(lambda metadata: metadata.labels),
            "name": app.metadata.name,
            "namespace": service.metadata.namespace,
            "kept": service.metadata.labels,
            "address": service.spec.cluster_ip,
            "port": service.spec.ports[0].port,
            "outside": service.status.load_balancer.ingress[0].ip,
        }

    found, _ = read(program)
    assert found == {
        "labels": None,
        "name": "app",
        "namespace": "default",
        "kept": {"a": "b"},
        "address": "192.0.2.11",
        "port": 80,
        "outside": "192.0.2.10",
    }


def test_what_is_read_has_the_name_of_its_id_and_all_that_its_class_declares() -> None:
    def program(_: World) -> dict[str, Any]:
        release = k8s.helm.v3.Release("blog", chart="wordpress", namespace="web")
        service = k8s.core.v1.Service.get("mine", pulumi.Output.concat(release.status.namespace, "/blog"))
        return {
            "release": release.status.name,
            "name": service.metadata.name,
            "namespace": service.metadata.namespace,
            "address": service.spec.cluster_ip,
        }

    found, _ = read(program)
    assert found["release"] == found["name"] == "blog"
    assert found["namespace"] == "web"
    assert isinstance(found["address"], str)


def test_classes_in_lists_are_made_up_where_nothing_was_given() -> None:
    def program(_: World) -> dict[str, Any]:
        first = House("first")
        second = House("second", doors=[{"natIp": "192.0.2.7"}, {}], near=first)
        return {
            "made": first.doors[0].nat_ip,
            "front": first.front_door.nat_ip,
            "told": pulumi.Output.from_input(sorted(outputs_of(first, {"front_door": None, "more": None}))),
            "inner": first.doors[0].doors[0].nat_ip,
            "keys": first.keys,
            "tags": first.tags,
            "given": second.doors[0].nat_ip,
            "beside": second.doors[1].nat_ip,
            "near": second.near,
        }

    found, capture = read(program)
    assert isinstance(found["made"], str)
    assert isinstance(found["front"], str)
    assert found["told"] == ["doors", "frontDoor", "keys", "more", "near", "tags"]
    assert isinstance(found["inner"], str)
    assert {type(key) for key in found["keys"]} == {str}
    assert found["tags"] == {}
    assert found["given"] == "192.0.2.7"
    assert isinstance(found["beside"], str)
    assert found["near"] == "first-id"  # a resource that is given is its id, as a provider repeats it
    assert capture.unsure == []


def looked_up(name: str = "db") -> pulumi.Output[Login]:
    return pulumi.runtime.invoke_output("cloud:index:getLogin", {"name": name}, typ=Login)


LOOKED_UP = "function cloud:index:getLogin: no provider is there to run it; its answer is made up"


def test_a_functions_answer_is_made_up_and_said_unless_somebody_vouches_for_it() -> None:
    def program(_: World) -> dict[str, Any]:
        return {"host": looked_up().host, "again": looked_up().host, "other": looked_up("other").host}

    found, capture = read(program)
    assert found["host"] == found["again"] != found["other"]
    assert (capture.unsure, capture.remarks) == ([LOOKED_UP], [])
    _, capture = read(program, keep=("cloud:index:getLogin",))
    assert (capture.unsure, capture.remarks) == ([], [f"{LOOKED_UP} (kept)"])


def test_what_a_function_calls_a_password_is_a_secret_and_its_host_is_none() -> None:
    def program(world: World) -> None:
        login = looked_up()
        world.secret("cp", "db", {"password": login.admin_password})
        world.config_map("dp", "db", {"host": login.host, "login": login.admin_password.apply(lambda text: text[::-1])})

    found = proven(program)
    assert [(one.kind, one.path) for one in found.findings] == [(Kind.LEAK, "data.login")]
    assert found.findings[0].secrets == ("function cloud:index:getLogin",)


def test_a_resource_that_somebody_only_has_the_urn_of_is_found() -> None:
    """As the SDKs find one that is an output of another."""

    def program(_: World) -> dict[str, Any]:
        found = pulumi.runtime.invoke_output("pulumi:pulumi:getResource", {"urn": House("first").urn})
        return {"id": found.apply(lambda one: one["id"]), "tags": found.apply(lambda one: one["state"]["tags"])}

    found, capture = read(program)
    assert found == {"id": "first-id", "tags": {}}
    assert capture.unsure == []


class Tier(StrEnum):
    """Of what only some texts are allowed."""

    HOT = "hot"
    COLD = "cold"


@pulumi.output_type
class Region:
    zones: Sequence[str] = pulumi.property("zones")
    tier: Tier = pulumi.property("tier")
    arn: str = pulumi.property("arn")
    authorization_token: str = pulumi.property("authorizationToken")


def test_what_is_made_up_can_be_taken_apart_as_what_it_stands_for() -> None:
    def program(_: World) -> dict[str, Any]:
        region = pulumi.runtime.invoke_output("cloud:index:getRegion", {}, typ=Region)
        group = pulumi.CustomResource("azure-native:resources:ResourceGroup", "group", {})
        return {
            "zones": region.zones,
            "tier": region.tier,
            "account": region.arn.apply(lambda text: text.split(":")[4]),
            "user": region.authorization_token.apply(lambda text: base64.b64decode(text).decode().split(":")[0]),
            "subscription": group.id.apply(lambda text: text.split("/")[2]),
        }

    found, _ = read(program)
    assert len(set(found.pop("zones"))) == 3
    assert found == {
        "tier": Tier.HOT,
        "account": "123456789012",
        "user": "AWS",
        "subscription": "00000000-0000-0000-0000-000000000000",
    }
