"""istiod's HorizontalPodAutoscaler on a real API server: Kubernetes' own controller scales, and `pulumi up` lets it.

Without metrics that controller still keeps a Deployment within its bounds. There are no nodes, so no Pod runs.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.engine.library.engine import Api, Project
from tests.support.waiting import eventually

SPACE, LEAST, MOST = "mesh-demo", 2, 4


def replicas(provider: Api) -> int:
    return int(provider.get("deployment", "istiod", "-n", SPACE)["spec"]["replicas"])


def scale(provider: Api, number: int) -> None:
    done = provider.kubectl("scale", "deployment", "istiod", "-n", SPACE, f"--replicas={number}")
    assert done.code == 0, done.text


@pytest.mark.nightly
@pytest.mark.usefixtures("clean")
def test_an_autoscalers_number_of_pods_stays(project: Project, mesh: dict[str, Any], provider: Api) -> None:
    document = copy.deepcopy(mesh)
    document["revisions"][0]["istiod"] |= {"replicas": LEAST, "autoscaling": {"maxReplicas": MOST}}
    stack = project.stack("scaled", {"stack": "all-in-one", "mesh": document})
    stack.up()
    scaler = provider.get("horizontalpodautoscaler", "istiod", "-n", SPACE)["spec"]
    assert (scaler["minReplicas"], scaler["maxReplicas"]) == (LEAST, MOST)
    assert scaler["scaleTargetRef"]["name"] == "istiod"
    # Two revisions in a rollout, each with its most Pods, fit the quota.
    assert int(provider.get("resourcequota", "mesh", "-n", SPACE)["spec"]["hard"]["pods"]) >= MOST + 1
    (budget,) = provider.get("poddisruptionbudgets", "-n", SPACE)["items"]
    assert (budget["metadata"]["name"], budget["spec"]["minAvailable"]) == ("istiod", 1)

    scale(provider, MOST + 2)
    eventually(lambda: replicas(provider) == MOST, "the controller takes two away")
    for options in ([], ["--refresh"]):
        stack.succeed("up", "--yes", "--skip-preview", *options)
        assert replicas(provider) == MOST, options

    # Without one the number is the document's.
    document["revisions"][0]["istiod"].pop("autoscaling")
    stack = project.stack("scaled", {"stack": "all-in-one", "mesh": document})
    stack.up()
    assert replicas(provider) == LEAST
    scale(provider, 1)
    stack.succeed("up", "--yes", "--skip-preview", "--refresh")
    assert replicas(provider) == LEAST
    stack.destroy()
