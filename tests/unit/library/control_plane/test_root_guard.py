"""The hook on the Secret `cacerts`: what it reads in both clusters, and the updates that it rejects."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

import pulumi
import pytest
from pulumi_hosted_mesh.boundary.cacerts import cacerts_files
from pulumi_hosted_mesh.clusters.api_server import UnreachableError
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, DataPlaneCluster
from pulumi_hosted_mesh.control_plane import root_guard as guards
from pulumi_hosted_mesh.control_plane.root_guard import GuardedRoots, RootGuard, RootStepError
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.mesh import Mesh

from tests.support.authorities import Authority, pem
from tests.unit.library.clusters.kubeconfigs import content
from tests.unit.library.documents import document

OLD, NEW = Authority("old"), Authority("new")
NOW = datetime.now(UTC)
HOUR = timedelta(hours=1)


def text(*roots: Authority) -> str:
    return "".join(pem(one.certificate).decode() for one in roots)


def files(signer: Authority, *roots: Authority) -> dict[str, str]:
    return cacerts_files(text(Authority("intermediate", signer)), "key", text(*roots))


def encoded(found: str) -> str:
    return base64.b64encode(found.encode()).decode()


def written(at: datetime) -> list[dict[str, Any]]:
    return [{"manager": "any", "time": at.isoformat(), "fieldsV1": {"f:data": {"f:root-cert.pem": {}}}}]


def pod(started: datetime, revision: str = "default") -> dict[str, Any]:
    state = {"running": {"startedAt": started.strftime("%Y-%m-%dT%H:%M:%SZ")}}
    metadata = {"name": "page-0", "namespace": "shop", "annotations": {"istio.io/rev": revision}}
    return {"metadata": metadata, "status": {"initContainerStatuses": [{"name": "istio-proxy", "state": state}]}}


class Server:
    """Answers of an API server by the ends of paths; None for a server that does not answer."""

    def __init__(self, objects: Mapping[str, Any] | None) -> None:
        self.objects = objects

    def _found(self, path: str, other: Any) -> Any:
        if self.objects is None:
            raise UnreachableError("no answer")
        return next((one for end, one in self.objects.items() if path.partition("?")[0].endswith(end)), other)

    def get(self, path: str) -> Any:
        return self._found(path, None)

    def list(self, path: str) -> Iterator[Any]:
        return iter(self._found(path, []))


def data_plane(roots: str, started: datetime, bundle: str | None = None, revision: str = "default") -> Server:
    hook = {"clientConfig": {"caBundle": encoded(roots if bundle is None else bundle)}}
    injector = {"metadata": {"name": "injector", "labels": {"hosted-mesh.io/mesh": "demo"}}, "webhooks": [hook]}
    config_map = {"metadata": {"managedFields": written(NOW - HOUR)}, "data": {"root-cert.pem": roots}}
    named = {"/mesh-demo/configmaps": [config_map], "/mutatingwebhookconfigurations": [injector]}
    return Server({**named, "/pods": [pod(started, revision)]})


def update(
    monkeypatch: pytest.MonkeyPatch,
    present: dict[str, str],
    following: Any,
    *data_planes: Server,
    name: str = "cacerts",
    as_data: bool = True,
    namespace: str = "mesh-demo",
    own: Sequence[DataPlaneCluster] = (),
    servers: Mapping[str, Server] = MappingProxyType({}),
    **changes: Any,
) -> list[str]:
    """Warnings of an update. Raises: RootStepError."""
    data = {key: encoded(value) for key, value in present.items()}
    secret = {"metadata": {"managedFields": written(NOW - HOUR)}, "data": data}
    warnings: list[str] = []
    control_plane = Server({"/secrets/cacerts": secret})
    monkeypatch.setattr(guards, "ApiServer", lambda config: servers.get(config.server, control_plane))
    monkeypatch.setattr(guards, "data_planes_of", lambda *_: iter(data_planes))
    monkeypatch.setattr(pulumi.log, "warn", warnings.append)

    async def run() -> None:
        mesh = read_document(Mesh, document({path.replace("__", "."): value for path, value in changes.items()}))
        guard = RootGuard(meshes={namespace: GuardedRoots(mesh, ControlPlaneCluster(kubeconfig=content()), own)})
        inputs: dict[str, Any] = {}
        if following is not None:
            plain = {key: encoded(value) for key, value in following.items()}
            inputs = (
                {"data": pulumi.Output.secret(plain)} if as_data else {"stringData": pulumi.Output.secret(following)}
            )
        called = ("urn", f"{namespace}/{name}", name, "kubernetes:core/v1:Secret")
        await guard.check(pulumi.ResourceHookArgs(*called, new_inputs=inputs))

    asyncio.run(run())
    return warnings


BOTH = text(OLD, NEW)
TRUSTED, SIGNED = files(OLD, OLD, NEW), files(NEW, OLD, NEW)


def test_a_root_signs_once_all_trust_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert update(monkeypatch, TRUSTED, SIGNED, data_plane(BOTH, NOW)) == []
    with pytest.raises(RootStepError, match="mesh demo: proxies in namespaces shop do not trust root new") as refused:
        update(monkeypatch, TRUSTED, SIGNED, data_plane(BOTH, NOW), data_plane(BOTH, NOW - 2 * HOUR))
    assert "Or set trust.goOn: REASON" in str(refused.value)
    with pytest.raises(RootStepError, match="istiod has not written root new"):
        update(monkeypatch, TRUSTED, SIGNED, data_plane(text(OLD), NOW))
    with pytest.raises(RootStepError, match="webhooks do not trust root new: injector"):
        update(monkeypatch, TRUSTED, SIGNED, data_plane(BOTH, NOW, bundle=text(OLD)))
    with pytest.raises(RootStepError, match="its proxies cannot be seen: a data plane: no answer"):
        update(monkeypatch, TRUSTED, SIGNED, Server(None))


def test_texts_are_read_in_both_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kubernetes provider passes `data` to hooks."""
    for as_data in (True, False):
        with pytest.raises(RootStepError, match="do not trust root new"):
            update(monkeypatch, TRUSTED, SIGNED, data_plane(BOTH, NOW - 2 * HOUR), as_data=as_data)


