"""hosted-mesh doctor, asked about meshes of the sandbox: API servers from outside, gateways from where peers are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pulumi_hosted_mesh.clusters import kubeconfig
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig
from pulumi_hosted_mesh.federation.exports import with_declared
from pulumi_hosted_mesh.operations.doctor.check import verdicts
from pulumi_hosted_mesh.operations.doctor.observation import observe
from pulumi_hosted_mesh.operations.verdict import Verdict
from pulumi_hosted_mesh.spec.federation import Federation
from pulumi_hosted_mesh.spec.load import read_document

from tests.live.federation.meshes.federated import CALLER, NAMESPACE, Meshes, federation


def diagnosis(meshes: Meshes, mesh: str, **options: Any) -> dict[str, str]:
    """What doctor finds wrong, by check. options: as `verdicts_of`."""
    return {one.check: str(one.cause) for one in verdicts_of(meshes, mesh, **options) if not one.ok}


def notices_alone(meshes: Meshes, mesh: str) -> dict[str, str]:
    """What doctor tells of a mesh without a federation's document although it does no harm, by check."""
    own = meshes.cluster(mesh)
    config = kubeconfig.from_file(str(own.kubeconfig), kubeconfig.KubeconfigRequest(context=own.name))
    found = verdicts(None, mesh, [], observe(None, mesh, [], config))
    return {one.check: str(one.cause) for one in found if one.notice}


def verdicts_of(
    meshes: Meshes,
    mesh: str,
    *,
    given: Any = None,
    soon: timedelta = timedelta(days=30),
    clock_is_ahead: timedelta = timedelta(0),
    of_the_control_plane: bool = True,
    of_the_webhooks: bool = True,
    ask_proxies: bool = True,
    configs: Sequence[Kubeconfig] = (),
) -> list[Verdict]:
    """All that doctor says. given: the document, by default the federation's.

    configs: of the data plane and of the control plane; by default the administrators'.
    """
    document = read_document(Federation, given or federation(f"{NAMESPACE}/{CALLER}"))
    offers, endpoint = with_declared(document, []), meshes.endpoint(mesh) if of_the_webhooks else None
    clusters = [meshes.cluster(mesh), *([meshes.sandbox.control_plane] if of_the_control_plane else [])]
    own = [
        kubeconfig.from_file(str(one.kubeconfig), kubeconfig.KubeconfigRequest(context=one.name)) for one in clusters
    ]
    data_plane, control_plane = [*(configs or own), None][:2]
    assert data_plane is not None
    observed = observe(
        document,
        mesh,
        offers,
        data_plane,
        control_plane,
        endpoint,
        meshes.between.here(),
        lambda: datetime.now(UTC) + clock_is_ahead,
        ask_proxies=ask_proxies,
    )
    return verdicts(document, mesh, offers, observed, endpoint, soon)
