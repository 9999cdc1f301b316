"""Gateways on the real engine and real API servers: what is made in the user's cluster, after what, and what goes."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.clusters.credentials.certificates import new_authority
from tests.engine.library.engine import Api, Project, Stack, name_of

Config = dict[str, Any]
NAMESPACE = "mesh-demo"
CHART = "kubernetes:helm.sh/v4:Chart"
KINDS = "deployments,services,serviceaccounts,horizontalpodautoscalers,poddisruptionbudgets,roles,rolebindings"
SERVICE = {
    "type": "LoadBalancer",
    "ports": [{"name": "https", "port": 8443, "targetPort": 10443, "protocol": "TCP"}],
    "loadBalancerSourceRanges": ["203.0.113.0/24"],
    "allocateLoadBalancerNodePorts": False,
    "externalTrafficPolicy": "Local",
    "annotations": {"cloud.example.com/internal": "true"},
}
EDGE: Config = {
    "name": "edge",
    "chartValues": {
        "service": {"allocateLoadBalancerNodePorts": False, "externalTrafficPolicy": "Local"},
        "labels": {"team": "shop"},
    },
    "replicas": 2,
    "service": {
        "type": "LoadBalancer",
        "ports": [{"name": "https", "port": 8443, "targetPort": 10443}],
        "sourceRanges": ["203.0.113.0/24"],
        "annotations": {"cloud.example.com/internal": "true"},
    },
}
# Named like the chart beside it, and in a namespace of the user's.
REMOTE: Config = {"name": "remote", "namespace": "default", "service": {"type": "ClusterIP"}}


@pytest.fixture
def namespace(user: Api) -> Iterator[None]:
    """The mesh's namespace without the stack that makes it."""
    assert user.kubectl("create", "namespace", NAMESPACE).code == 0
    yield
    assert user.kubectl("delete", "namespace", NAMESPACE).code == 0


def with_gateways(mesh: Config, *gateways: Config) -> Config:
    result = copy.deepcopy(mesh)
    result["memberships"][0] |= {"network": "east", "gateways": list(gateways)}
    return result


@pytest.mark.usefixtures("clean")
def test_life_of_two_gateways(project: Project, mesh: Config, user: Api) -> None:
    stack = project.stack("gateways", {"stack": "all-in-one", "mesh": with_gateways(mesh, EDGE, REMOTE)})
    assert stack.up().summary().keys() == {"created"}
    _as_the_document_says(user)
    _after_the_control_plane(stack)
    assert stack.up().summary().keys() == {"unchanged"}

    before = gateways(user)
    project.stack("gateways", {"stack": "all-in-one", "mesh": with_gateways(mesh, EDGE)}).up()
    assert before - gateways(user) == {
        "Deployment default/remote",
        "HorizontalPodAutoscaler default/remote",
        "PodDisruptionBudget default/remote",
        "Service default/remote",
        "ServiceAccount default/remote",
    }
    stack.destroy()


@pytest.mark.nightly
@pytest.mark.usefixtures("clean")
def test_a_gateway_survives_a_change_of_the_first_revision(project: Project, mesh: Config, user: Api) -> None:
    """It is the membership's: another revision serves it, in the Pods that it already has or in new ones."""

    def stack(*revisions: Config) -> Stack:
        return project.stack("served", {"stack": "all-in-one", "mesh": {**document, "revisions": list(revisions)}})

    def uids() -> list[str]:
        return [user.get(kind, "edge", "-n", NAMESPACE)["metadata"]["uid"] for kind in ("deployment", "service")]

    document = with_gateways(mesh, {"name": "edge", "service": {"type": "ClusterIP"}})
    (old,) = document["revisions"]
    new = {**old, "name": "1-31", "host": "istiod-1-31.demo.sandbox.test"}
    stack(old).up()
    made = uids()
    stack(new, old).up()
    assert uids() == made
    stack(new).up()
    assert uids() == made
    labels = user.get("deployment", "edge", "-n", NAMESPACE)["spec"]["template"]["metadata"]["labels"]
    assert labels["istio.io/rev"] == "1-31"
    stack(new).destroy()


