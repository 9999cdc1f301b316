"""An administrator of a data plane gets certificates for its own ServiceAccounts, and in no other mesh's name."""

from __future__ import annotations

import sys
from pathlib import Path

from sandbox.proof import istiod, workloads
from sandbox.proof.deployed import Deployed
from sandbox.proof.identity import exposed_addresses
from tests.support.kubectl import Kubectl
from tests.support.waiting import eventually

ASK = Path(__file__).parent / "programs/ask_for_certificate.py"
NAME = "ztunnel"  # whom Istio's chart would trust to ask for others


def test_no_account_of_a_data_plane_asks_for_other_identities(live_sandbox, tools, tmp_path):
    deployed = Deployed.of(live_sandbox, tools)
    mesh, kubectl = deployed.mesh, Kubectl.of(live_sandbox.data_plane, tools)
    (container,) = istiod.live_pod(deployed).spec.containers
    variables = {one.name: one.value for one in container.env}
    assert "CA_TRUSTED_NODE_ACCOUNTS" not in variables
    metadata = {"name": NAME, "namespace": mesh.namespace}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    # A hostile administrator's Pod, which its own node runs; that istiod sees it there is enough.
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": workloads.pod_spec(NAME)}
    root = tmp_path / "root.pem"
    root.write_text(mesh.root_certificate)
    address = f"{min(exposed_addresses(deployed))}:{mesh.xds_port}"

    def asked(*instead: str) -> str:
        command = [sys.executable, "-P", ASK, address, mesh.host, root, token, variables["CLUSTER_ID"], *instead]
        done = live_sandbox.run(live_sandbox.data_plane.name, command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return str(done.stdout.strip())

    own = f"ns/{mesh.namespace}/sa/{NAME}"
    try:
        kubectl.apply(account, pod)
        kubectl("wait", f"pod/{NAME}", f"-n={mesh.namespace}", "--for=condition=PodScheduled", "--timeout=240s")
        uid = kubectl.get("pod", NAME, f"-n={mesh.namespace}")["metadata"]["uid"]
        bound = ("--bound-object-kind=Pod", f"--bound-object-name={NAME}", f"--bound-object-uid={uid}")
        token = kubectl("create", "token", NAME, f"-n={mesh.namespace}", "--audience=istio-ca", *bound).strip()
        spiffe = f"spiffe://{mesh.trust_domain}/{own}"
        # The address may lead to an istiod of before, of another file's tests.
        eventually(lambda: asked() == spiffe, "istiod signs the account's own certificate")
        assert asked(f"spiffe://west.mesh.local/{own}") == "UNAUTHENTICATED"
    finally:
        kubectl(
            "delete", f"pod/{NAME}", f"serviceaccount/{NAME}", f"-n={mesh.namespace}", "--ignore-not-found", "--now"
        )
