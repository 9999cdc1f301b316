"""The state after an interruption: begun creations are adopted, other programs' objects are not."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from hosted_mesh_controller.job.recovery import adopt_created, adopt_pending, drop_older
from hosted_mesh_controller.job.state_file import restore_state

BEGAN = 1_790_000_000.0
EARLIER, LATER = "2026-09-01T00:00:00Z", "2026-10-01T00:00:00Z"


def secret(name: str, **more: Any) -> dict[str, Any]:
    inputs = {"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "mesh-demo", "name": name}}
    return {"urn": f"urn::{name}", "type": "kubernetes:core/v1:Secret", "custom": True, "inputs": inputs, **more}


def test_begun_creations_are_adopted() -> None:
    there, begun = secret("there", id="mesh-demo/there"), secret("begun")
    namespace = secret("ns")
    namespace["inputs"] = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "mesh-demo"}}
    key = {"urn": "urn::key", "type": "tls:index/privateKey:PrivateKey", "inputs": {"algorithm": "ECDSA"}}
    updated = secret("there", id="mesh-demo/there")
    deployment = {
        "resources": [there],
        "pending_operations": [
            {"type": "creating", "resource": begun},
            {"type": "creating", "resource": namespace},
            {"type": "creating", "resource": key},
            {"type": "updating", "resource": updated},
            {"type": "creating", "resource": updated},
        ],
    }
    assert adopt_pending(deployment) == {"urn::begun", "urn::ns"}
    assert "pending_operations" not in deployment
    assert [one["urn"] for one in deployment["resources"]] == ["urn::there", "urn::begun", "urn::ns"]
    adopted = deployment["resources"][1]
    assert adopted["id"] == "mesh-demo/begun"
    assert adopted["outputs"]["__inputs"] == begun["inputs"]
    assert deployment["resources"][2]["id"] == "mesh-demo"


def test_half_a_state_is_replaced_by_its_backup(tmp_path: Path) -> None:
    folder = tmp_path / ".pulumi/stacks/hosted-mesh"
    folder.mkdir(parents=True)
    file, backup = folder / "a.meshes.b.json", folder / "a.meshes.b.json.bak"
    backend = f"file://{tmp_path}"
    whole, older = '{"version": 3}', '{"version": 3, "checkpoint": {}}'

    def restored() -> bool:
        return restore_state(backend, "a.meshes.b")

    backup.write_text(older)
    assert not restored()  # a removed stack stays removed
    file.write_text(whole)
    assert not restored()
    assert file.read_text() == whole
    for half in ("", whole[:-1], "\0\0", "[]"):
        file.write_text(half)
        assert restored()
        assert file.read_text() == older
        assert (folder / "a.meshes.b.json.broken").read_text() == half
    for bad in ("", older[:-1]):
        file.write_text("{")
        backup.write_text(bad)
        assert not restored()
        assert file.read_text() == "{"
    backup.unlink()
    assert not restored()
    history = tmp_path / ".pulumi/history/hosted-mesh/a.meshes.b"
    history.mkdir(parents=True)
    names = (folder / f"{file.name}.attrs", folder / f"{backup.name}.attrs", history / "1.json.attrs")
    names[0].write_text("")
    names[1].write_text('{"user.content_type": "te')
    names[2].write_text("{}")
    file.write_text(whole)
    assert not restored()
    assert [name.exists() for name in names] == [False, False, True]
    assert not restore_state("s3://bucket", "a.meshes.b")


def test_a_state_without_pending_operations_stays() -> None:
    deployment = {"resources": [secret("there")]}
    before = copy.deepcopy(deployment)
    assert adopt_pending(deployment) == set()
    assert deployment == before


def test_older_objects_are_not_adopted() -> None:
    def created(name: str, stamp: str, kind: str = "core/v1:Secret") -> dict[str, Any]:
        return secret(name, type=f"kubernetes:{kind}", outputs={"metadata": {"creationTimestamp": stamp}})

    definition = created("crd", EARLIER, "apiextensions.k8s.io/v1:CustomResourceDefinition")
    kept, foreign = created("new", LATER), created("old", EARLIER)
    others = created("not adopted", EARLIER)
    deployment = {"resources": [kept, foreign, definition, others]}
    assert drop_older(deployment, {"urn::new", "urn::old", "urn::crd"}, BEGAN) == ["old"]
    assert deployment["resources"] == [kept, definition, others]


def test_forgotten_creations_are_adopted_with_their_components() -> None:
    """The engine forgets a creation whose plug-in was killed; a preview lists it again."""
    provider = {"urn": "urn::cluster", "type": "pulumi:providers:kubernetes", "id": "7"}
    masked = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "plaintext": "[secret]"}
    key = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"namespace": "n", "name": "s"},
        "stringData": {"k": masked},
        "x": [masked, "[secret]"],
    }
    created = [
        {"urn": "urn::part", "type": "hosted-mesh:index:Part", "custom": False, "parent": "", "inputs": {}},
        {
            "urn": "urn::s",
            "type": "kubernetes:core/v1:Secret",
            "custom": True,
            "parent": "urn::part",
            "provider": "urn::cluster::7",
            "inputs": key,
        },
        {**secret("elsewhere"), "parent": "urn::absent", "provider": "urn::cluster::7"},
        {**secret("no provider"), "provider": "urn::other::04da6b54"},
        {**secret("there"), "provider": "urn::cluster::7"},
    ]
    deployment = {"resources": [provider, secret("there", id="mesh-demo/there")]}
    assert adopt_created(deployment, created) == {"urn::s"}
    part, adopted = deployment["resources"][2:]
    assert part == {"urn": "urn::part", "type": "hosted-mesh:index:Part", "custom": False}
    assert (adopted["id"], adopted["provider"], adopted["parent"]) == ("n/s", "urn::cluster::7", "urn::part")
    for data in (adopted["inputs"], adopted["outputs"], adopted["outputs"]["__inputs"]):
        assert data["stringData"]["4dabf18193072939515e22adb298388d"] == "1b47061264138c4ac30d75fd1eb44270"
        assert [json.loads(one["plaintext"]) for one in data["x"]] == ["[secret]", "[secret]"]
        assert json.loads(data["stringData"]["plaintext"]) == {}
        assert data["metadata"] == {"namespace": "n", "name": "s"}
