"""Which plug-ins are chosen, where they are put, and that a refused download is asked for once."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.errors import SandboxError
from sandbox.plugins import VERSIONS, official
from sandbox.plugins.selection import select
from sandbox.toolchain import Tools

NAMES = tuple(VERSIONS)
STANDINS = Path(official.__file__).parent / "bin"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sandbox's PULUMI_HOME on a machine where nobody has plug-ins."""
    person = tmp_path / "person"
    person.mkdir()
    monkeypatch.setattr(Path, "home", lambda: person)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    for variable in ("PULUMI_HOME", "HOSTED_MESH_PLUGINS"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path / "pulumi-home"


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    """With Pulumi's own kubernetes plug-in, as the sandbox builds it."""
    built = tmp_path / "built" / official.executable("kubernetes")
    built.parent.mkdir()
    built.write_bytes(b"\x7fELF")
    built.chmod(0o755)
    programs = {"pulumi": tmp_path / "pulumi", built.name: built}
    return Tools(tmp_path, tmp_path, tmp_path, programs, {})


@pytest.fixture
def refusals(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """No way out of this machine; each attempt is noted."""
    asked: list[str] = []

    def probe() -> str:
        asked.append("asked")
        return "no route"

    monkeypatch.setattr(official, "_probe", probe)
    return asked


def _install(home: Path, name: str, version: str, content: bytes = b"\x7fELF") -> Path:
    program = home / "plugins" / f"resource-{name}-v{version}" / official.executable(name)
    program.parent.mkdir(parents=True)
    program.write_bytes(content)
    program.chmod(0o755)
    return program


def _linked(home: Path, name: str) -> Path:
    return (home / "plugins" / f"resource-{name}-v{VERSIONS[name]}" / official.executable(name)).resolve()


def _are_standins(home: Path, tools: Tools) -> bool:
    """Whether the engine finds the built plug-in for kubernetes and stand-ins for the others."""
    built = tools[official.executable("kubernetes")]
    return _linked(home, "kubernetes") == built and {_linked(home, name).parent for name in NAMES[1:]} == {STANDINS}


def test_what_the_sandbox_has_where_no_release_can_be_had(home: Path, tools: Tools, refusals: list[str]) -> None:
    chosen = select(tools, home)
    assert chosen.kind == "standin"
    assert "Pulumi's own for kubernetes, stand-ins for tls and random" in chosen.summary
    assert chosen.summary.endswith("(Pulumi's releases are not here and cannot be downloaded)")
    assert chosen.path == ()
    assert _are_standins(home, tools)
    assert select(tools, home).kind == "standin"
    assert _are_standins(home, tools)
    assert refusals == ["asked"], "the second run must not try again"
    assert chosen.env["PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"] == "true"


def _in_front(path: tuple[Path, ...], tools: Tools) -> bool:
    return set(path) == {STANDINS, tools[official.executable("kubernetes")].parent}


def test_official_ones_where_they_are(home: Path, tools: Tools, refusals: list[str]) -> None:
    for name, version in VERSIONS.items():
        _install(Path.home() / ".pulumi", name, version)
    chosen = select(tools, home)
    assert chosen.kind == "official"
    assert refusals == []
    for name in NAMES:
        assert ".pulumi" in str(_linked(home, name))


def test_what_an_earlier_run_was_told_is_forgotten(
    home: Path, tools: Tools, refusals: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A run that was given official ones leaves links to them, in this version's folder or in that of another
    checkout's version."""
    elsewhere = tmp_path / "elsewhere"
    for name, version in VERSIONS.items():
        _install(elsewhere, name, version)
    monkeypatch.setenv("PULUMI_HOME", str(elsewhere))
    monkeypatch.setenv("HOSTED_MESH_PLUGINS", "official")
    assert select(tools, home).kind == "official"
    newer = home / "plugins" / "resource-tls-v5.99.0" / official.executable("tls")
    newer.parent.mkdir()
    newer.symlink_to(_linked(home, "tls"))

    monkeypatch.delenv("HOSTED_MESH_PLUGINS")
    monkeypatch.setenv("PULUMI_HOME", str(home))  # as in the sandbox's shell
    assert official.installed(home) is None
    monkeypatch.delenv("PULUMI_HOME")
    chosen = select(tools, home)
    assert (chosen.kind, chosen.path) == ("standin", ())
    assert _are_standins(home, tools)
    assert not newer.is_symlink()


@pytest.mark.parametrize("missing", NAMES)
def test_never_only_some_of_the_releases(home: Path, tools: Tools, refusals: list[str], missing: str) -> None:
    for name, version in VERSIONS.items():
        if name != missing:
            _install(Path.home() / ".pulumi", name, version)
    assert select(tools, home).kind == "standin"


def test_no_releases_when_asked_for(
    home: Path, tools: Tools, refusals: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOSTED_MESH_PLUGINS", "standin")
    for name, version in VERSIONS.items():
        _install(home, name, version)
    chosen = select(tools, home)
    assert chosen.kind == "standin"
    assert _in_front(chosen.path, tools), "releases in the same folder would win over a link"
    assert refusals == []


def test_official_ones_when_asked_for_and_not_to_be_had(
    home: Path, tools: Tools, refusals: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    select(tools, home)
    monkeypatch.setenv("HOSTED_MESH_PLUGINS", "official")
    with pytest.raises(SandboxError, match=r"(?s)cannot be downloaded.*no route"):
        select(tools, home)
    assert refusals == ["asked", "asked"], "who asks for them gets an attempt"
    monkeypatch.setenv("HOSTED_MESH_PLUGINS", "other")
    with pytest.raises(SandboxError, match="HOSTED_MESH_PLUGINS"):
        select(tools, home)


def test_nothing_is_put_into_the_home_of_the_person(tools: Tools, home: Path, refusals: list[str]) -> None:
    theirs = Path.home() / ".pulumi"
    (theirs / "logs").mkdir(parents=True)
    chosen = select(tools, theirs)
    assert _in_front(chosen.path, tools)
    assert not (theirs / "plugins").exists()
    assert (theirs / "logs").is_dir()


@pytest.mark.parametrize(
    ("version", "wanted", "expected"),
    [
        ("4.34.2", "4.34.2", True),
        ("4.35.0", "4.34.2", True),
        ("4.34.1", "4.34.2", False),
        ("5.0.0", "4.34.2", False),
        ("", "1.0.0", False),
    ],
)
def test_versions_that_fit(version: str, wanted: str, expected: bool) -> None:
    assert official.fits(version, wanted) is expected


def test_scripts_are_not_official(tmp_path: Path) -> None:
    script = _install(tmp_path, "tls", "5.6.2", b"#!/bin/sh\n")
    program = _install(tmp_path, "random", "4.21.4")
    assert not official.is_official(script)
    assert official.is_official(program)
    assert not official.is_official(tmp_path / "missing")


def test_an_installation_that_fails_says_why(tmp_path: Path) -> None:
    pulumi = tmp_path / "pulumi"
    pulumi.write_text('#!/bin/sh\n[ "$4" = kubernetes ] || { echo "a hint\nno plug-in $4 $5" >&2; exit 1; }\n')
    pulumi.chmod(0o755)
    assert official._install(pulumi, tmp_path) == f"no plug-in tls {VERSIONS['tls']}"
