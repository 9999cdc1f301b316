"""The kubernetes provider's refusals: each names the thing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.plugins.kubernetes.charts import helm
from sandbox.plugins.kubernetes.provider import KubernetesProvider
from sandbox.plugins.protocol.engine import Engine
from sandbox.plugins.protocol.errors import NotImplementedHere, ProviderError
from sandbox.plugins.protocol.stubs import provider_pb2


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
        "kubernetes:apps/v1:StatefulSet",
        "kubernetes:batch/v1:Job",
    ],
)
def test_types_that_are_not_there(provider: KubernetesProvider, token: str) -> None:
    with pytest.raises(NotImplementedHere, match=token):
        provider.check(provider_pb2.CheckRequest(urn=_urn(token)))


@pytest.mark.parametrize("name", ["patchFieldManager", "deletionPropagationPolicy", "replaceUnready", "waitFor"])
def test_annotations_that_are_not_there(provider: KubernetesProvider, name: str) -> None:
    """Before anything is made: an object whose wait is refused afterwards would be in no state."""
    request = provider_pb2.CheckRequest(urn=_urn("kubernetes:core/v1:ConfigMap"))
    annotations = {f"pulumi.com/{name}": "condition=Ready"}
    request.news.update({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"annotations": annotations}})
    with pytest.raises(NotImplementedHere, match=f"pulumi.com/{name}"):
        provider.check(request)


def test_changes_to_ignore_are_refused(provider: KubernetesProvider) -> None:
    request = provider_pb2.DiffRequest(urn=_urn("kubernetes:core/v1:ConfigMap"), ignoreChanges=["data"])
    with pytest.raises(NotImplementedHere, match="ignoreChanges"):
        provider.diff(request)


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


def test_helm_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOSTED_MESH_HELM", str(tmp_path / "helm"))
    with pytest.raises(ProviderError, match="HOSTED_MESH_HELM"):
        helm.render(helm.Chart("a", "default", str(tmp_path)), "v1.36.3", [])
