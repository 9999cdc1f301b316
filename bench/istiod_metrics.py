"""Figures that a running istiod reports of itself."""

from __future__ import annotations

from typing import Final

from pulumi_hosted_mesh.vocabulary import MONITORING_PORT

from sandbox.proof import istiod
from sandbox.proof.deployed import Deployed

MEMORY: Final = "process_resident_memory_bytes"
CPU: Final = "process_cpu_seconds_total"


def metric(deployed: Deployed, name: str) -> float:
    """The value of a metric without labels."""
    process = deployed.program_of(istiod.live_pod(deployed), istiod.PROGRAM)
    url = f"http://127.0.0.1:{MONITORING_PORT}/metrics"
    lines = deployed.in_network_of(process, "http_get.py", url)["body"].splitlines()
    (value,) = (line.split()[1] for line in lines if line.startswith(f"{name} "))
    return float(value)
