"""What a container is, as data, from what the runtime says of it: program, environment, rights, root directory."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from sandbox.node.runtime import build_spec, images, one_user, rootfs, security
from sandbox.node.runtime.security import IdMap, RefusedError
from sandbox.node.runtime.spec import Identity, Mount, RuntimeSpec

ALL_IDS = IdMap(((0, 2**32 - 1),))
ONE_ID = IdMap(((0, 1),))


def identity(image: str = "pilot", ids: IdMap = ALL_IDS, **context: Any) -> Identity:
    return security.identity(context, images.IMAGES[image], ids)


def test_the_images_user_is_the_default() -> None:
    assert (identity().uid, identity().gid) == (1337, 1337)
    assert (identity("proxyv2").uid, identity("proxyv2").gid) == (0, 0)


def test_a_user_without_a_group_has_that_of_the_images_own_files() -> None:
    assert identity(run_as_user={"value": 1337}).gid == 1337
    assert identity(run_as_user={"value": 5}).gid == 0
    assert identity(run_as_user={}).uid == 0  # a number is a message of its own, and 0 in it is left out
    assert identity(run_as_user={"value": 1337}, run_as_group={}).gid == 0


def test_groups_are_the_users_and_the_pods() -> None:
    found = identity(run_as_user={"value": 9}, run_as_group={"value": 6}, supplemental_groups=[8, 7])
    assert (found.uid, found.gid, found.groups) == (9, 6, (6, 7, 8))


def test_capabilities() -> None:
    default = set(security.CAPABILITIES.values())
    assert set(identity().capabilities) == default
    assert identity(capabilities={"drop_capabilities": ["ALL"]}).capabilities == ()
    added = {"drop_capabilities": ["ALL"], "add_capabilities": ["NET_ADMIN", "CAP_NET_RAW"]}
    assert identity(capabilities=added).capabilities == (12, 13)
    with pytest.raises(RefusedError, match="SYS_ADMIN"):
        identity(capabilities={"add_capabilities": ["SYS_ADMIN"]})
    with pytest.raises(RefusedError, match="privileged"):
        identity(privileged=True)


def test_an_id_that_is_not_mapped_is_left_out() -> None:
    found = identity(ids=ONE_ID, supplemental_groups=[1337])
    assert (found.uid, found.gid, found.groups) == (None, None, ())
    assert identity("proxyv2", ids=ONE_ID).uid == 0


def test_privileges_stay_as_the_pod_says() -> None:
    assert identity(no_new_privs=True).no_new_privileges
    assert not identity().no_new_privileges


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    for name in ("pilot-discovery", "pilot-agent", "envoy", "nft"):
        (tmp_path / name).touch()
    (tmp_path / "envoy_bootstrap.json").write_text(TEMPLATE)
    return tmp_path


def spec(tools: Path, ids: IdMap = ALL_IDS, *, image: str = "istio/pilot:1", **more: Any) -> RuntimeSpec:
    given = {
        "image": {"image": image},
        **more.pop("container", {}),
    }
    sandbox = {"hostname": "web-0", **more.pop("sandbox", {})}
    document = {"container": given, "sandbox": sandbox, "bin_dir": str(tools), "state": "/state", **more}
    return build_spec.spec_of(document, ids)


def test_command_replaces_the_entrypoint_and_arguments_follow(tools: Path) -> None:
    assert spec(tools, container={"args": ["discovery"]}).argv == ("/usr/local/bin/pilot-discovery", "discovery")
    assert spec(tools, container={"command": ["sh", "-c"], "args": ["a"]}).argv == ("sh", "-c", "a")
    interpreter = str(Path(sys.executable).resolve())
    assert spec(tools, image="sample").argv == (interpreter, "-I", "/opt/sample/sample.py")


def test_a_further_process_has_its_own_words_and_all_else_of_the_container(tools: Path) -> None:
    container = {"command": ["sleep"], "working_dir": "/tmp", "envs": [{"key": "A"}]}
    found = spec(tools, container=container, argv=["ls", "/"], join_pid=7)
    assert (found.argv, found.join_pid, found.working_directory) == (("ls", "/"), 7, "/tmp")
    assert found.environment["A"] == ""
    assert found.identity == identity()


def test_the_pods_variables_win_over_the_images_and_the_nodes(tools: Path) -> None:
    def of(**variables: str) -> RuntimeSpec:
        envs = [{"key": key, "value": value} for key, value in variables.items()]
        return spec(tools, container={"envs": envs})

    assert of(A="é").environment == {"PATH": images._DEFAULT_PATH, "HOSTNAME": "web-0", "HOME": "/", "A": "é"}
    assert of(PATH="/p", HOME="/h").environment == {"PATH": "/p", "HOSTNAME": "web-0", "HOME": "/h"}
    assert spec(tools, image="proxyv2").environment["HOME"] == "/root"


def texts(found: RuntimeSpec) -> dict[str, str]:
    return {mount.target: mount.source for mount in found.mounts if mount.kind == "file"}


def test_names_are_as_the_sandbox_has_them(tools: Path) -> None:
    dns = {"servers": ["10.96.0.10", "10.96.0.11"], "searches": ["a.local", "b.local"], "options": ["ndots:5"]}
    found = texts(spec(tools, sandbox={"dns_config": dns}))
    assert found["/etc/resolv.conf"] == (
        "nameserver 10.96.0.10\nnameserver 10.96.0.11\nsearch a.local b.local\noptions ndots:5\n"
    )
    assert found["/etc/hostname"] == "web-0\n"
    assert spec(tools, sandbox={"hostname": ""}).hostname == os.uname().nodename


def test_an_outer_volume_is_mounted_before_the_one_in_it_and_both_over_all_else(tools: Path) -> None:
    mounts = [
        {"container_path": "/etc/hosts/in/side", "host_path": "/s/in"},
        {"container_path": "/etc/hosts", "host_path": "/s/hosts", "readonly": True},
    ]
    found = spec(tools, container={"mounts": mounts}).mounts
    assert found[-2:] == (
        Mount("bind", "/etc/hosts", "/s/hosts", read_only=True),
        Mount("bind", "/etc/hosts/in/side", "/s/in"),
    )


def test_an_image_is_no_volume(tools: Path) -> None:
    with pytest.raises(RefusedError, match="/m"):
        spec(tools, container={"mounts": [{"container_path": "/m", "image": {"image": "x"}}]})


def test_the_root_directory_hides_the_machine(tools: Path) -> None:
    mounts = spec(tools).mounts
    bound = {mount.source for mount in mounts if mount.kind == "bind"}
    assert all(mount.read_only for mount in mounts if mount.kind == "bind" and not mount.target.startswith("/dev/"))
    assert not bound & {"/", "/etc", "/root", "/home", "/var", "/run", "/dev", "/sys", "/etc/passwd", "/etc/shadow"}
    assert "/usr/local/bin" not in bound


def test_a_root_directory_is_read_only_if_asked(tools: Path) -> None:
    asked = {"linux": {"security_context": {"readonly_rootfs": True}}}
    assert spec(tools, container=asked).read_only_root
    assert not spec(tools).read_only_root


def test_the_containers_users_are_those_whose_groups_are_known() -> None:
    assert rootfs.GROUP_OF == {0: 0, 65534: 65534, 65532: 65532, 1337: 1337}


TEMPLATE = """{
  {{ if .x }}
  ,
  "cluster_manager": {
    "enable_deferred_cluster_creation": true
  }
  {{- end }}
  ,
  "deferred_stat_options": {}
}"""
BOOTSTRAP = "/var/lib/istio/envoy/envoy_bootstrap_tmpl.json"


def test_with_one_user_every_upstream_connection_is_marked() -> None:
    changed = one_user.marked(TEMPLATE)
    assert changed.count('"int_value": "1337"') == 2  # whether the template has a cluster manager of its own or not
    with_manager = changed.replace("  {{ if .x }}\n  ,\n", '  "a": 1,\n').split("  {{- else }}")[0]
    json.loads(with_manager + "}")
    without_manager = '{ "a": 1\n' + changed.split("  {{- else }}\n")[1].replace("  {{- end }}\n", "")
    json.loads(without_manager)


def test_another_template_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot mark connections"):
        one_user.marked("{}")


def test_with_one_user_a_proxy_marks_its_connections_and_has_the_right_to(tools: Path) -> None:
    found = spec(tools, ONE_ID, image="proxyv2")
    assert texts(found)[BOOTSTRAP] == one_user.marked(TEMPLATE)
    assert BOOTSTRAP not in {mount.target for mount in found.mounts if mount.kind == "bind"}
    assert security.GRANTABLE["NET_ADMIN"] in found.identity.capabilities


def test_with_users_a_proxy_is_as_its_image_is(tools: Path) -> None:
    found = spec(tools, image="proxyv2")
    assert BOOTSTRAP not in texts(found)
    assert security.GRANTABLE["NET_ADMIN"] not in found.identity.capabilities
    assert security.GRANTABLE["NET_ADMIN"] not in spec(tools, ONE_ID).identity.capabilities
