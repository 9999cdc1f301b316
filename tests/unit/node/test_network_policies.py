"""What a node's enforcer of NetworkPolicies knows of Pods, and when it writes rules. What the rules do to packets:
tests/live/sandbox/network_policies."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import cast

import pytest
from lightkube.models.core_v1 import PodStatus
from lightkube.resources.core_v1 import Namespace, Pod
from lightkube.resources.networking_v1 import NetworkPolicy

from sandbox.node.network_policies.enforcer import Enforcer
from sandbox.node.network_policies.selection import Endpoint, matches


def pod(name: str = "a", uid: str = "1", address: str = "", phase: str = "Running", **spec: object) -> Pod:
    ports = [{"name": "http", "containerPort": 8080}, {"name": "dns", "containerPort": 53, "protocol": "UDP"}]
    made = cast(
        Pod,
        Pod.from_dict(
            {
                "metadata": {"name": name, "namespace": "shop", "uid": uid, "labels": {"app": name}},
                "spec": {"containers": [{"name": "app", "image": "i", "ports": ports}], **spec},
            }
        ),
    )
    made.status = PodStatus(phase=phase, podIP=address or None)
    return made


def deny(app: str) -> NetworkPolicy:
    metadata = {"name": "deny", "namespace": "shop"}
    spec = {"podSelector": {"matchLabels": {"app": app}}}
    return cast(NetworkPolicy, NetworkPolicy.from_dict({"metadata": metadata, "spec": spec}))


def test_an_endpoint_has_its_named_ports_by_protocol():
    found = Endpoint.of(pod(address="10.0.0.2"))
    assert found is not None
    assert found.named_ports == {("TCP", "http"): 8080, ("UDP", "dns"): 53}


@pytest.mark.parametrize(
    "one",
    [pod(), pod(address="10.0.0.2", phase="Succeeded"), pod(address="10.0.0.2", hostNetwork=True)],
    ids=["no address yet", "finished: its address may be another's", "the node's address"],
)
def test_what_has_no_address_of_its_own_is_no_endpoint(one):
    assert Endpoint.of(one) is None


def test_an_operator_that_there_is_not_is_an_error():
    selector = deny("a").spec.podSelector.from_dict({"matchExpressions": [{"key": "app", "operator": "Like"}]})
    with pytest.raises(ValueError, match="Like"):
        matches(selector, {"app": "a"})


class Rules:
    """An enforcer whose copies of the API server's objects a test sets, and what it has given to nft."""

    def __init__(self, directory: Path) -> None:
        self._given, program = directory / "given", directory / "nft"
        program.write_text(f"#!/bin/sh\nexec cat > {self._given}\n")
        program.chmod(0o755)
        self.enforcer = Enforcer("node", None, program)
        self.pods, self.policies = self.enforcer._pods, self.enforcer._policies
        self.enforcer._namespaces._set(("", "shop"), Namespace.from_dict({"metadata": {"name": "shop"}}))

    def synced(self) -> None:
        for mirror in (self.pods, self.policies, self.enforcer._namespaces):
            mirror.synced.set()

    @property
    def given(self) -> str:
        return self._given.read_text() if self._given.exists() else ""


@pytest.fixture
def rules(tmp_path) -> Rules:
    return Rules(tmp_path)


def test_a_pod_is_let_in_only_once_it_and_the_policies_are_known_and_hold(rules):
    async def body() -> None:
        admitted = asyncio.create_task(rules.enforcer.admit("1", "10.0.0.2"))
        await passing()
        rules.policies._set(("shop", "deny"), deny("a"))
        rules.synced()
        await passing()
        rules.pods._set(("shop", "b"), pod("b", "2"))
        await passing()
        assert not admitted.done()
        rules.pods._set(("shop", "a"), pod())
        await admitted
        assert "ip daddr vmap { 10.0.0.2 : jump ingress_10_0_0_2 }" in rules.given

    asyncio.run(body())


async def passing() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_a_pod_that_the_api_server_does_not_show_is_not_waited_for_without_end(rules, monkeypatch):
    monkeypatch.setattr("sandbox.node.network_policies.enforcer._PATIENCE", 0.05)
    rules.synced()
    with pytest.raises(TimeoutError, match="the Pod with uid 1"):
        asyncio.run(rules.enforcer.admit("1", "10.0.0.2"))


def test_a_pod_of_another_node_is_a_peer_and_gets_no_rules_here(rules):
    rules.synced()
    rules.policies._set(("shop", "deny"), deny("b"))
    rules.pods._set(("shop", "a"), pod())
    rules.pods._set(("shop", "b"), pod("b", "2", "10.0.0.3"))
    asyncio.run(rules.enforcer.admit("1", "10.0.0.2"))
    assert "vmap" not in rules.given


def test_a_pod_that_is_gone_has_no_rules(rules):
    async def body() -> None:
        rules.synced()
        rules.policies._set(("shop", "deny"), deny("a"))
        rules.pods._set(("shop", "a"), pod())
        rules.pods._set(("shop", "b"), pod("b", "2"))
        await rules.enforcer.admit("1", "10.0.0.2")
        rules.enforcer.dismiss("10.0.0.2")
        await rules.enforcer.admit("2", "10.0.0.2")
        assert "vmap" not in rules.given

    asyncio.run(body())


def test_the_network_of_a_pods_next_start_has_rules_when_that_of_the_one_before_is_gone(rules):
    async def body() -> None:
        rules.synced()
        rules.policies._set(("shop", "deny"), deny("a"))
        rules.pods._set(("shop", "a"), pod())
        await rules.enforcer.admit("1", "10.0.0.2")
        await rules.enforcer.admit("1", "10.0.0.3")
        rules.enforcer.dismiss("10.0.0.2")
        await rules.enforcer._apply()
        assert "ip daddr vmap { 10.0.0.3 : jump ingress_10_0_0_3 }" in rules.given

    asyncio.run(body())


def test_rules_that_the_kernel_refuses_keep_the_pod_out(rules, tmp_path):
    (tmp_path / "nft").write_text("#!/bin/sh\necho 'no such kernel' >&2\nexit 1\n")
    rules.synced()
    rules.pods._set(("shop", "a"), pod())
    with pytest.raises(OSError, match="no such kernel"):
        asyncio.run(rules.enforcer.admit("1", "10.0.0.2"))
