"""Files of volumes: what is in them, and how they are replaced."""

import base64
import os
from pathlib import Path

import pytest
from lightkube.models.core_v1 import (
    ConfigMapVolumeSource,
    Container,
    DownwardAPIProjection,
    DownwardAPIVolumeFile,
    KeyToPath,
    ObjectFieldSelector,
    PodSpec,
    ProjectedVolumeSource,
    SecretProjection,
    SecretVolumeSource,
    ServiceAccountTokenProjection,
    Volume,
    VolumeMount,
    VolumeProjection,
)
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import ConfigMap, Pod, Secret

from sandbox.node.container import fields
from sandbox.node.keyed_data import Objects
from sandbox.node.runtime import build_spec, rootfs
from sandbox.node.runtime.spec import Mount
from sandbox.node.volumes import atomic_files, payload
from sandbox.node.volumes.payload import File, NotMountableError


def inputs(objects: Objects | None = None) -> payload.Inputs:
    pod = Pod(metadata=ObjectMeta(name="web", namespace="shop", labels={"a": "b"}), spec=PodSpec(containers=[]))
    return payload.Inputs(
        pod=pod,
        facts=fields.Facts("10.1.0.7", "10.9.0.1", "10.96.0.1", {}),
        token=lambda projection: f"token for {projection.audience}",
        objects=objects or {},
    )


def secret(**data: bytes) -> Secret:
    return Secret(data={key: base64.b64encode(value).decode() for key, value in data.items()})


def test_a_secret_with_its_mode() -> None:
    volume = Volume(name="v", secret=SecretVolumeSource(secretName="s", defaultMode=0o400))
    assert payload.files(volume, inputs({(Secret, "s"): secret(a=b"\x00\xff")})) == {"a": File(b"\x00\xff", 0o400)}


def test_items_choose_rename_and_have_modes_of_their_own() -> None:
    items = [KeyToPath(key="a", path="deep/er/x", mode=0o600), KeyToPath(key="b", path="y")]
    volume = Volume(name="v", configMap=ConfigMapVolumeSource(name="c", items=items))
    config_map = ConfigMap(data={"a": "1", "not": "chosen"}, binaryData={"b": base64.b64encode(b"2").decode()})
    found = payload.files(volume, inputs({(ConfigMap, "c"): config_map}))
    assert found == {"deep/er/x": File(b"1", 0o600), "y": File(b"2", 0o644)}


def test_what_is_missing_is_named_unless_optional() -> None:
    absent = Volume(name="v", secret=SecretVolumeSource(secretName="s"))
    with pytest.raises(NotMountableError, match='secret "s" not found'):
        payload.files(absent, inputs())
    key = Volume(name="v", secret=SecretVolumeSource(secretName="s", items=[KeyToPath(key="k", path="k")]))
    with pytest.raises(NotMountableError, match="non-existent key: k"):
        payload.files(key, inputs({(Secret, "s"): secret(a=b"1")}))
    optional = Volume(name="v", configMap=ConfigMapVolumeSource(name="c", optional=True))
    assert payload.files(optional, inputs()) == {}


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", ""])
def test_no_path_leads_out_of_a_volume(path: str) -> None:
    volume = Volume(name="v", secret=SecretVolumeSource(secretName="s", items=[KeyToPath(key="a", path=path)]))
    with pytest.raises(NotMountableError, match="leads out"):
        payload.files(volume, inputs({(Secret, "s"): secret(a=b"1")}))


def test_a_projection_is_all_of_its_sources() -> None:
    pod_file = DownwardAPIVolumeFile(path="labels", fieldRef=ObjectFieldSelector(fieldPath="metadata.labels"))
    sources = [
        VolumeProjection(serviceAccountToken=ServiceAccountTokenProjection(path="token", audience="istio-ca")),
        VolumeProjection(secret=SecretProjection(name="s")),
        VolumeProjection(downwardAPI=DownwardAPIProjection(items=[pod_file])),
    ]
    volume = Volume(name="v", projected=ProjectedVolumeSource(sources=sources))
    found = payload.files(volume, inputs({(Secret, "s"): secret(k=b"1")}))
    assert found is not None
    assert {name: file.content for name, file in found.items()} == {
        "token": b"token for istio-ca", "k": b"1", "labels": b'a="b"',
    }  # fmt: skip
    assert payload.references([volume]) == {(Secret, "s")}
    assert [one.audience for one in payload.tokens([volume])] == ["istio-ca"]


def test_files_are_replaced_in_one_step(tmp_path: Path) -> None:
    assert atomic_files.write(tmp_path, {"a": File(b"1", 0o644), "d/b": File(b"2", 0o400)})
    before = (tmp_path / "..data").readlink()
    assert (tmp_path / "a").readlink() == Path("..data/a")
    assert (tmp_path / "d" / "b").read_bytes() == b"2"
    assert (tmp_path / "d" / "b").stat().st_mode & 0o777 == 0o400
    assert not atomic_files.write(tmp_path, {"a": File(b"1", 0o644), "d/b": File(b"2", 0o400)})
    assert (tmp_path / "..data").readlink() == before
    held = os.open(tmp_path / "a", os.O_RDONLY)
    assert atomic_files.write(tmp_path, {"a": File(b"new", 0o644)})
    assert (tmp_path / "a").read_bytes() == b"new"
    assert not (tmp_path / "d").is_symlink()
    assert not (tmp_path / before).exists()
    assert os.read(held, 9) == b"1"  # who had it open still reads the old one
    os.close(held)


def test_a_group_may_read_what_fs_group_says(tmp_path: Path) -> None:
    atomic_files.write(tmp_path, {"a": File(b"1", 0o400)}, group=os.getgid())
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o440


NAMES = rootfs.NameService(hosts="", resolv_conf="", hostname="web")


def test_the_root_directory_hides_the_machine() -> None:
    mounts = rootfs.layout({"/usr/local/bin/x": "/tools/x"}, {}, NAMES, [])
    bound = {mount.source for mount in mounts if mount.kind == "bind"}
    assert all(mount.read_only for mount in mounts if mount.kind == "bind" and not mount.target.startswith("/dev/"))
    assert not bound & {"/", "/etc", "/root", "/home", "/var", "/run", "/dev", "/sys", "/etc/passwd", "/etc/shadow"}
    assert "/usr/local/bin" not in bound


def test_an_outer_volume_is_mounted_before_the_one_in_it() -> None:
    volumes = [Mount("bind", "/data/in/side", "/s/in"), Mount("bind", "/data", "/s/out", read_only=True)]
    mounts = rootfs.layout({}, {}, NAMES, volumes)
    assert [(mount.target, mount.read_only) for mount in mounts[-2:]] == [("/data", True), ("/data/in/side", False)]


@pytest.mark.parametrize("asked", [{"subPath": "logs"}, {"subPathExpr": "logs/$(POD)"}])
def test_a_part_of_a_volume_is_refused_and_not_the_whole_given(asked: dict[str, str]) -> None:
    mount = VolumeMount(name="v", mountPath="/m", **asked)
    with pytest.raises(NotMountableError, match=r'volume "v".*no subPath'):
        build_spec.volume_mounts(Container(name="c", volumeMounts=[mount]), Path)
