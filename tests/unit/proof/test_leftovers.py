"""A Pod is the user's by who made it, and by nothing that it says of itself."""

from __future__ import annotations

import pytest
import yaml
from lightkube.models.apps_v1 import Deployment, ReplicaSet
from lightkube.models.core_v1 import Pod

from sandbox.engine import deployment
from sandbox.proof.leftovers import SAMPLES, described, not_owned

MESH = "mesh-demo"
GATEWAYS = frozenset({(MESH, "ingress")})


def owned_by(uid):
    return [{"apiVersion": "apps/v1", "kind": "any", "name": "any", "uid": uid, "controller": True}] if uid else []


def pod(name, namespace, *images, owner=None, labels=None):
    containers = [{"name": str(number), "image": image} for number, image in enumerate(images)]
    metadata = {"name": name, "namespace": namespace, "labels": labels or {}, "ownerReferences": owned_by(owner)}
    return Pod.from_dict({"metadata": metadata, "spec": {"containers": containers}})


def made(model, name, namespace, uid, owner=None):
    metadata = {"name": name, "namespace": namespace, "uid": uid, "ownerReferences": owned_by(owner)}
    return model.from_dict({"metadata": metadata, "spec": {"selector": {}, "template": {}}})


DEPLOYMENTS = [
    made(Deployment, "frontend", "bookshop", "frontend"),
    made(Deployment, "ingress", MESH, "ingress"),
    made(Deployment, "frontend", "default", "namesake"),
    made(Deployment, "agent", "bookshop", "agent"),
]
SETS = [
    made(ReplicaSet, f"{one.metadata.uid}-1", one.metadata.namespace, f"{one.metadata.uid}-set", one.metadata.uid)
    for one in DEPLOYMENTS
]
SAMPLE = pod("frontend-1-a", "bookshop", "hosted-mesh/sample:1", "istio/proxyv2:1.31", owner="frontend-set")
GATEWAY = pod("ingress-1-a", MESH, "auto", owner="ingress-set")

STRAY = {
    "another product's": pod("kiali", "default", "kiali"),
    "an agent": pod("agent", "kube-system", "provider/agent"),
    "labelled as the library's": pod("x", "default", "x", labels={"hosted-mesh.io/managed-by": "hosted-mesh"}),
    "istiod by digest": pod("istiod", "default", "istio/pilot@sha256:" + "0" * 64),
    "another's image of the proxy's name": pod("proxy", MESH, "evil/proxyv2"),
    "among the samples, of no owner": pod("frontend-1-b", "bookshop", "hosted-mesh/sample:1"),
    "among the samples, another Deployment's": pod("agent-1-a", "bookshop", "hosted-mesh/sample:1", owner="agent-set"),
    "of a Deployment with a sample's name": pod(
        "frontend-1-c", "default", "hosted-mesh/sample:1", owner="namesake-set"
    ),
    "of a node": pod("kube-proxy-user", "kube-system", "pause", owner="a node's uid"),
}


def stray_among(pods, allowed=SAMPLES | GATEWAYS):
    return not_owned(pods, SETS, DEPLOYMENTS, allowed)


@pytest.mark.parametrize("case", STRAY)
def test_whatever_else_runs_there_is_seen(case):
    assert stray_among([SAMPLE, STRAY[case], GATEWAY]) == [STRAY[case]]


def test_samples_and_gateways_of_the_document_may_run():
    assert stray_among([SAMPLE, GATEWAY]) == []
    assert stray_among([SAMPLE, GATEWAY], allowed=SAMPLES) == [GATEWAY]


def test_the_pod_is_named_with_its_images():
    assert described(STRAY["another's image of the proxy's name"]) == f"Pod {MESH}/proxy (evil/proxyv2)"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ({}, []),
        ({"gateways": [{"name": "ingress"}]}, [(MESH, "ingress")]),
        ({"gateways": [{"name": "ingress", "namespace": "edge"}]}, [("edge", "ingress")]),
    ],
)
def test_gateways_are_those_of_the_deployed_document(tmp_path, written, read):
    document = {"config": {"hosted-mesh:mesh": {"memberships": [written]}}}
    deployment.config_file(tmp_path).write_text(yaml.safe_dump(document))
    assert deployment.gateways(tmp_path, MESH) == read
