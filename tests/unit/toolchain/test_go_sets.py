"""The logic around a Go set, with a tiny set and a stand-in for the compiler that records how it is called.

The real sets are built by the real compiler in `make tools`, which every engine and live test depends on.
"""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest

from sandbox import toolchain
from sandbox.errors import SandboxError
from sandbox.jobs import Cancelled, Job
from sandbox.progress import Progress
from sandbox.toolchain.catalogue import NAMES, SOURCES
from sandbox.toolchain.go_compiler import Go, needed_version
from sandbox.toolchain.go_sets import Build, Copy, GoSet
from sandbox.toolchain.on_path import parse_version

COMPILER = """#!/bin/sh
echo "$GOPROXY|$GOTOOLCHAIN|$CGO_ENABLED|$GOMODCACHE|$*" >> "{calls}"
[ -e "{broken}" ] && echo "cannot find module providing package" && exit 1
case $1 in
list) [ "$2" = -deps ] && echo "package example.org/tiny"; echo "{module}" ;;
build) for last; do :; done; while [ "$1" != -o ]; do shift; done; touch "$2/tool" ;;
esac
"""


@pytest.fixture
def tiny(tmp_path: Path) -> GoSet:
    folder = tmp_path / "sets" / "tiny"
    folder.mkdir(parents=True)
    (folder / "go.mod").write_text("module tiny\n\ngo 1.26.0\n")
    (folder / "go.sum").write_text("")
    build = Build(("tool",), variables=(("example.org/tiny.version", "v1.2.3"),))
    return GoSet("tiny", "tiny", "Tiny v1.2.3", ("tiny",), (build,), (("tool", "tiny"),), root=tmp_path / "sets")


@pytest.fixture
def go(tmp_path: Path) -> Go:
    program = tmp_path / "go"
    calls, broken, module = tmp_path / "calls", tmp_path / "broken", tmp_path / "module"
    (module / "charts").mkdir(parents=True)
    (module / "charts" / "Chart.yaml").write_text("name: tiny\n")
    program.write_text(COMPILER.format(calls=calls, broken=broken, module=module))
    program.chmod(0o755)
    return Go(program, "1.26.6", "stand-in")


def job(tmp_path: Path) -> Job:
    return Job("tiny", tmp_path / "tiny.log", lambda _: None)


def with_(tiny: GoSet, **changed: object) -> GoSet:
    fields = {name: getattr(tiny, name) for name in GoSet.__dataclass_fields__}
    return GoSet(**(fields | changed))


def test_the_key_changes_with_pins_flags_and_what_is_copied_only(tiny: GoSet) -> None:
    before = tiny.key()
    assert with_(tiny, title="Other words").key() == before
    keys = [before]
    keys += [with_(tiny, builds=(Build(("tool",), tags="agent"),)).key()]
    keys += [with_(tiny, builds=(Build(("tool",), variables=(("example.org/tiny.version", "v1.2.4"),)),)).key()]
    keys += [with_(tiny, copies=(Copy("example.org/tiny", "charts", "charts"),)).key()]
    (tiny.directory / "go.sum").write_text("example.org/tiny v1.2.3 h1:x=\n")
    keys += [tiny.key()]
    assert len(set(keys)) == len(keys)


def test_one_set_s_pins_do_not_touch_another_s_key(tmp_path: Path, tiny: GoSet) -> None:
    other = tmp_path / "sets" / "other"
    other.mkdir()
    for name in ("go.mod", "go.sum"):
        (other / name).write_text((tiny.directory / name).read_text())
    before = with_(tiny, folder="other").key()
    (tiny.directory / "go.mod").write_text("module tiny\n\ngo 1.27.0\n")
    assert with_(tiny, folder="other").key() == before
    assert with_(tiny, folder="other", copies=(Copy("m", "a", "b", pinned_by="tiny"),)).key() != before


def test_the_network_is_on_for_downloads_only(tmp_path: Path, tiny: GoSet, go: Go) -> None:
    into = tmp_path / "entry"
    into.mkdir()
    with_(tiny, copies=(Copy("example.org/tiny", "charts", "charts"),)).build(into, job(tmp_path), go)

    assert (into / "bin" / "tiny").is_file()
    assert (into / "charts" / "Chart.yaml").read_text() == "name: tiny\n"
    listing, build, download, _ = (tmp_path / "calls").read_text().splitlines()
    assert listing.split("|")[0] != "off"
    assert "list -mod=readonly -modcacherw -deps -x" in listing
    assert build.startswith("off|local|0|")
    assert "-trimpath -buildvcs=false" in build
    assert "-ldflags -s -w -X example.org/tiny.version=v1.2.3" in build
    assert download.endswith("mod download -modcacherw example.org/tiny")


