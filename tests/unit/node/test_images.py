"""The table of images."""

from pathlib import Path

import pytest

from sandbox.node.runtime import images


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("pilot", "pilot"),
        ("docker.io/istio/pilot:1.31", "pilot"),
        ("localhost:5000/pilot", "pilot"),
        ("localhost:5000/a/pilot:1.31-distroless@sha256:0123", "pilot"),
        ("hosted-mesh/sample:1", "sample"),
        ("docker.io/istio/pilot:1.31-dev", "pilot"),
    ],
)
def test_the_last_segment_names_the_image(reference: str, name: str) -> None:
    assert images.repository(reference) == name
    assert images.find(reference) is images.IMAGES[name]


@pytest.mark.parametrize("name", ["pilot", "proxyv2"])
def test_an_earlier_version_of_istio_has_programs_of_its_own(name: str) -> None:
    earlier, present = (images.find(f"localhost:5000/istio/{name}:{tag}-dev@sha256:0123") for tag in ("1.30", "1.31"))
    assert earlier is images.IMAGES[f"{name}:1.30-dev"]
    assert present is images.IMAGES[name]
    assert earlier.entrypoint == present.entrypoint
    assert set(earlier.tools) == set(present.tools)
    assert earlier.tools[earlier.entrypoint] == f"{present.tools[present.entrypoint]}-1.30"


def test_an_unknown_image_is_named_with_the_known_ones() -> None:
    known = "catalog-operator, coredns, .*pilot, .*proxyv2, python, sample"
    with pytest.raises(images.UnknownImageError, match=rf'"docker\.io/library/nginx:1".*{known}'):
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
