"""The numbers that docs/operations.md says to alarm on are istiod's, and tell what its readiness does not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from lightkube.models.core_v1 import Container, PodSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import Pod
from lightkube.resources.rbac_authorization_v1 import ClusterRoleBinding

from sandbox.clusters import Sandbox
from sandbox.proof import workloads
from sandbox.proof.deployed import Deployed, NotObserved, eventually
from sandbox.toolchain import Tools
from tests.support.changing import created, deleted
from tests.support.kubectl import Kubectl

PAGE = Path(__file__).parents[3] / "docs" / "operations.md"
# Counters are there from their first event on.
FROM_THE_START = {
    "citadel_server_cert_chain_expiry_timestamp",
    "citadel_server_root_cert_expiry_timestamp",
    "pilot_xds",
}
REFUSED = "citadel_server_authentication_failure_count"


@pytest.fixture(scope="module")
def deployed(live_sandbox: Sandbox, tools: Tools) -> Deployed:
    found = Deployed.of(live_sandbox, tools)
    workloads.deploy(found)
    return found


def asked(deployed: Deployed, page: str) -> str:
    """A page of istiod's, as the document has it asked."""
    kubectl = Kubectl.of(deployed.sandbox.control_plane, deployed.tools)
    namespace = f"--namespace={deployed.mesh.namespace}"
    return kubectl("exec", namespace, "deploy/istiod", "--", "pilot-discovery", "request", "GET", page)


def total(deployed: Deployed, name: str) -> float:
    """The sum of a number over its labels; 0 before its first event."""
    found = re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$", asked(deployed, "/metrics"), re.MULTILINE)
    return sum(map(float, found))


def test_the_page_names_numbers_that_istiod_has(deployed: Deployed) -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## Alarms")[2].partition("\n## ")[0]
    named = set(re.findall(r"^\| `(\w+)`", section, re.MULTILINE))
    assert named >= {REFUSED, *FROM_THE_START}
    there = set(re.findall(r"^# TYPE (\w+) ", asked(deployed, "/metrics"), re.MULTILINE))
    assert there >= FROM_THE_START


def test_istiods_own_pages_answer_whoever_may_exec_there(deployed: Deployed) -> None:
    def answers() -> None:
        """Proxies of another file's tests leave a moment later, and connect again after another file's istiod."""
        (cluster,) = json.loads(asked(deployed, "/debug/clusterz"))
        proxies = {one["proxy"].rpartition(".")[2] for one in json.loads(asked(deployed, "/debug/syncz"))}
        if (cluster["syncStatus"], proxies) != ("synced", {workloads.NAMESPACE}):
            raise NotObserved(f"{cluster} with proxies in {proxies}")

    eventually(answers, seconds=120)


def test_an_istiod_that_lost_its_rights_stays_ready_and_a_number_tells(deployed: Deployed) -> None:
    own = f"hosted-mesh-istiod-{deployed.mesh.name}"
    rights = [deployed.data_plane.get(ClusterRoleBinding, own)]
    container = Container(name="app", image=workloads.IMAGE)
    pod = Pod(metadata=ObjectMeta(name="late", namespace=workloads.NAMESPACE), spec=PodSpec(containers=[container]))
    before = total(deployed, REFUSED)

    def refused() -> None:
        if total(deployed, REFUSED) <= before:
            raise NotObserved("istiod authenticated all who asked")

    with deleted(deployed.data_plane, rights), created(deployed.data_plane, pod, grace_period=0):
        eventually(refused, seconds=120)
        (istiod,) = deployed.control_plane.list(Deployment, namespace=deployed.mesh.namespace, labels={"app": "istiod"})
        assert istiod.status.readyReplicas == 1