def test_go_s_caches_are_ours_unless_the_user_has_chosen(
    tmp_path: Path, go: Go, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in ("GOMODCACHE", "GOCACHE"):
        monkeypatch.delenv(name, raising=False)
    environment = go.environment(network=True)
    assert environment["GOMODCACHE"] == str(tmp_path / "hosted-mesh" / "go" / "modules")
    monkeypatch.setenv("GOMODCACHE", "/elsewhere")
    monkeypatch.setenv("GOARCH", "mips")
    environment = go.environment(network=True)
    assert environment["GOMODCACHE"] == "/elsewhere"
    assert "GOARCH" not in environment


def test_a_user_s_own_flags_of_go_are_kept_beside_ours(go: Go, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOFLAGS", "-p=1")
    assert go.environment(network=True)["GOFLAGS"] == "-p=1"
    assert go.environment(network=False)["GOFLAGS"].startswith("-p=1 -gcflags=")


def test_a_failed_download_shows_the_end_of_its_log_and_what_to_check(tmp_path: Path, tiny: GoSet, go: Go) -> None:
    (tmp_path / "broken").touch()
    with pytest.raises(SandboxError) as error:
        tiny.build(tmp_path / "entry", job(tmp_path), go)
    assert "tiny: `go list" in error.value.what
    assert "cannot find module providing package" in error.value.why
    assert str(tmp_path / "tiny.log") in error.value.why
    assert "GOPROXY" in error.value.fix


def test_finished_sets_stay_when_a_later_one_fails(
    tmp_path: Path, tiny: GoSet, go: Go, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Resuming: the first set is not built again by the run after the failure."""
    second = with_(tiny, name="second", provides=("absent",), renames=())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOSTED_MESH_TOOLS", "pinned")
    monkeypatch.setattr(toolchain, "SOURCES", (tiny, second))
    monkeypatch.setattr(toolchain, "NAMES", ("tiny", "absent"))
    monkeypatch.setattr(toolchain, "CHARTS", "tiny")
    monkeypatch.setattr(toolchain, "find_go", lambda *_: go)
    monkeypatch.setattr(toolchain, "_builders", lambda: 1)

    def builds() -> int:
        return (tmp_path / "calls").read_text().count("build -mod=readonly")

    with pytest.raises(SandboxError, match="second: the build did not make absent"):
        toolchain.ensure(progress=Progress.silent())
    assert builds() == 2
    tools = toolchain.ensure(["tiny"], progress=Progress.silent())
    assert builds() == 2
    assert (tools.bin_dir / "tiny").resolve() == tools["tiny"]
    with pytest.raises(SandboxError, match="There is no tool 'absent' here"):
        tools["absent"]


def test_what_make_up_does_not_run_is_made_when_it_is_asked_for(
    tmp_path: Path, tiny: GoSet, go: Go, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOSTED_MESH_TOOLS", "pinned")
    monkeypatch.setattr(toolchain, "SOURCES", (tiny, with_(tiny, name="second", provides=("other",), renames=())))
    monkeypatch.setattr(toolchain, "NAMES", ("tiny", "other"))
    monkeypatch.setattr(toolchain, "WHEN_WANTED", {"other"})
    monkeypatch.setattr(toolchain, "CHARTS", "tiny")
    monkeypatch.setattr(toolchain, "find_go", lambda *_: go)
    assert set(toolchain.ensure(progress=Progress.silent()).programs) == {"tiny"}
    with pytest.raises(SandboxError, match="second: the build did not make other"):
        toolchain.ensure(["tiny", "other"], progress=Progress.silent())


def test_a_run_that_is_given_up_stops_its_commands(tmp_path: Path, tiny: GoSet, go: Go) -> None:
    cancelled = threading.Event()
    cancelled.set()
    with pytest.raises(Cancelled):
        Job("tiny", tmp_path / "log", print, cancelled).run(["sleep", "60"], limit=60)


def test_go_versions() -> None:
    assert parse_version("go1.26.8") == (1, 26, 8)
    assert parse_version("1.27rc1") >= parse_version("1.26.0")
    assert parse_version("1.26") == parse_version("1.26.0")
    assert parse_version("1.9.7") < parse_version("1.26.0")
    assert parse_version("devel +abc") == ()


def test_the_committed_sets_pin_what_their_titles_say() -> None:
    sets = {source.name: source for source in SOURCES if isinstance(source, GoSet)}
    for name, module, version in [
        ("pulumi", "github.com/pulumi/pulumi/sdk/v3", "v3.256.0"),
        ("kubernetes", "k8s.io/kubernetes", "v1.36.3"),
        ("kubernetes", "go.etcd.io/etcd/server/v3", "v3.6.16"),
        ("pulumi-language-python", "github.com/pulumi/pulumi/sdk/v3", "v3.68.0"),
        ("pulumi-kubernetes", "helm.sh/helm/v3", "v3.18.6"),
        ("coredns", "github.com/coredns/coredns", "v1.14.7"),
        ("external-dns", "sigs.k8s.io/external-dns", "v0.21.0"),
        ("jaeger", "github.com/jaegertracing/jaeger", "v1.62.0"),
    ]:
        assert version in sets[name].title
        assert f"{module} {version} " in (sets[name].directory / "go.mod").read_text()
    # A pseudo-version, which names the commit that the title does.
    plugin = sets["pulumi-kubernetes"]
    (commit,) = re.findall(r"\((\w{12})\)", plugin.title)
    pin = rf"github.com/pulumi/pulumi-kubernetes/provider/v4 v4\.0\.0-\d{{14}}-{commit}$"
    assert re.search(pin, (plugin.directory / "go.mod").read_text(), re.MULTILINE)
    assert parse_version(needed_version([s.directory / "go.mod" for s in sets.values()])) == (1, 26, 1)
    assert len(NAMES) == len(set(NAMES))
