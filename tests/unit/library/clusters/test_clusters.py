"""Clusters from files, from Outputs and from existing providers: what is registered, and what is refused when."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes
import pytest
import yaml
from pulumi.provider.experimental.analyzer import Analyzer
from pulumi_hosted_mesh.clusters import adoption, distinct
from pulumi_hosted_mesh.clusters.cluster import Cluster, ControlPlaneCluster, DataPlaneCluster
from pulumi_hosted_mesh.problems import InvalidInputError

from tests.unit.library.clusters.kubeconfigs import TOKEN, content
from tests.unit.library.program import UNKNOWN, Registered, run, secret

PROVIDERS = ("control-plane-cluster", "data-plane-cluster")


@pytest.fixture(autouse=True)
def nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distinct, "kube_system_uid", lambda config: None)


def text(context: str = "provider", **changes: Any) -> str:
    return yaml.safe_dump(content(**{"current-context": context}, **changes))


def made(name: str = "made") -> pulumi.Output[Any]:
    """The kubeconfig of a cluster that the program makes."""
    return Made(name).kubeconfig


class Made(pulumi.CustomResource):
    kubeconfig: pulumi.Output[Any]

    def __init__(self, name: str) -> None:
        super().__init__("cloud:index:Cluster", name, {"kubeconfig": None})


def config_map(cluster: Cluster, name: str = "it", **opts: Any) -> None:
    opts.setdefault("parent", pulumi.ComponentResource("test:index:Box", f"{name}-box"))
    kubernetes.core.v1.ConfigMap(name, data={"a": "b"}, opts=cluster.options(**opts))


def provider_of(found: list[Registered], name: str) -> Registered:
    (provider,) = [one for one in found if one.type == "pulumi:providers:kubernetes" and one.name == name]
    return provider


def names(found: list[Registered]) -> list[str]:
    return [one.name for one in found]


def test_nothing_is_registered_before_the_first_object() -> None:
    def program() -> None:
        ControlPlaneCluster(kubeconfig=text())

    assert run(program) == []


def test_a_plain_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(text())

    def program() -> None:
        cluster = DataPlaneCluster(kubeconfig_file=str(tmp_path / "config"), context="user")
        assert cluster.known
        assert cluster.server == "https://127.0.0.1:2"
        assert str(cluster.certificate_authority).startswith("-----BEGIN CERTIFICATE")
        assert cluster.config is not None
        config_map(cluster)

    found = run(program)
    provider = provider_of(found, "data-plane-cluster")
    assert provider.secrets == {"kubeconfig"}
    assert json.loads(provider.inputs["kubeconfig"])["current-context"] == "user"
    assert TOKEN not in provider.inputs["kubeconfig"]
    for setting in ("enableSecretMutable", "enableConfigMapMutable", "enablePatchForce"):
        assert provider.inputs[setting] == "true", setting
    assert provider.inputs["clusterIdentifier"].startswith("data-plane-")
    assert found[-1].provider == "data-plane-cluster"


@pytest.mark.parametrize("preview", [False, True])
def test_two_clusters_from_outputs(preview: bool) -> None:
    def program() -> None:
        provider = ControlPlaneCluster("shop", kubeconfig=made("hub"), context="provider")
        user = DataPlaneCluster("shop", kubeconfig=made("spoke"), context="user", server="https://127.0.0.1:2/")
        provider.distinct_from(user)
        assert not provider.known
        assert provider.config is None
        assert user.server == "https://127.0.0.1:2"
        config_map(provider, "hubs")
        config_map(user, "spokes")
        pulumi.export("server", provider.server)

    answers = {"hub": {"kubeconfig": secret(text())}, "spoke": {"kubeconfig": secret(content())}}
    found = run(program, outputs=answers, preview=preview)
    hub = provider_of(found, "shop-control-plane-cluster")
    assert hub.secrets == {"kubeconfig"}
    assert hub.inputs["clusterIdentifier"] == "control-plane-shop"
    assert json.loads(hub.inputs["kubeconfig"])["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:1"
    spoke = provider_of(found, "shop-data-plane-cluster")
    assert json.loads(spoke.inputs["kubeconfig"])["current-context"] == "user"
    assert {one.name: one.provider for one in found if one.type.endswith("ConfigMap")} == {
        "hubs": "shop-control-plane-cluster",
        "spokes": "shop-data-plane-cluster",
    }


def test_facts_of_an_output_are_public() -> None:
    seen: list[Any] = []

    async def program() -> None:
        cluster = ControlPlaneCluster(kubeconfig=pulumi.Output.secret(text()))
        for fact in (cluster.server, cluster.certificate_authority):
            assert isinstance(fact, pulumi.Output)
            seen.append((await fact.is_secret(), await fact.future()))

    run(program)
    assert seen == [(False, "https://127.0.0.1:1"), (False, "-----BEGIN CERTIFICATE-----\nprovider\n")]


def test_unknown_at_preview() -> None:
    def program() -> None:
        provider, user = ControlPlaneCluster(kubeconfig=text()), DataPlaneCluster("shop", kubeconfig=made())
        provider.distinct_from(user)
        config_map(provider, "hubs")
        config_map(user, "spokes")

    found = run(program, outputs={"made": {"kubeconfig": UNKNOWN}}, preview=True)
    user = provider_of(found, "shop-data-plane-cluster")
    assert user.inputs["kubeconfig"] == UNKNOWN
    # What belongs to the cluster that is known is previewed in full.
    assert UNKNOWN not in provider_of(found, "control-plane-cluster").inputs["kubeconfig"]
    # Without it everything would be replaced whenever the kubeconfig is not known.
    assert user.inputs["clusterIdentifier"] == "data-plane-shop"


def test_what_is_not_checked_yet_holds_back_a_cluster_from_an_output() -> None:
    def program() -> None:
        provider = ControlPlaneCluster("shop", kubeconfig=made("hub"))
        provider.distinct_from(DataPlaneCluster("shop", kubeconfig=made("spoke")))
        config_map(provider)

    answers = {"hub": {"kubeconfig": text()}, "spoke": {"kubeconfig": UNKNOWN}}
    found = run(program, outputs=answers, preview=True)
    assert provider_of(found, "shop-control-plane-cluster").inputs["kubeconfig"] == UNKNOWN


def test_what_is_not_checked_yet_holds_back_a_cluster_whose_server_must_match() -> None:
    found = run(
        lambda: config_map(ControlPlaneCluster(kubeconfig=text(), server=made())),
        outputs={"made": {"kubeconfig": UNKNOWN}},
        preview=True,
    )
    assert provider_of(found, "control-plane-cluster").inputs["kubeconfig"] == UNKNOWN


def test_an_identity_of_its_own_comes_first() -> None:
    def program() -> None:
        config_map(ControlPlaneCluster("shop", kubeconfig=made(), identity="prod-1"))
        config_map(DataPlaneCluster("shop", kubeconfig=text(), identity="prod-2"), "second")

    found = run(program, outputs={"made": {"kubeconfig": text()}})
    first = provider_of(found, "shop-control-plane-cluster")
    assert first.inputs["clusterIdentifier"] == "control-plane-prod-1"
    # Also where whoever made the Output did not mark it.
    assert first.secrets == {"kubeconfig"}
    assert provider_of(found, "shop-data-plane-cluster").inputs["clusterIdentifier"] == "data-plane-prod-2"


def test_an_existing_provider() -> None:
    def program() -> None:
        existing = kubernetes.Provider("theirs", kubeconfig=text())
        cluster = ControlPlaneCluster(provider=existing, server="https://127.0.0.1:1")
        assert (cluster.server, cluster.certificate_authority) == ("https://127.0.0.1:1", None)
        assert not cluster.known
        cluster.distinct_from(DataPlaneCluster(kubeconfig=text("user")))
        with pytest.raises(InvalidInputError, match="same API server"):
            cluster.distinct_from(DataPlaneCluster(kubeconfig=text("provider")))
        config_map(cluster)
        config_map(cluster, "adopted", adopt=True)

    found = run(program)
    assert {one.provider for one in found if one.type.endswith("ConfigMap")} == {"theirs"}
    assert len([one for one in found if one.type == "pulumi:providers:kubernetes"]) == 1


def test_an_existing_provider_of_a_server_that_is_known_later() -> None:
    def program(stated: str) -> Callable[[], None]:
        def inner() -> None:
            existing = kubernetes.Provider("theirs", kubeconfig=text())
            server = pulumi.Output.from_input(stated)
            user = DataPlaneCluster(kubeconfig=text("user"))
            ControlPlaneCluster(provider=existing, server=server).distinct_from(user)
            config_map(user)

        return inner

    assert "it" in names(run(program("https://127.0.0.1:1")))
    with pytest.raises(InvalidInputError, match="same API server"):
        run(program("https://127.0.0.1:2"))


def test_client_settings() -> None:
    def program() -> None:
        # As the component host hands them over: whole numbers, but not ints.
        settings: Any = {"qps": 99.5, "burst": 200.0, "timeout_seconds": 60.0}
        config_map(ControlPlaneCluster(kubeconfig=text(), client=settings))

    given = provider_of(run(program), "control-plane-cluster").inputs["kubeClientSettings"]
    assert json.loads(given) == {"qps": 99.5, "burst": 200, "timeout": 60}
    assert '"burst": 200,' in given


def test_adopting_has_a_provider_of_its_own() -> None:
    def program() -> None:
        cluster = DataPlaneCluster("shop", kubeconfig=text())
        config_map(cluster, adopt=True)
        config_map(cluster, "second", adopt=True)

    found = run(program)
    assert provider_of(found, "shop-data-plane-cluster-adopting").inputs["upsertExistingObjects"] == "true"
    assert len([one for one in found if one.type == "pulumi:providers:kubernetes"]) == 1


@pytest.mark.parametrize(("asked", "in_host", "adopts"), [("1", False, "true"), ("1", True, None), ("", False, None)])
def test_objects_of_a_killed_run_are_adopted_where_a_hook_can_check_them(
    monkeypatch: pytest.MonkeyPatch, asked: str, adopts: str | None, *, in_host: bool
) -> None:
    """A component host calls no hooks, so there an existing object stays an error, as in a run without the variable."""
    monkeypatch.setenv("HOSTED_MESH_ADOPT", asked)

    def program() -> None:
        if in_host:
            monkeypatch.setattr(adoption.settings, "get_root_resource", lambda: None)
        config_map(DataPlaneCluster("shop", kubeconfig=text()))

    assert provider_of(run(program), "shop-data-plane-cluster").inputs.get("upsertExistingObjects") == adopts


def test_a_clusters_objects_have_the_check_beside_other_hooks() -> None:
    def hook(name: str) -> Any:
        return SimpleNamespace(name=name)

    cluster = DataPlaneCluster(kubeconfig=text())
    more = pulumi.ResourceHookBinding(before_delete=[hook("in-use")])
    assert cluster.creation_hooks(more) is more
    cluster._adoption = adoption.AdoptionCheck("the cluster", cluster.known_kubeconfig, hook("adopt"))
    both = cluster.creation_hooks(more)
    assert both is not None
    found = [[one.name for one in hooks or []] for hooks in (both.before_create, both.before_delete)]
    assert found == [["adopt"], ["in-use"]]


def test_the_provider_has_the_given_parent() -> None:
    def program() -> None:
        box = pulumi.ComponentResource("test:index:Box", "mesh")
        config_map(DataPlaneCluster.of({"kubeconfig": text()}, name="shop", parent=box))

    assert provider_of(run(program), "shop-data-plane-cluster").parent == "mesh"


LATER: dict[str, tuple[dict[str, Any], Any, str]] = {
    "no kubeconfig": ({}, "no kubeconfig " + TOKEN, "has no list of clusters"),
    "no YAML": ({}, "{" + TOKEN, "is not YAML"),
    "a path": ({}, "~/.kube/config", "or its path in kubeconfig_file"),
    "another server": ({"server": "https://127.0.0.1:9"}, text(), "has another API server"),
    "no such context": ({"context": "third"}, text(), "no context 'third'"),
    "files": (
        {},
        text(clusters=[{"name": "p", "cluster": {"server": "https://h", "certificate-authority": "ca.pem"}}]),
        "relative path",
    ),
}


@pytest.mark.parametrize("preview", [False, True])
@pytest.mark.parametrize("name", LATER)
def test_what_is_known_later_is_refused_before_the_first_object(name: str, preview: bool) -> None:
    arguments, answer, words = LATER[name]
    found: list[Registered] = []

    def program() -> None:
        config_map(ControlPlaneCluster("shop", kubeconfig=made(), **arguments))

    with pytest.raises(InvalidInputError, match=words) as refused:
        run(program, outputs={"made": {"kubeconfig": answer}}, preview=preview, into=found)
    assert isinstance(refused.value, pulumi.RunError)
    assert str(refused.value).startswith("ControlPlaneCluster shop cannot be used, ")
    assert TOKEN not in str(refused.value)
    assert "it" not in names(found)


def test_an_output_that_is_not_there() -> None:
    with pytest.raises(InvalidInputError, match="has no list of clusters"):
        run(lambda: config_map(ControlPlaneCluster(kubeconfig=made())))


def test_a_server_that_is_known_later_must_match_too() -> None:
    def program(server: str) -> Callable[[], None]:
        return lambda: config_map(ControlPlaneCluster(kubeconfig=text(), server=pulumi.Output.from_input(server)))

    run(program("https://127.0.0.1:1/"))
    with pytest.raises(InvalidInputError, match="another API server"):
        run(program("https://127.0.0.1:2"))


BOTH = {"hubs", "spokes"}
TWICE: dict[str, tuple[bool, bool, set[str]]] = {
    "both from Outputs": (False, False, BOTH),
    # What goes to the cluster that is known does no harm there.
    "the user's from an Output": (True, False, {"spokes"}),
    "the provider's from an Output": (False, True, {"hubs"}),
    "both known": (True, True, BOTH),
}


@pytest.mark.parametrize("name", TWICE)
def test_one_cluster_given_twice(name: str) -> None:
    hub_known, spoke_known, kept_back = TWICE[name]
    found: list[Registered] = []

    def program() -> None:
        provider = ControlPlaneCluster("shop", kubeconfig=text() if hub_known else made("hub"))
        user = DataPlaneCluster("shop", kubeconfig=text() if spoke_known else made("spoke"))
        user.distinct_from(provider)
        config_map(provider, "hubs")
        config_map(user, "spokes")

    answers = {"hub": {"kubeconfig": text()}, "spoke": {"kubeconfig": text()}}
    with pytest.raises(InvalidInputError, match="same API server as ControlPlaneCluster shop"):
        run(program, outputs=answers, into=found)
    assert not kept_back & set(names(found))


def test_clusters_that_are_in_use_already_are_refused_at_the_end() -> None:
    def program() -> None:
        clusters = ControlPlaneCluster(kubeconfig=made("hub")), DataPlaneCluster(kubeconfig=made("spoke"))
        for cluster, name in zip(clusters, ("hubs", "spokes"), strict=True):
            config_map(cluster, name)
        clusters[0].distinct_from(clusters[1])

    answers = {"hub": {"kubeconfig": text()}, "spoke": {"kubeconfig": text()}}
    with pytest.raises(InvalidInputError, match="same API server"):
        run(program, outputs=answers)


def test_one_cluster_under_two_addresses_by_the_authority() -> None:
    same = content()
    same["clusters"][1]["cluster"] |= {
        "certificate-authority-data": same["clusters"][0]["cluster"]["certificate-authority-data"]
    }

    def program() -> None:
        user = DataPlaneCluster("shop", kubeconfig=made(), context="user")
        user.distinct_from(ControlPlaneCluster("shop", kubeconfig=yaml.safe_dump(same)))
        config_map(user)

    with pytest.raises(InvalidInputError, match="same certificate authority"):
        run(program, outputs={"made": {"kubeconfig": same}})


def test_a_kubeconfig_may_be_a_mapping_with_outputs_in_it() -> None:
    """As programs write it of a new cluster's address and authority."""

    def program() -> None:
        parsed = yaml.safe_load(text("user"))
        parsed["clusters"][1]["cluster"]["server"] = made()
        cluster = DataPlaneCluster("shop", kubeconfig=parsed)
        assert not cluster.known
        config_map(cluster)

    answers = {"made": {"kubeconfig": "https://127.0.0.1:2"}}
    provider = provider_of(run(program, outputs=answers), "shop-data-plane-cluster")
    assert "kubeconfig" in provider.secrets
    expected = DataPlaneCluster(kubeconfig=text("user")).config
    assert expected
    assert json.loads(provider.inputs["kubeconfig"]) == json.loads(expected.text)


