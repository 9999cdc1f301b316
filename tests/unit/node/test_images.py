"""The table of images, and who a container's process is."""

import json
from pathlib import Path

import pytest
from lightkube.models.core_v1 import Capabilities, Container, PodSecurityContext, PodSpec, SecurityContext

from sandbox.node.runtime import build_spec, images, one_user, orphans, security
from sandbox.node.runtime.security import IdMap, RefusedError
from sandbox.node.runtime.spec import Identity

ALL_IDS = IdMap(((0, 2**32 - 1),))
ONE_ID = IdMap(((0, 1),))


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("pilot", "pilot"),
        ("docker.io/istio/pilot:1.31", "pilot"),
        ("localhost:5000/pilot", "pilot"),
        ("localhost:5000/a/pilot:1.31-distroless@sha256:0123", "pilot"),
        ("hosted-mesh/sample:1", "sample"),
    ],
)
def test_the_last_segment_names_the_image(reference: str, name: str) -> None:
    assert images.repository(reference) == name
    assert images.find(reference) is images.IMAGES[name]


def test_an_unknown_image_is_named_with_the_known_ones() -> None:
    with pytest.raises(
        images.UnknownImageError,
        match=r'"docker\.io/library/nginx:1".*coredns, etcd, external-dns, knot, pilot, proxyv2, python, sample',
    ):
        images.find("docker.io/library/nginx:1")


def test_the_image_id_says_which_program_runs(tmp_path: Path) -> None:
    (tmp_path / "pilot-discovery").write_bytes(b"")
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert images.image_id(images.IMAGES["pilot"], tmp_path) == f"sandbox-process:pilot-discovery@sha256:{empty}"


def test_a_tool_with_libraries_of_its_own_is_linked_and_its_surroundings_bound(tmp_path: Path) -> None:
    tools, entry = tmp_path / "bin", tmp_path / "nftables-0"
    (entry / "bin").mkdir(parents=True)
    (entry / "system").mkdir()
    tools.mkdir()
    for name in ("pilot-agent", "envoy", "envoy_bootstrap.json"):
        (tools / name).touch()
    (entry / "bin" / "nft").touch()
    (tools / "nft").symlink_to(entry / "bin" / "nft")
    files = images.files(images.IMAGES["proxyv2"], tools)
    assert files.linked == {"/usr/local/bin/nft": str(entry / "bin" / "nft")}
    assert files.bound[str(entry)] == str(entry)
    assert files.bound["/usr/local/bin/envoy"] == str(tools / "envoy")


def test_a_missing_tool_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        images.files(images.IMAGES["pilot"], tmp_path)


def identity(own: SecurityContext | None = None, pod: PodSecurityContext | None = None, *, image: str = "pilot",
             ids: IdMap = ALL_IDS) -> Identity:  # fmt: skip
    spec = PodSpec(containers=[], securityContext=pod)
    return security.identity(spec, Container(name="c", securityContext=own), images.IMAGES[image], ids)


def test_the_images_user_is_the_default() -> None:
    assert (identity().uid, identity().gid) == (1337, 1337)
    assert (identity(image="proxyv2").uid, identity(image="proxyv2").gid) == (0, 0)


def test_the_container_wins_over_the_pod_and_the_pod_over_the_image() -> None:
    pod = PodSecurityContext(runAsUser=5, runAsGroup=6, fsGroup=7, supplementalGroups=[8])
    found = identity(SecurityContext(runAsUser=9), pod)
    assert (found.uid, found.gid, found.groups) == (9, 6, (6, 7, 8))
    assert identity(pod=PodSecurityContext(runAsUser=5)).gid == 0  # the image's group goes with the image's user


def test_non_root_is_enforced() -> None:
    with pytest.raises(RefusedError, match="image will run as root"):
        identity(SecurityContext(runAsNonRoot=True), image="proxyv2")
    with pytest.raises(RefusedError):
        identity(SecurityContext(runAsUser=0), PodSecurityContext(runAsNonRoot=True))


def test_capabilities() -> None:
    default = set(security.CAPABILITIES.values())
    assert set(identity().capabilities) == default
    assert identity(SecurityContext(capabilities=Capabilities(drop=["ALL"]))).capabilities == ()
    added = Capabilities(drop=["ALL"], add=["NET_ADMIN", "CAP_NET_RAW"])
    assert identity(SecurityContext(capabilities=added)).capabilities == (12, 13)
    with pytest.raises(RefusedError, match="SYS_ADMIN"):
        identity(SecurityContext(capabilities=Capabilities(add=["SYS_ADMIN"])))
    with pytest.raises(RefusedError, match="privileged"):
        identity(SecurityContext(privileged=True))


def test_an_id_that_is_not_mapped_is_left_out() -> None:
    found = identity(pod=PodSecurityContext(fsGroup=1337), ids=ONE_ID)
    assert (found.uid, found.gid, found.groups) == (None, None, ())
    assert identity(image="proxyv2", ids=ONE_ID).uid == 0


def test_privileges_stay_as_the_pod_says() -> None:
    assert identity(SecurityContext(allowPrivilegeEscalation=False)).no_new_privileges
    assert not identity().no_new_privileges


def test_command_replaces_the_entrypoint_and_arguments_follow() -> None:
    image = images.IMAGES["pilot"]
    argv = build_spec.argv_of(Container(name="c", args=["discovery", "$(X)"]), image, {"X": "1"})
    assert argv == ("/usr/local/bin/pilot-discovery", "discovery", "1")
    argv = build_spec.argv_of(Container(name="c", command=["sh", "-c"], args=["$$(X)"]), image, {"X": "1"})
    assert argv == ("sh", "-c", "$(X)")


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


def test_with_one_user_every_upstream_connection_is_marked() -> None:
    changed = one_user.marked(TEMPLATE)
    assert changed.count('"int_value": "1337"') == 2  # whether the template has a cluster manager of its own or not
    with_manager = changed.replace("  {{ if .x }}\n  ,\n", '  "a": 1,\n').split("  {{- else }}")[0]
    json.loads(with_manager + "}")
    without_manager = '{ "a": 1\n' + changed.split("  {{- else }}\n")[1].replace("  {{- end }}\n", "")
    json.loads(without_manager)


def test_another_template_is_refused() -> None:
    with pytest.raises(ValueError, match="not of the form"):
        one_user.marked("{}")


@pytest.mark.parametrize(
    ("state", "numbers", "orphan"),
    [
        ("Z (zombie)", "7176\t94", True),
        ("S (sleeping)", "7176\t94", False),  # still runs
        ("Z (zombie)", "45\t1", False),  # a container's first process
        ("Z (zombie)", "46", False),  # a launcher
    ],
)
def test_only_what_was_orphaned_in_a_container_is_reaped(state: str, numbers: str, orphan: bool) -> None:
    assert orphans.is_orphan(f"Name:\tsh\nState:\t{state}\nNSpid:\t{numbers}\n") == orphan
