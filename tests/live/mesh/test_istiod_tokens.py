"""istiod serves the user's cluster without any credential for the provider's, in whose cluster it runs."""

from __future__ import annotations

from sandbox.proof import istiod
from sandbox.proof.deployed import Deployed

SECRETS = "/var/run/secrets"


def test_no_token_of_the_providers_cluster_is_in_istiods_pod(live_sandbox, tools):
    deployed = Deployed.of(live_sandbox, tools)
    pod = istiod.live_pod(deployed)
    assert pod.spec.automountServiceAccountToken is False
    sources = {volume.name: (volume.projected and volume.projected.sources) or [] for volume in pod.spec.volumes}
    assert [name for name, all_of_it in sources.items() if any(one.serviceAccountToken for one in all_of_it)] == []
    assert not any(name.startswith("kube-api-access") for name in sources)

    process = deployed.program_of(pod, istiod.PROGRAM)
    mounted = {path.removeprefix("/var") for path in process.mount_points() if "/secrets/" in path}
    assert mounted == {f"/run/secrets/{name}" for name in ("hosted-mesh/remote-clusters", "istio-dns", "remote")} | {
        f"/run/secrets/istiod/{name}" for name in ("ca", "tls")
    }
    assert process.file(f"{SECRETS}/remote/config")  # the search below would see a file that is there
    for path in (istiod.KUBERNETES_TOKEN, f"{SECRETS}/tokens"):
        assert [process.file(f"{path}/{name}") for name in ("token", "istio-token", "ca.crt")] == [None] * 3
