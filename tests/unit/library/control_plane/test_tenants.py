"""A tenant's objects on the control plane: names, labels, limits and istiod's own view of its namespace."""

from __future__ import annotations

from typing import Any

import pulumi_hosted_mesh as hosted_mesh
import pytest
from pulumi_hosted_mesh.clusters.kubeconfig import minimal
from pulumi_hosted_mesh.control_plane.gateway_hosts import gateway_hosts
from pulumi_hosted_mesh.control_plane.istiod_values import istiod_values
from pulumi_hosted_mesh.control_plane.manifests import container_limits, istiods_pod
from pulumi_hosted_mesh.control_plane.single_cluster_values import single_cluster_values
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.gateway import GatewaySettings
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.tenancy import manifests

from agents.gateway_sidecar.rows import rows_of
from agents.gateway_sidecar.settings import Settings
from tests.unit.library.documents import CERTIFICATE, LOCAL, document
from tests.unit.library.program import Registered, run

pytestmark = pytest.mark.usefixtures("without_transforms")
KUBECONFIG = minimal("c", {"server": "https://cp.example.com", "certificate-authority-data": "QQ=="}, {"token": "t"})
USER = {"server": "https://api.user.example.com:6443", "certificate-authority-data": "QQ=="}


def control_plane(changes: dict[str, Any] | None = None) -> dict[str, Registered]:
    mesh = read_document(Mesh, document({"trust": {"management": "unmanaged"}, **(changes or {})}))

    def program() -> None:
        hosted_mesh.ExternalControlPlane(
            "it",
            {
                "mesh": mesh.arguments(),
                "cluster": hosted_mesh.ControlPlaneCluster(kubeconfig=KUBECONFIG),
                "kubeconfigs": {"default": minimal(mesh.cluster_id(mesh.memberships[0]), USER, {"token": "t"})},
                "root_certificate": CERTIFICATE,
            },
        )

    return {one.name: one for one in run(program)}


def test_all_objects_of_a_tenant_are_in_its_namespace_with_its_label() -> None:
    found = control_plane({"tenant": "acme"})
    objects = [one for one in found.values() if one.type.startswith("kubernetes:") and "metadata" in one.inputs]
    assert len(objects) >= 6
    for one in objects:
        metadata = one.inputs["metadata"]
        assert metadata["labels"]["hosted-mesh.io/tenant"] == "acme", one.name
        assert metadata.get("namespace", metadata["name"]) == "tenant-acme--demo", one.name
    chart = found["it-istiod"].inputs
    assert chart["namespace"] == "tenant-acme--demo"
    assert chart["values"]["global"]["istioNamespace"] == "tenant-acme--demo"
    assert chart["values"]["meshConfig"]["rootNamespace"] == "mesh-demo"


def test_without_a_tenant_nothing_has_its_label() -> None:
    for one in control_plane().values():
        assert "hosted-mesh.io/tenant" not in str(one.inputs), one.name
    assert "rootNamespace" not in istiod_values(*_only(document()))["meshConfig"]


def _only(given: dict[str, Any]) -> tuple[Mesh, Any]:
    mesh = read_document(Mesh, given)
    return mesh, mesh.revisions[0]


