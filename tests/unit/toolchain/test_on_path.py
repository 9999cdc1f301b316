"""Which programs on PATH are used: official releases at a version that fits."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox import toolchain
from sandbox.errors import SandboxError
from sandbox.progress import Progress
from sandbox.toolchain import on_path
from sandbox.toolchain.catalogue import FITS, KUBERNETES_PLUGIN
from sandbox.toolchain.on_path import Fit, Found


@pytest.mark.parametrize(
    ("name", "printed", "version"),
    [
        ("pulumi", "v3.256.0\n", "3.256.0"),
        ("pulumi", "v3.300.1\n", "3.300.1"),
        ("pulumi", "v3.255.9\n", None),
        ("pulumi", "v3.256.0-dev.0\n", None),
        ("pulumi", "v4.0.0\n", None),
        ("kubectl", "Client Version: v1.36.3\nKustomize Version: v5.8.1\n", "1.36.3"),
        ("kubectl", "Client Version: v1.35.0\n", "1.35.0"),
        ("kubectl", "Client Version: v1.32.4-dispatcher\n", None),
        ("kubectl", "Client Version: v1.36.1+k3s1\n", None),
        ("kubectl", "Client Version: v1.34.2\n", None),
        ("kube-apiserver", "Kubernetes v1.36.9\n", "1.36.9"),
        ("kube-apiserver", "Kubernetes v1.35.9\n", None),
        ("etcd", "etcd Version: 3.6.16\nGit SHA: abc\n", "3.6.16"),
        ("etcd", "etcd Version: 3.5.9\n", None),
        ("helm", "v4.2.4", "4.2.4"),
        ("helm", "v3.18.6", "3.18.6"),
        ("helm", "v3.17.4", None),
        ("helm", "v5.0.0", None),
        ("coredns", "CoreDNS-1.14.7\nlinux/amd64, go1.26.8,\n", "1.14.7"),
        ("external-dns", "v0.21.0\n", "0.21.0"),
        ("external-dns", "v0.23.0\n", None),
        ("external-dns", "unknown\n", None),
        ("istioctl", "client version: 1.31.2\n", "1.31.2"),
        ("istioctl", "client version: 1.30.0\n", None),
        ("olm", "OLM version: 0.38.0\ngit commit: \n", "0.38.0"),
        ("olm", "OLM version: v0.38.0\ngit commit: 9e55\n", "0.38.0"),
        ("olm", "OLM version: v0.37.0\ngit commit: 9e55\n", None),
        ("olm", "OLM version: \ngit commit: \n", None),
        ("opm", 'Version: version.Version{OpmVersion:"v1.64.0", GitCommit:"", GoArch:"amd64"}\n', "1.64.0"),
        ("opm", 'Version: version.Version{OpmVersion:"unknown", GitCommit:"", GoArch:"amd64"}\n', None),
        ("envoy", "\nenvoy  version: 9e55/1.40.0/Clean/RELEASE/BoringSSL\n\n", "1.40.0"),
        ("envoy", "\nenvoy  version: 9e55/1.40.0-dev/Modified/DEBUG/BoringSSL\n\n", None),
        ("nft", "nftables v1.0.6 (Lester Gooch #5)\n", "1.0.6"),
        ("nft", "nftables v0.9.8 (E.D.S.)\n", None),
        ("nft", "", None),
    ],
)
def test_fit(name: str, printed: str, version: str | None) -> None:
    assert FITS[name].version_in(printed) == version


# A real program whose printed "version" is its argument.
ECHO = Fit(("v1.5.0",), r"^v(\d+\.\d+\.\d+)$", (1,), (2,))


def place(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).symlink_to("/bin/echo")
    return folder / name


def test_a_fitting_program_is_found_but_not_among_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = place(tmp_path / "ours" / "bin", "tool"), place(tmp_path / "theirs", "tool")
    monkeypatch.setenv("PATH", f"{ours.parent}:{theirs.parent}")
    assert on_path.find({"tool": ECHO, "absent": ECHO}, tmp_path / "ours") == {"tool": Found(theirs, "1.5.0")}


def test_the_plug_in_is_not_put_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There the engine would take it for a person's own, and say so in every preview."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    programs = {name: place(tmp_path / "made", name) for name in ("helm", KUBERNETES_PLUGIN)}
    assert [program.name for program in toolchain._bin_dir(tmp_path / "tools", programs).iterdir()] == ["helm"]


def test_a_script_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "tool"
    script.write_text("#!/bin/sh\necho v1.5.0\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert on_path.find({"tool": ECHO}, tmp_path / "ours") == {}


def test_pulumi_counts_only_with_its_family_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pulumi = place(tmp_path, "pulumi")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("HOSTED_MESH_TOOLS", raising=False)
    monkeypatch.setattr(on_path, "find", lambda *_: {"pulumi": Found(pulumi, "3.256.0")})
    assert toolchain._on_path({"pulumi", "pulumi-language-python"}, tmp_path / "ours") == {}


def test_a_wrong_name_and_a_wrong_mode_are_clear_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SandboxError, match="There is no tool 'kubctl'") as error:
        toolchain.ensure(["kubctl"], progress=Progress.silent())
    assert "kubectl" in error.value.why
    monkeypatch.setenv("HOSTED_MESH_TOOLS", "pined")
    with pytest.raises(SandboxError, match="is not a valid value"):
        toolchain.ensure(["kubectl"], progress=Progress.silent())
