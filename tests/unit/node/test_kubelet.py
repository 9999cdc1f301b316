"""How kubelet is told of its node. That it takes this is seen live."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sandbox.bootstrap import CHECKOUT
from sandbox.node import kubelet
from sandbox.node.config import NodeConfig

STATE = Path("/seen/here")


@pytest.fixture
def config() -> NodeConfig:
    return NodeConfig.model_validate(
        {
            "node_name": "n1",
            "labels": {"topology.kubernetes.io/zone": "a", "topology.kubernetes.io/region": "b"},
            "kubeconfig": "/c/n1.kubeconfig",
            "policies_kubeconfig": "/c/policies.kubeconfig",
            "state": "/c/n1",
            "bin_dir": "/tools",
            "node_ip": "10.1.0.2",
            "bridge": "br0",
            "gateway": "10.1.0.1",
            "pod_cidr": "10.1.0.0/24",
            "cluster_dns": "10.96.0.10",
            "serving_cert": "/c/n1.crt",
            "serving_key": "/c/n1.key",
            "client_ca": "/c/ca.crt",
        }
    )


def test_only_the_clusters_own_reach_kubelet(config: NodeConfig) -> None:
    found = kubelet.configuration(config, STATE)
    assert found["authentication"] == {
        "anonymous": {"enabled": False},
        "webhook": {"enabled": False},
        "x509": {"clientCAFile": "/c/ca.crt"},
    }
    assert found["authorization"] == {"mode": "Webhook"}
    assert (found["address"], found["port"]) == ("10.1.0.2", 10250)
    assert (found["healthzPort"], found["readOnlyPort"]) == (0, 0)
    assert (found["tlsCertFile"], found["tlsPrivateKeyFile"]) == ("/c/n1.crt", "/c/n1.key")


def test_no_pod_is_evicted_and_no_image_removed_for_what_else_the_machine_holds(config: NodeConfig) -> None:
    found = kubelet.configuration(config, STATE)
    signals = {"memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree"}
    assert found["evictionHard"] == dict.fromkeys(signals, "0%")  # with one left out, kubelet takes none of its own
    assert found["imageGCHighThresholdPercent"] == 100


def test_pods_ask_the_clusters_name_server(config: NodeConfig) -> None:
    found = kubelet.configuration(config, STATE)
    assert (found["clusterDNS"], found["clusterDomain"]) == (["10.96.0.10"], "cluster.local")


def test_all_of_its_files_are_in_the_nodes_directory(config: NodeConfig) -> None:
    command = kubelet.command(config, STATE)
    assert command[0] == "/tools/kubelet"
    assert {"--config=/seen/here/kubelet.json", "--root-dir=/seen/here/kubelet", "--cert-dir=/seen/here/pki"} < set(
        command
    )
    assert "--node-labels=topology.kubernetes.io/zone=a,topology.kubernetes.io/region=b" in command
    assert "--hostname-override=n1" in command
    assert kubelet.configuration(config, STATE)["podLogsDir"] == "/seen/here/logs"


def test_the_runtime_is_told_where_kubelet_and_the_node_listen(config: NodeConfig) -> None:
    found = kubelet.environment(config, STATE, {"PATH": "/bin", "PYTHONPATH": "/elsewhere"})
    endpoint = kubelet.configuration(config, STATE)["containerRuntimeEndpoint"]
    assert endpoint == f"unix://{found['SANDBOX_NODE_CRI']}"
    assert found["SANDBOX_NODE_NETWORK"] == str(kubelet.network_socket(STATE))
    assert (found["SANDBOX_NODE_STATE"], found["SANDBOX_NODE_BIN"]) == ("/seen/here", "/tools")
    assert json.loads(found["SANDBOX_NODE_LAUNCHER"])[1:] == ["-S", "-m", "sandbox.node.runtime.launcher"]
    assert (found["PATH"], found["PYTHONPATH"]) == ("/bin", str(CHECKOUT))