def test_a_namespace_has_limits_and_restricted_pods() -> None:
    found = control_plane(
        {"revisions.0.istiod": {"resources": {"cpuLimit": "4", "memoryLimit": "64Mi", "memoryRequest": "64Mi"}}}
    )
    labels = found["it-control-plane"].inputs["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    (limits,) = found["it-limits"].inputs["spec"]["limits"]
    assert limits["max"] == {"cpu": "4", "memory": "64Mi"}
    assert limits["default"] == limits["defaultRequest"] == {"cpu": "100m", "memory": "64Mi"}
    assert found["it-istiod"].inputs["values"]["seccompProfile"] == {"type": "RuntimeDefault"}


def test_the_largest_revision_sets_the_limits() -> None:
    large = {
        "name": "large",
        "host": "large.example.com",
        "exposure": {"openToAll": True},
        "istiod": {"resources": {"cpuLimit": "1500m", "memoryLimit": "8Gi"}},
    }
    mesh, _ = _only(document({"revisions.1": large}))
    assert container_limits(mesh)["limits"][0]["max"] == {"cpu": "2", "memory": "8Gi"}


def test_a_priority_makes_a_class_that_evicts_nobody() -> None:
    assert "it-priority" not in control_plane()
    found = control_plane({"tenant": "acme", "controlPlane": {"priority": 1000}})
    made = found["it-priority"].inputs
    assert (made["metadata"]["name"], made["value"], made["preemptionPolicy"]) == ("tenant-acme--demo", 1000, "Never")
    assert found["it-istiod"].inputs["values"]["global"]["priorityClassName"] == "tenant-acme--demo"


def test_istiod_takes_the_data_planes_namespace_for_its_own() -> None:
    own = {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}
    other = {"name": "REVISION", "value": "default"}
    spec = {"containers": [{"name": "discovery", "env": [other, own]}], "volumes": []}
    assert istiods_pod(spec)["containers"][0]["env"] == [other, own]
    changed = istiods_pod(spec, namespace="mesh-demo")["containers"][0]["env"]
    assert changed == [other, {"name": "POD_NAMESPACE", "value": "mesh-demo"}]
    assert spec["containers"][0]["env"] == [other, own], "the chart's own is not changed"


def test_a_row_of_a_tenant_leads_to_its_namespace_only() -> None:
    hooks = {"host": "hooks.demo.example.com", "openToAll": True}
    exposure = {"kind": "gateway", "openToAll": True, "webhooks": hooks}
    settings = Settings.of({**_sidecar_settings(), "zones": ["example.com"]})
    for tenant, service in ((None, "istiod.mesh-demo.svc"), ("acme", "istiod.tenant-acme--demo.svc")):
        changes = {"revisions.0.exposure": exposure, **({"tenant": tenant} if tenant else {})}
        mesh, revision = _only(document(changes))
        maps = [{"metadata": {"name": one.host}, "data": one.data} for one in gateway_hosts(mesh, revision)]
        rows, rejected = rows_of(maps, settings)
        assert rejected == {}
        assert {one.service for one in rows} == {service}
    forged = {
        "metadata": {"name": maps[0]["metadata"]["name"]},
        "data": {"row": maps[0]["data"]["row"].replace('"acme"', '"a--b"')},
    }
    assert rows_of([forged], settings)[1] == {forged["metadata"]["name"]: "has no valid tenant"}


def _sidecar_settings() -> dict[str, Any]:
    given = read_document(GatewaySettings, {"zones": ["example.com"], "openToAll": True})
    return dict(manifests.sidecar_config(given))


def test_a_mesh_of_one_cluster_has_no_control_plane_elsewhere() -> None:
    with pytest.raises(InvalidInputError, match="split: is false"):
        control_plane(
            {"split": False, "revisions.0.host": None, "revisions.0.exposure": None, "memberships.0.access": None}
        )


def test_an_ordinary_istiod_has_the_charts_webhooks_and_nothing_of_the_split() -> None:
    mesh, revision = _only(document({**LOCAL, "name": "shop", "revisions.0.name": "blue", "tags": {"prod": "blue"}}))
    values = single_cluster_values(mesh, revision)
    common = values["global"]
    assert (common["operatorManageWebhooks"], common["configValidation"]) == (False, True)
    assert values["meshConfig"]["defaultConfig"]["discoveryAddress"] == "istiod-blue.mesh-shop.svc:15012"
    assert values["revisionTags"] == ["prod"]
    assert not {"externalIstiod", "caAddress", "resourceScope"} & common.keys()
    assert (
        not {"ISTIOD_CUSTOM_HOST", "INJECTION_WEBHOOK_CONFIG_NAME", "VALIDATION_WEBHOOK_CONFIG_NAME"}
        & values["env"].keys()
    )
    assert ".invalid" not in str(values)