@pytest.mark.usefixtures("clean", "namespace")
def test_gateways_that_have_to_be_injected_later_are_not_waited_for(project: Project, mesh: Config, user: Api) -> None:
    """No webhook completes the Pod, and no node would run it: an `up` that waits for it ends in ten minutes."""
    cluster, charts = mesh["memberships"][0]["cluster"], mesh["revisions"][0]["charts"]
    document = {
        "mesh": mesh["name"],
        "cluster": cluster,
        "charts": charts,
        "gateways": [{"name": "edge"}],
        "webhooks": {"management": "unmanaged"},
    }
    # As a user runs it, who is given a file of public facts.
    endpoint = {
        "mesh": mesh["name"],
        "host": mesh["revisions"][0]["host"],
        "trustDomain": "demo.mesh.local",
        "clusterId": "demo",
        "network": "demo",
        "istioVersion": "1.31.1",
        "rootCertificate": new_authority("the mesh's root").certificate.decode(),
    }
    config = {"stack": "data-plane", "dataPlane": document, "endpoints": [endpoint]}
    stack = project.stack("unmanaged", config)
    planned = {name_of(step["urn"]): step for step in stack.preview() if "apps/v1" in step["urn"]}
    annotations = planned["demo-gateway-edge:mesh-demo/edge"]["newState"]["inputs"]["metadata"]["annotations"]
    assert annotations == {"pulumi.com/skipAwait": "true"}
    stack.up()
    assert user.get("deployment", "edge", "-n", NAMESPACE)["status"].get("readyReplicas", 0) == 0
    stack.destroy()


def gateways(user: Api) -> set[str]:
    """What the gateway chart made, as `Service mesh-demo/edge`."""
    found = user.get(KINDS, "--all-namespaces", "--selector=helm.sh/chart=gateway-1.0.0")["items"]
    return {f"{one['kind']} {one['metadata']['namespace']}/{one['metadata']['name']}" for one in found}


def _as_the_document_says(user: Api) -> None:
    edge = user.get("deployment", "edge", "-n", NAMESPACE)
    assert edge["spec"]["replicas"] == 2
    pod = edge["spec"]["template"]
    assert [container["image"] for container in pod["spec"]["containers"]] == ["auto"]
    assert pod["metadata"]["annotations"]["inject.istio.io/templates"] == "gateway"
    labels = {"sidecar.istio.io/inject": "true", "topology.istio.io/network": "east", "team": "shop"}
    assert pod["metadata"]["labels"].items() >= labels.items()
    service = user.get("service", "edge", "-n", NAMESPACE)
    assert service["metadata"]["annotations"].items() >= SERVICE["annotations"].items()
    asked = {key: value for key, value in SERVICE.items() if key not in ("ports", "annotations")}
    assert {key: service["spec"].get(key) for key in asked} == asked
    # Without the cluster's own field, a node port, of which none was allocated.
    assert service["spec"]["ports"] == SERVICE["ports"]
    assert user.get("service", "remote", "-n", "default")["spec"]["type"] == "ClusterIP"
    assert user.get("service", "istiod", "-n", NAMESPACE)["spec"]["type"] == "ExternalName"
    owner = {"hosted-mesh.io/mesh": "demo", "hosted-mesh.io/role": "data-plane"}
    for name, namespace in (("edge", NAMESPACE), ("remote", "default")):
        for kind in ("deployment", "service", "serviceaccount"):
            assert user.get(kind, name, "-n", namespace)["metadata"]["labels"].items() >= owner.items()
    # Of two Pods of each one goes at a time while nodes are drained.
    assert user.get("horizontalpodautoscaler", "remote", "-n", "default")["spec"]["minReplicas"] == 2
    for name, namespace in (("edge", NAMESPACE), ("remote", "default")):
        budget = user.get("poddisruptionbudget", name, "-n", namespace)["spec"]
        selected = {"app": name, "istio": name}
        assert (budget["maxUnavailable"], budget["selector"]) == (1, {"matchLabels": selected})
        pods = user.get("deployment", name, "-n", namespace)["spec"]["template"]
        assert selected.items() <= pods["metadata"]["labels"].items()
        (spread,) = pods["spec"]["topologySpreadConstraints"]
        assert spread["labelSelector"]["matchLabels"].items() <= selected.items()
    assert not {one for one in gateways(user) if one.startswith(("Role", "HorizontalPodAutoscaler mesh-demo"))}


def _after_the_control_plane(stack: Stack) -> None:
    """Both wait for istiod, its exposure and the webhooks: a Pod that is made before stays without its proxy."""
    needed = {"demo-istiod", "demo-istiod-exposed-demo", "demo-istio-sidecar-injector-mesh-demo"}
    charts = [one for one in stack.resources() if one["type"] == CHART and "::demo-gateway-" in one["urn"]]
    assert len(charts) == 2
    for chart in charts:
        assert {name_of(urn) for urn in chart["dependencies"]} >= needed
