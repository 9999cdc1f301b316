"""An object that exists already: adopted if it is the stack's own and its state lacks it, else rejected."""

from __future__ import annotations

import asyncio
import base64
import copy
from typing import Any

import pulumi
import pytest
from pulumi_hosted_mesh.clusters import adoption
from pulumi_hosted_mesh.clusters.adoption import AdoptionCheck, ExistingObjectError
from pulumi_hosted_mesh.clusters.api_server import UnreachableError

OWN = {"hosted-mesh.io/managed-by": "hosted-mesh", "hosted-mesh.io/mesh": "demo", "hosted-mesh.io/role": "data-plane"}
STACK = "shop/eu"
UID = "7d1c"
Object = dict[str, Any]


def manifest(kind: str = "ConfigMap", name: str = "mesh", **metadata: Any) -> Object:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "labels": OWN, **metadata}}


def namespace(stack: str = "") -> Object:
    return manifest("Namespace", "mesh-demo", annotations={"hosted-mesh.io/stack": stack} if stack else {})


def existing(given: Object, **metadata: Any) -> Object:
    found = copy.deepcopy(given)
    found["metadata"] |= {"uid": UID, **metadata}
    return found


class Server:
    """An API server with one object or none, or without an answer. Counts the answers."""

    def __init__(self, *found: Any) -> None:
        self.found, self.paths = list(found), list[str]()

    def kinds(self, group_version: str) -> Any:
        return {
            "ConfigMap": {"name": "configmaps", "namespaced": True},
            "CustomResourceDefinition": {"name": "customresourcedefinitions", "namespaced": False},
            "Namespace": {"name": "namespaces", "namespaced": False},
            "Secret": {"name": "secrets", "namespaced": True},
        }

    def get(self, path: str) -> Any:
        self.paths.append(path)
        found = self.found.pop(0) if len(self.found) > 1 else self.found[0]
        if isinstance(found, Exception):
            raise found
        return found


def check(
    monkeypatch: pytest.MonkeyPatch,
    wanted: Object,
    *found: Any,
    state: dict[str, str] | None = None,
    dry_run: bool = False,
) -> list[str]:
    """The hook of one creation; the paths that it read. found: answers of the API server, the last one for good."""
    server = Server(*found)

    async def kubeconfig() -> object:
        return object()

    async def objects() -> dict[str, str]:
        return state or {}

    async def run() -> None:
        inputs = {**wanted, "data": pulumi.Output.secret(wanted.get("data", {}))}
        one = AdoptionCheck("ControlPlaneCluster", kubeconfig)
        await one.check(pulumi.ResourceHookArgs("urn", "", "name", "type", new_inputs=inputs))

    monkeypatch.setattr(adoption, "ApiServer", lambda config: server)
    monkeypatch.setattr(adoption, "fetched", lambda config, *called: config)
    monkeypatch.setattr(adoption, "_own_objects", objects)
    monkeypatch.setattr(adoption, "POLL_SECONDS", 0.0)
    monkeypatch.setattr(adoption.settings, "is_dry_run", lambda: dry_run)
    monkeypatch.setattr(pulumi.log, "info", lambda text: None)
    asyncio.run(run())
    return server.paths


