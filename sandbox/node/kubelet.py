"""Kubelet's configuration file, command and environment. Pure."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sandbox.bootstrap import CHECKOUT
from sandbox.node.config import NodeConfig

_LAUNCHER = (sys.executable, "-S", "-m", "sandbox.node.runtime.launcher")
_NEVER_EVICT = ("memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree")


def configuration(config: NodeConfig, state: Path) -> dict[str, Any]:
    """A KubeletConfiguration. state: the node's directory, by its path inside the node."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": config.node_ip,
        "port": config.port,
        "healthzPort": 0,
        "readOnlyPort": 0,
        "tlsCertFile": str(config.serving_cert),
        "tlsPrivateKeyFile": str(config.serving_key),
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": False},
            "x509": {"clientCAFile": str(config.client_ca)},
        },
        "authorization": {"mode": "Webhook"},
        "clusterDNS": [config.cluster_dns],
        "clusterDomain": config.cluster_domain,
        "containerRuntimeEndpoint": f"unix://{_cri(state)}",
        "podLogsDir": str(state / "logs"),
        "maxPods": 110,
        # Cgroups are optional, and the machine's disk, swap and iptables are not the sandbox's to manage.
        "cgroupsPerQOS": False,
        "enforceNodeAllocatable": [],
        "failCgroupV1": False,
        "failSwapOn": False,
        "makeIPTablesUtilChains": False,
        "localStorageCapacityIsolation": False,
        "evictionHard": dict.fromkeys(_NEVER_EVICT, "0%"),
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "volumeStatsAggPeriod": "-1s",
        # Shorter than the defaults: a changed Secret in its volume, a failed container.
        "configMapAndSecretChangeDetectionStrategy": "Watch",
        "syncFrequency": "5s",
        "crashLoopBackOff": {"maxContainerRestartPeriod": "2s"},
        "featureGates": {
            "KubeletInUserNamespace": True,
            "EventedPLEG": True,
            "KubeletCrashLoopBackOffMax": True,
            # Each watch of files takes one of the 128 that the kernel gives a user.
            "ReloadKubeletServerCertificateFile": False,
        },
    }


def command(config: NodeConfig, state: Path) -> list[str]:
    """Kubelet's program and flags; it reads its configuration from `configuration_file`."""
    flags = {
        "config": configuration_file(state),
        "kubeconfig": config.kubeconfig,
        "hostname-override": config.node_name,
        "node-ip": config.node_ip,
        "node-labels": ",".join(f"{key}={value}" for key, value in config.labels.items()),
        "root-dir": state / "kubelet",
        "cert-dir": state / "pki",
    }
    return [str(config.bin_dir / "kubelet"), *(f"--{name}={value}" for name, value in flags.items())]


def environment(config: NodeConfig, state: Path, outside: Mapping[str, str]) -> dict[str, str]:
    """Settings of the container runtime in kubelet's program, besides present variables (PATH)."""
    return {
        **outside,
        "PYTHONPATH": str(CHECKOUT),
        "SANDBOX_NODE_STATE": str(state),
        "SANDBOX_NODE_BIN": str(config.bin_dir),
        "SANDBOX_NODE_NETWORK": str(network_socket(state)),
        "SANDBOX_NODE_CRI": str(_cri(state)),
        "SANDBOX_NODE_LAUNCHER": json.dumps(_LAUNCHER),
    }


def configuration_file(state: Path) -> Path:
    return state / "kubelet.json"


def network_socket(state: Path) -> Path:
    """The socket where the runtime requests networks."""
    return state / "network.sock"


def _cri(state: Path) -> Path:
    return state / "cri.sock"
