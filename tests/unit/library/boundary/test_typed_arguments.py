"""A component's own arguments: a misspelt name, a wrong type or an Output is one message, and no trace."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pulumi
import pulumi_hosted_mesh as hosted_mesh
import pulumi_kubernetes as kubernetes
import pytest
from pulumi_hosted_mesh.boundary.typed_arguments import typed_arguments
from pulumi_hosted_mesh.problems import InvalidInputError

from tests.unit.library.boundary.endpoint_outputs import GOOD, later
from tests.unit.library.documents import CERTIFICATE
from tests.unit.library.program import run

COMPONENTS = (
    *("DataPlaneAccess", "DataPlaneCrds", "DnsEdge", "ExternalControlPlane", "ExternalDNSBridge", "HostedMesh"),
    *("MeshDeployment", "MeshFederation", "MeshObservability", "MeshRoot", "MeshTrust", "RemoteDataPlane"),
)


def control_plane() -> hosted_mesh.ControlPlaneCluster:
    return hosted_mesh.ControlPlaneCluster(kubeconfig=GOOD, identity="control-plane")


def data_plane() -> hosted_mesh.DataPlaneCluster:
    return hosted_mesh.DataPlaneCluster(kubeconfig=GOOD.replace("api.", "other."), identity="data-plane")


def problems(component: str, args: Callable[[], Any]) -> list[str]:
    """What is said of each argument."""
    with pytest.raises(InvalidInputError) as refused:
        run(lambda: getattr(hosted_mesh, component)("it", args()), preview=True)
    assert refused.value.source.startswith(f"{component} it")
    return [str(one) for one in refused.value.problems]


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_component_refuses_what_it_does_not_know(component: str) -> None:
    kind = getattr(hosted_mesh, f"{component}Args")
    for name in kind.__annotations__:
        misspelt = f"{name}z"
        assert f"{misspelt}: is not an argument. Did you mean {name}?" in problems(component, lambda: {misspelt: 5})  # noqa: B023
    assert problems(component, lambda: "text")[0].startswith("args: must be a mapping")
    required = {f"{name}: is required. Add it." for name in kind.__required_keys__}
    assert required <= set(problems(component, lambda: {"zzz": 5}))


def mesh(**fields: Any) -> dict[str, Any]:
    return {
        "name": "it",
        "control_plane": {"cluster": control_plane()},
        "revisions": [{"host": "istiod.it.example.com", "exposure": {"source_ranges": ["203.0.113.0/24"]}}],
        "memberships": [{"cluster": data_plane()}],
        **fields,
    }


def constrained(form: Callable[[Any], Any]) -> Any:
    """A root whose mesh may sign for no trust domain, plain or as an Output."""
    request = "-----BEGIN CERTIFICATE REQUEST-----\nof it"
    names = {"shop": form({"uri_domains": [], "dns_domains": ["a.example.com"]})}
    return {"requests": {"shop": request}, "name_constraints": names}


@pytest.mark.parametrize(
    ("component", "args", "said"),
    [
        ("MeshTrust", lambda: {"trust": "own"}, "trust: must be a mapping"),
        ("MeshRoot", lambda: {"requests": "x"}, "requests: must be a mapping"),
        ("MeshRoot", lambda: {"requests": {"shop": 5}}, "requests.shop: must be text"),
        ("MeshRoot", lambda: {"requests": later({})}, "requests: is an Output"),
        (
            "MeshRoot",
            lambda: {"requests": {"shop": CERTIFICATE}},
            "requests.shop: must be a PEM certificate",
        ),
        ("MeshRoot", lambda: {"requests": {"shop": later("")}}, "requests.shop: must be text, and not empty"),
        (
            "MeshRoot",
            lambda: {"name_constraints": {"shop": {"uri_domains": ["a.b"], "dns_domains": ["a.b"]}}},
            "name_constraints.shop: is of no mesh in requests",
        ),
        *(
            ("MeshRoot", lambda form=form: constrained(form), "name_constraints.shop.uri_domains: is an empty list")
            for form in (dict, later)
        ),
        ("DnsEdge", lambda: edge(token_generation=math.nan), "token_generation: must be a whole number"),
        ("DnsEdge", lambda: edge(token_generation=math.inf), "token_generation: must be a whole number"),
        ("DataPlaneAccess", lambda: {"mesh": 5, "cluster": data_plane()}, "mesh: must be text"),
        ("DataPlaneAccess", lambda: {"mesh": later("it"), "cluster": data_plane()}, "mesh: is an Output"),
        ("DataPlaneAccess", lambda: {"mesh": "Shop_1", "cluster": data_plane()}, "mesh: must be a Kubernetes name"),
        (
            "DataPlaneAccess",
            lambda: {"mesh": "it", "cluster": data_plane(), "cluster_id": "a b"},
            "cluster_id: must fit into a Kubernetes label",
        ),
        (
            "DataPlaneAccess",
            lambda: {"mesh": "it", "cluster": data_plane(), "network": "a b"},
            "network: must fit into a Kubernetes label",
        ),
        ("DataPlaneCrds", lambda: {"cluster": data_plane(), "keep_on_destroy": "no"}, "keep_on_destroy: must be true"),
        ("RemoteDataPlane", lambda: {"cluster": data_plane(), "endpoint": "it"}, "endpoint: must be a mapping"),
        (
            "RemoteDataPlane",
            lambda: {"cluster": data_plane(), "endpoint": {}, "gateways": {}},
            "gateways: must be a list",
        ),
        ("HostedMesh", lambda: mesh(memberships=[5]), "memberships[0]: must be a mapping"),
        ("HostedMesh", lambda: mesh(memberships="it"), "memberships: must be a list"),
        ("HostedMesh", lambda: mesh(root_certificate=5), "root_certificate: must be text"),
        ("HostedMesh", lambda: mesh(cacerts={"ca-cert.pem": 5}), "cacerts.ca-cert.pem: must be text"),
        ("MeshDeployment", lambda: {"clusters": {}}, "clusters: must be a list"),
        ("DnsEdge", lambda: edge(admission_zones="example.com"), "admission_zones: must be a list"),
        ("DnsEdge", lambda: edge(admission_zones=['a" || true || "']), "admission_zones[0]: must be a DNS domain"),
        ("DnsEdge", lambda: edge(token_generation="2"), "token_generation: must be a whole number"),
        ("DnsEdge", lambda: edge(token_generation=0), "token_generation: must be at least 1"),
    ],
)
def test_what_is_of_another_type_is_named(component: str, args: Callable[[], Any], said: str) -> None:
    assert [one for one in problems(component, args) if one.startswith(said)]


def edge(**fields: Any) -> dict[str, Any]:
    return {"edge": {"name": "it"}, "cluster": data_plane(), **fields}


def test_an_access_of_another_type_is_named_by_its_place() -> None:
    def program() -> None:
        hosted_mesh.HostedMesh("it", mesh(memberships=[{"cluster": data_plane(), "access": "all"}]))

    with pytest.raises(InvalidInputError, match=r"memberships\[0\]\.access: must be a mapping"):
        run(program, preview=True)


def test_what_may_be_an_output_may_have_one_in_it_and_what_is_none_is_left_out() -> None:
    def program() -> None:
        args = {"cacerts": {"ca-cert.pem": later("x")}, "root_certificate": None, **mesh()}
        assert "root_certificate" not in typed_arguments(hosted_mesh.HostedMeshArgs, args, "it")
        # As a component host hands a whole number over.
        assert typed_arguments(hosted_mesh.DnsEdgeArgs, edge(token_generation=2.0), "it")["token_generation"] == 2

    run(program)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"kubeconfig": GOOD, "client": 5}, "client: must be a mapping"),
        ({"kubeconfig": GOOD, "server": 5}, "server: must be https"),
        ({"kubeconfig": GOOD, "name": 5}, "name: must be text"),
    ],
)
def test_a_clusters_arguments_are_of_their_types(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        hosted_mesh.DataPlaneCluster(**given)


def test_a_clusters_misspelt_argument_is_guessed() -> None:
    with pytest.raises(InvalidInputError, match=r"kubeconfg: is no argument of a cluster\. Did you mean kubeconfig\?"):
        hosted_mesh.DataPlaneCluster.of({"kubeconfg": GOOD}, name="it")


def test_the_server_of_a_provider_is_an_address_as_an_output_too() -> None:
    def program() -> None:
        provider = kubernetes.Provider("theirs")
        pulumi.export("server", hosted_mesh.DataPlaneCluster(provider=provider, server=later("s3cr3t")).server)

    with pytest.raises(InvalidInputError, match=r"server: must be https://HOST\[:PORT\]") as refused:
        run(program)
    assert "s3cr3t" not in str(refused.value)


WITH_CLUSTERS = [one for one in COMPONENTS if one not in ("MeshRoot", "MeshTrust")]


@pytest.mark.parametrize("component", WITH_CLUSTERS)
@pytest.mark.parametrize(
    "options",
    [
        lambda one: pulumi.ResourceOptions(provider=one),
        lambda one: pulumi.ResourceOptions(providers=[one]),
        lambda one: pulumi.ResourceOptions(providers={"kubernetes": one}),
    ],
)
def test_a_provider_that_would_have_no_effect_is_refused(
    component: str, options: Callable[[Any], pulumi.ResourceOptions], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the arguments are, which other tests give."""
    made = getattr(hosted_mesh, component)
    monkeypatch.setitem(made.__init__.__globals__, "typed_arguments", lambda kind, args, called: args)
    with pytest.raises(InvalidInputError, match=r"opts\.providers: holds a Kubernetes provider") as refused:
        run(lambda: made("it", {}, options(kubernetes.Provider("theirs"))))
    assert refused.value.source == f"{component} it"


def test_a_provider_of_the_parents_is_for_its_other_children() -> None:
    def program() -> None:
        theirs = kubernetes.Provider("theirs")
        box = pulumi.ComponentResource("test:index:Box", "box", {}, pulumi.ResourceOptions(providers=[theirs]))
        kubernetes.core.v1.ConfigMap("other", opts=pulumi.ResourceOptions(parent=box))
        arguments: Any = {"mesh": "it", "cluster": data_plane(), "access": {"token": "bounded"}}
        hosted_mesh.DataPlaneAccess("it", arguments, pulumi.ResourceOptions(parent=box))

    found = {one.name: one.provider for one in run(program) if one.type.startswith("kubernetes:core")}
    assert found == {
        "other": "theirs",
        "it-data-plane": "data-plane-cluster",
        "it-istiod-account": "data-plane-cluster",
    }