def test_an_object_that_a_killed_run_left_is_adopted(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = manifest(namespace="mesh-demo")
    more = {**OWN, "kubernetes.io/legacy-token-last-used": "2026-11-28"}
    for labels in (OWN, more):
        paths = check(monkeypatch, wanted, existing(wanted, labels=labels))
        assert paths == ["/api/v1/namespaces/mesh-demo/configmaps/mesh"]
    assert check(monkeypatch, wanted, None)
    assert check(monkeypatch, namespace(STACK), existing(namespace(STACK))) == ["/api/v1/namespaces/mesh-demo"]


@pytest.mark.parametrize(
    "labels",
    [{}, {**OWN, "hosted-mesh.io/mesh": "other"}, {**OWN, "hosted-mesh.io/role": "control-plane"}],
    ids=["nobody's", "another mesh's", "the other side's"],
)
@pytest.mark.parametrize("dry_run", [True, False])
def test_an_object_of_another_is_rejected(
    monkeypatch: pytest.MonkeyPatch, labels: dict[str, str], *, dry_run: bool
) -> None:
    wanted = manifest(namespace="mesh-demo")
    with pytest.raises(ExistingObjectError, match="ConfigMap mesh already exists, and its labels are not this mesh's"):
        check(monkeypatch, wanted, existing(wanted, labels=labels), dry_run=dry_run)


@pytest.mark.parametrize("wanted", [manifest(labels={}), manifest("CustomResourceDefinition")])
def test_without_the_librarys_labels_and_of_shared_kinds_nothing_is_adopted(
    monkeypatch: pytest.MonkeyPatch, wanted: Object
) -> None:
    with pytest.raises(ExistingObjectError):
        check(monkeypatch, wanted, existing(wanted))


def test_a_namespace_of_another_stack_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two stacks may have a mesh of one name, with other keys."""
    with pytest.raises(ExistingObjectError, match="is of the stack shop/us, not shop/eu"):
        check(monkeypatch, namespace(STACK), existing(namespace("shop/us")))
    with pytest.raises(ExistingObjectError, match=r"has no annotation hosted-mesh\.io/stack"):
        check(monkeypatch, namespace(STACK), existing(namespace()))


def test_an_object_in_the_stacks_state_is_not_adopted(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a rename: the engine would delete the old resource, which is the same object."""
    wanted = manifest()
    urn = "urn:pulumi:eu::shop::kubernetes:core/v1:ConfigMap::old-name"
    with pytest.raises(ExistingObjectError, match="is in the stack's state as old-name"):
        check(monkeypatch, wanted, existing(wanted), state={UID: urn})
    assert check(monkeypatch, wanted, existing(wanted), state={"another": urn})


def test_keys_that_workloads_trust_are_not_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    def cacerts(root: str) -> Object:
        wanted = manifest("Secret", "cacerts")
        return {**wanted, "data": {"root-cert.pem": base64.b64encode(root.encode()).decode()}}

    wanted = {**manifest("Secret", "cacerts"), "stringData": {"root-cert.pem": "ROOT\n"}}
    assert check(monkeypatch, wanted, existing(cacerts("ROOT")))
    with pytest.raises(ExistingObjectError, match="Secret cacerts already exists, with another root certificate"):
        check(monkeypatch, wanted, existing(cacerts("ANOTHER")))


def test_an_object_that_is_being_deleted_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = manifest()
    ending = existing(wanted, deletionTimestamp="2026-11-28T12:00:00Z", labels={})
    assert len(check(monkeypatch, wanted, ending, ending, None)) == 3
    monkeypatch.setattr(adoption, "END_SECONDS", 0.0)
    with pytest.raises(ExistingObjectError, match="still being deleted after 0 s: see its finalizers"):
        check(monkeypatch, wanted, ending)


def test_in_a_preview_an_object_that_is_being_deleted_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    ending = existing(manifest(), deletionTimestamp="2026-11-28T12:00:00Z", labels={})
    assert len(check(monkeypatch, manifest(), ending, dry_run=True)) == 1


def test_a_kind_that_the_run_has_just_installed_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    server, lists = Server(existing(manifest(), labels={})), [{}, {"ConfigMap": {"name": "configmaps"}}]
    monkeypatch.setattr(server, "kinds", lambda group_version: lists.pop(0))
    one = AdoptionCheck("the cluster", lambda: None, _api=server)
    wanted = adoption.Wanted.of(manifest())
    assert wanted is not None
    found = [one._existing(None, wanted) is not None for _ in range(3)]
    assert (found, lists) == ([False, True, True], [])


def test_without_an_answer_an_update_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = UnreachableError("no byte within 5 s")
    assert check(monkeypatch, manifest(), gone, dry_run=True)
    with pytest.raises(ExistingObjectError, match="whether ConfigMap mesh exists cannot be seen: no byte within 5 s"):
        check(monkeypatch, manifest(), gone)


def test_a_component_and_an_unknown_kind_are_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(monkeypatch, {"values": {}}, None) == []
    assert check(monkeypatch, manifest("WasmPlugin"), None) == []


def test_a_state_that_is_not_read_in_time_ends_the_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that is ending answers no more, and waits for its hooks: both would wait for good."""

    async def never(token: str, inputs: Any) -> None:
        assert (token, inputs) == ("pulumi:pulumi:readStackResourceOutputs", {"stackName": "acme/shop/eu"})
        await asyncio.sleep(60)

    for name, value in (("organization", "acme"), ("project", "shop"), ("stack", "eu")):
        monkeypatch.setattr(pulumi, f"get_{name}", lambda value=value: value)
    monkeypatch.setattr(adoption, "invoke_async", never)
    monkeypatch.setattr(adoption, "STATE_SECONDS", 0.01)
    with pytest.raises(ExistingObjectError, match="the state of acme/shop/eu was not read within 0 s"):
        asyncio.run(adoption._read_state())
