"""Workloads take plain text where nobody says STRICT, and refuse it once the mesh's own namespace does."""

from __future__ import annotations

from sandbox.proof import traffic, workloads
from sandbox.proof.deployed import Deployed, eventually
from sandbox.proof.identity import AGENT
from sandbox.proof.workloads import PeerAuthentication
from tests.live.mesh.breaking import mesh
from tests.support.changing import created


def test_strict_in_the_meshs_own_namespace_holds_for_all(live_sandbox, tools):
    deployed = Deployed.of(live_sandbox, tools)
    pods = workloads.deploy(deployed)
    caller = deployed.program_of(pods[workloads.CALLER], AGENT)
    metadata = {"name": "default", "namespace": deployed.mesh.namespace}
    strict = PeerAuthentication.from_dict({"metadata": metadata, "spec": {"mtls": {"mode": "STRICT"}}})

    def answers(status: int) -> dict[str, str]:
        return eventually(lambda: traffic.answered(deployed, caller, status), seconds=120)

    def restored() -> None:
        """By mutual TLS again, as the next file's tests find it."""
        spiffe = f"spiffe://{deployed.mesh.trust_domain}/ns/{workloads.NAMESPACE}/sa/{workloads.CALLER}"
        traffic.arrived_from(traffic.answered(deployed, caller, 200), spiffe)

    try:
        with mesh.plaintext(deployed):
            answers(503)  # by the workloads' own namespace
            deployed.data_plane.delete(PeerAuthentication, "default", namespace=workloads.NAMESPACE)
            assert "x-forwarded-client-cert" not in answers(200)
            with created(deployed.data_plane, strict):
                answers(503)
            answers(200)
    finally:
        workloads.deploy(deployed)  # which puts their own one back
        eventually(restored, seconds=120)