def test_other_meshes_proxies_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    assert update(monkeypatch, TRUSTED, SIGNED, data_plane(BOTH, NOW - 2 * HOUR, revision="other")) == []


def test_a_tenants_mesh_is_read_in_its_own_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(Server, "get", lambda self, path: seen.append(path))
    assert update(monkeypatch, TRUSTED, SIGNED, namespace="tenant-acme--demo", tenant="acme") == []
    assert seen == ["/api/v1/namespaces/tenant-acme--demo/secrets/cacerts"]


def test_a_program_with_the_data_plane_reads_it_by_its_own_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kubeconfig of istiod has the address that istiod reaches, and the run's machine may reach another."""
    cluster = DataPlaneCluster(kubeconfig=content(), context="user")
    assert cluster.config
    servers = {cluster.config.server: data_plane(BOTH, NOW - 2 * HOUR)}
    with pytest.raises(RootStepError, match="proxies in namespaces shop do not trust root new"):
        update(monkeypatch, TRUSTED, SIGNED, Server(None), own=[cluster], servers=servers)
    servers = {cluster.config.server: data_plane(BOTH, NOW)}
    assert update(monkeypatch, TRUSTED, SIGNED, Server(None), own=[cluster], servers=servers) == []


def test_a_root_retires_once_no_certificate_of_it_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    retired = files(NEW, NEW)
    assert update(monkeypatch, SIGNED, retired, data_plane(BOTH, NOW)) == []
    with pytest.raises(RootStepError, match="have certificates of root old"):
        update(monkeypatch, SIGNED, retired, data_plane(BOTH, NOW - 2 * HOUR))
    with pytest.raises(RootStepError, match="the signing root leaves while proxies have certificates of it"):
        update(monkeypatch, TRUSTED, retired, data_plane(BOTH, NOW))


def test_a_reason_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    reason = "the data plane is gone"
    (warning,) = update(monkeypatch, TRUSTED, SIGNED, Server(None), trust__goOn=reason)
    assert reason in warning


def test_a_root_without_overlap_gets_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    (warning,) = update(monkeypatch, files(OLD, OLD), files(NEW, NEW), Server(None))
    assert "reject each other until all have been restarted" in warning


@pytest.mark.parametrize("following", [None, {"ca-cert.pem": "only"}, TRUSTED])
def test_unknown_or_equal_content_is_no_step(monkeypatch: pytest.MonkeyPatch, following: Any) -> None:
    assert update(monkeypatch, TRUSTED, following, Server(None)) == []


def test_other_secrets_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    assert update(monkeypatch, TRUSTED, SIGNED, Server(None), name="istio-kubeconfig") == []
