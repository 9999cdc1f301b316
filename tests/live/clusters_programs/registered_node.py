"""Stands where the node agent goes in tests of the clusters alone: registers its node as Ready, runs no Pods."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from lightkube import ApiError, Client, KubeConfig
from lightkube.models.core_v1 import NodeSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import Node, NodeStatus

if __name__ == "__main__":
    config = json.loads(Path(sys.argv[1]).read_text())
    api = Client(config=KubeConfig.from_file(config["kubeconfig"]), trust_env=False)
    name = config["node_name"]
    try:
        api.create(Node(metadata=ObjectMeta(name=name, labels={"kubernetes.io/hostname": name}), spec=NodeSpec()))
    except ApiError as error:
        if error.status.code != 409:
            raise
    addresses = [{"type": "InternalIP", "address": config["node_ip"]}]
    while True:  # the controller manager takes a node that is silent for 50 s for lost
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        ready = {"type": "Ready", "status": "True", "reason": "Test", "lastHeartbeatTime": now}
        api.patch(NodeStatus, name, {"status": {"addresses": addresses, "conditions": [ready]}})
        time.sleep(10)