def test_a_component_takes_a_wrapper_or_a_mapping() -> None:
    wrapper = ControlPlaneCluster(kubeconfig=text())
    assert ControlPlaneCluster.of(wrapper, name="shop") is wrapper
    # A program may have many meshes, and a mesh many clusters.
    with pytest.raises(InvalidInputError, match=r"^DataPlaneCluster of shop-eu cannot be used, cluster: .* swapped"):
        DataPlaneCluster.of(wrapper, name="shop-eu")
    with pytest.raises(InvalidInputError, match=r"must be a DataPlaneCluster, but is a str\. Give DataPlaneCluster\("):
        DataPlaneCluster.of("~/.kube/config", name="shop")
    made_one = DataPlaneCluster.of({"kubeconfig": text(), "context": "user", "identity": None}, name="shop")
    assert (made_one.name, made_one.server) == ("shop", "https://127.0.0.1:2")
    with pytest.raises(InvalidInputError, match="DataPlaneCluster of shop cannot be used, kubeConfig: is no argument"):
        DataPlaneCluster.of({"kubeConfig": text()}, name="shop")


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "nothing": ({}, "kubeconfig", "is required"),
    "two ways": ({"kubeconfig": "a", "kubeconfig_file": "b"}, "kubeconfig", "exclude each other"),
    "no https": ({"kubeconfig": "a", "server": "http://a"}, "server", "must be https"),
    "bad identity": ({"kubeconfig": "a", "identity": "Prod 1"}, "identity", "a-z"),
    "a number": ({"kubeconfig": "a", "context": 7}, "context", "must be text"),
    "empty path": ({"kubeconfig_file": " "}, "kubeconfig_file", "must be text"),
    "missing file": ({"kubeconfig_file": "/nowhere/config"}, "kubeconfig_file", "No such file"),
    "no provider": ({"provider": "kubernetes", "server": "https://a"}, "provider", "must be a pulumi_kubernetes"),
    "unknown setting": ({"kubeconfig": "a", "client": {"speed": 1}}, "client.speed", "is not a setting"),
    "zero": ({"kubeconfig": "a", "client": {"qps": 0}}, "client.qps", "above 0"),
    "half": ({"kubeconfig": "a", "client": {"burst": 0.5}}, "client.burst", "whole number"),
    "no number": ({"kubeconfig": "a", "client": {"burst": math.nan}}, "client.burst", "whole number"),
    "no number either": ({"kubeconfig": "a", "client": {"qps": math.nan}}, "client.qps", "above 0"),
    "endless": ({"kubeconfig": "a", "client": {"timeout_seconds": math.inf}}, "client.timeout_seconds", "whole"),
    "auth-provider": (
        {"kubeconfig": text(users=[{"name": "admin", "user": {"auth-provider": {"name": "gcp"}}}])},
        "kubeconfig",
        "auth-provider",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_arguments_that_do_not_fit(name: str) -> None:
    arguments, field, words = REFUSED[name]
    with pytest.raises(InvalidInputError) as refused:
        ControlPlaneCluster("shop", **arguments)
    (problem,) = refused.value.problems
    assert problem.field == field
    assert words in problem.rule


def test_what_may_be_an_output_is_said() -> None:
    async def program() -> None:
        ControlPlaneCluster("shop", kubeconfig=text(), context=pulumi.Output.from_input("user"))

    with pytest.raises(InvalidInputError, match=r"context: .* Only kubeconfig and server may be Outputs\."):
        run(program)


def test_beside_an_existing_provider() -> None:
    def program() -> None:
        existing = kubernetes.Provider("theirs", kubeconfig=text())
        with pytest.raises(InvalidInputError, match="server: is required with provider"):
            DataPlaneCluster(provider=existing)
        with pytest.raises(InvalidInputError, match="context: has no effect"):
            DataPlaneCluster(provider=existing, server="https://a", context="user")

    run(program)


def test_exec_credentials_stay_as_they_are() -> None:
    command = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "aws", "args": ["eks", "get-token"]}
    users = [{"name": "admin", "user": {"exec": command}}]

    def program() -> None:
        config_map(ControlPlaneCluster(kubeconfig=text(users=users)))

    given = provider_of(run(program), "control-plane-cluster").inputs["kubeconfig"]
    assert json.loads(given)["users"][0]["user"] == {"exec": command}


@pytest.mark.parametrize("role", [ControlPlaneCluster, DataPlaneCluster])
def test_the_component_host_makes_a_typed_schema_of_it(role: type[Cluster]) -> None:
    analyzer = Analyzer("hosted-mesh")
    properties, mapping = analyzer.analyze_type(role, is_component_output=False)
    assert set(properties) == {"kubeconfig", "kubeconfigFile", "context", "server", "identity", "client"}
    assert mapping["kubeconfigFile"] == "kubeconfig_file"
    assert all(one.optional for one in properties.values())
    # Only what may come from another resource may be an Output.
    assert {name for name, one in properties.items() if not one.plain} == {"kubeconfig", "server"}
    settings = analyzer.type_definitions["ClientSettings"].properties
    assert set(settings) == {"qps", "burst", "timeoutSeconds"}
    assert all(one.optional for one in settings.values())
