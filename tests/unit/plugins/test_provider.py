"""The kubernetes provider's refusals: each names the thing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sandbox.plugins.kubernetes import helm
from sandbox.plugins.kubernetes.provider import KubernetesProvider
from sandbox.plugins.protocol.engine import Engine
from sandbox.plugins.protocol.errors import NotImplementedHere, ProviderError
from sandbox.plugins.protocol.stubs import provider_pb2
from tests.unit.plugins.api_server import api_server


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> KubernetesProvider:
    """A provider without a cluster."""
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    made = KubernetesProvider(Engine(""))
    made.configure(provider_pb2.ConfigureRequest())
    return made


def _urn(token: str) -> str:
    return f"urn:pulumi:stack::project::{token}::name"


@pytest.mark.parametrize(
    "token",
    [
        "kubernetes:core/v1:ConfigMapPatch",
        "kubernetes:apps/v1:DeploymentPatch",
        "kubernetes:helm.sh/v3:Release",
        "kubernetes:kustomize/v2:Directory",
        "kubernetes:networking.k8s.io/v1:Ingress",
        "kubernetes:core/v1:PersistentVolumeClaim",
    ],
)
def test_types_that_are_not_there(provider: KubernetesProvider, token: str) -> None:
    with pytest.raises(NotImplementedHere, match=token):
        provider.check(provider_pb2.CheckRequest(urn=_urn(token)))


def test_lists_are_no_resources(provider: KubernetesProvider) -> None:
    with pytest.raises(ProviderError, match="list resources"):
        provider.check(provider_pb2.CheckRequest(urn=_urn("kubernetes:core/v1:ConfigMapList")))


def test_functions_that_are_not_there(provider: KubernetesProvider) -> None:
    with pytest.raises(NotImplementedHere, match="kubernetes:yaml:decode"):
        provider.invoke(provider_pb2.InvokeRequest(tok="kubernetes:yaml:decode"))


def test_without_a_cluster_a_preview_shows_inputs_and_a_change_fails(provider: KubernetesProvider) -> None:
    urn = _urn("kubernetes:core/v1:ConfigMap")
    request = provider_pb2.CheckRequest(urn=urn)
    request.news.fields["apiVersion"].string_value = "v1"
    request.news.fields["kind"].string_value = "ConfigMap"
    request.news.fields["metadata"].struct_value.fields["name"].string_value = "a"
    checked = provider.check(request)
    assert checked.inputs.fields["metadata"].struct_value.fields["namespace"].string_value == "default"
    preview = provider.create(provider_pb2.CreateRequest(urn=urn, properties=checked.inputs, preview=True))
    assert preview.properties == checked.inputs
    with pytest.raises(ProviderError, match="unreachable"):
        provider.create(provider_pb2.CreateRequest(urn=urn, properties=checked.inputs))
    with pytest.raises(ProviderError, match="unreachable"):
        provider.construct(provider_pb2.ConstructRequest(type="kubernetes:helm.sh/v4:Chart"))


def test_an_object_that_does_not_change_needs_no_api_server() -> None:
    """Nothing may even be loaded for it: the preview of a mesh's stack waits for this process."""
    program = """
import json, sys
from sandbox.plugins.kubernetes.provider import KubernetesProvider
from sandbox.plugins.protocol.engine import Engine
from sandbox.plugins.protocol.stubs import provider_pb2

provider = KubernetesProvider(Engine(""))
named = {"name": "nobody"}
nowhere = {
    "clusters": [{**named, "cluster": {"server": "https://127.0.0.1:1"}}], "users": [{**named, "user": {}}],
    "contexts": [{**named, "context": {"cluster": "nobody", "user": "nobody"}}], "current-context": "nobody",
}
settings = {"kubernetes:config:kubeconfig": json.dumps(nowhere)}
provider.configure(provider_pb2.ConfigureRequest(variables=settings))
request = provider_pb2.CheckRequest(urn="urn:pulumi:stack::project::kubernetes:core/v1:ConfigMap::name")
request.news.update({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
checked = provider.check(request).inputs
diff = provider.diff(provider_pb2.DiffRequest(urn=request.urn, id="default/a", olds=checked, news=checked))
assert diff.changes == diff.DIFF_NONE, diff
print(sorted({"urllib3", "yaml"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


_STARTED = {"startTime": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("status", "replaced"),
    [
        (_STARTED | {"conditions": [{"type": "Complete", "status": "True"}]}, False),
        (_STARTED | {"active": 1}, True),
        (_STARTED | {"conditions": [{"type": "Failed", "status": "True", "reason": "DeadlineExceeded"}]}, True),
        ({}, True),
        (None, False),  # the Job is not there: the next run makes it, or a refresh tells
    ],
)
def test_a_job_that_is_not_ready_is_replaced_where_an_annotation_asks(
    status: dict[str, Any] | None, replaced: bool
) -> None:
    diff = _diff_of_asking("batch/v1", "Job", status)
    assert list(diff.replaces) == (['.metadata.annotations["pulumi.com/replaceUnready"]'] if replaced else [])
    assert diff.changes == (diff.DIFF_SOME if replaced else diff.DIFF_NONE)
    assert diff.deleteBeforeReplace is replaced
    assert not diff.detailedDiff


def test_only_jobs_are_replaced_when_they_are_not_ready() -> None:
    assert not _diff_of_asking("apps/v1", "Deployment", {}).replaces


def _diff_of_asking(api_version: str, kind: str, status: dict[str, Any] | None) -> Any:
    """The diff of an object that asks to be replaced when it is not ready and that changes nothing."""
    metadata = {"name": "a", "namespace": "n", "annotations": {"pulumi.com/replaceUnready": "true"}}
    obj: dict[str, Any] = {"apiVersion": api_version, "kind": kind, "metadata": metadata}
    request = provider_pb2.DiffRequest(urn=_urn(f"kubernetes:{api_version}:{kind}"), id="n/a")
    request.olds.update({**obj, "__inputs": obj})
    request.news.update(obj)
    provider = KubernetesProvider(Engine(""))
    with api_server() as server:
        plural = f"{kind.lower()}s"
        server.has_kind(api_version, kind, plural)
        if status is not None:
            server.answers[f"/apis/{api_version}/namespaces/n/{plural}/a"] = {**obj, "status": status}
        variables = {"kubernetes:config:kubeconfig": server.kubeconfig}
        provider.configure(provider_pb2.ConfigureRequest(variables=variables))
        return provider.diff(request)


def test_helm_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOSTED_MESH_HELM", str(tmp_path / "helm"))
    with pytest.raises(ProviderError, match="HOSTED_MESH_HELM"):
        helm.render(helm.Chart("a", "default", str(tmp_path)), "v1.36.3", [])
