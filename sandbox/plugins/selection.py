"""The choice of the engine's provider plug-ins: Pulumi's releases where they are available, else replacements."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from sandbox.bootstrap import CHECKOUT
from sandbox.cache import cache_dir
from sandbox.errors import SandboxError
from sandbox.plugins import VERSIONS, official
from sandbox.toolchain import Tools

Kind = Literal["official", "standin"]
_VARIABLE: Final = "HOSTED_MESH_PLUGINS"
_STANDINS: Final = Path(__file__).resolve().parent / "bin"


@dataclass(frozen=True)
class PluginSet:
    """The engine's way to the plug-ins. path: comes first on PATH. summary: one line for people."""

    kind: Kind
    path: tuple[Path, ...]
    env: Mapping[str, str] = field(repr=False)
    summary: str


def select(tools: Tools, pulumi_home: Path) -> PluginSet:
    """Chooses the plug-ins and puts them into `pulumi_home`, which becomes PULUMI_HOME.

    $HOSTED_MESH_PLUGINS: "official" for Pulumi's releases of all three (an error where they are unavailable), or
    "standin" for its kubernetes plug-in out of the tools and stand-ins for tls and random; unset: the releases if they
    are here or can be downloaded. pulumi_home records a failed download, so that only the first run pays for the
    attempt, a few seconds at most. Raises SandboxError.
    """
    wanted = os.environ.get(_VARIABLE, "")
    if wanted not in ("", "official", "standin"):
        raise SandboxError(
            f"{_VARIABLE} is {wanted!r}.", fix=f'set {_VARIABLE} to "official" or "standin", or unset it.'
        )
    pulumi_home.mkdir(parents=True, exist_ok=True)
    if _is_ours(pulumi_home):
        _switch_off_log(pulumi_home)
    found: Mapping[str, Path] | None = None
    refusal = ""
    if wanted != "standin":
        found = official.installed(pulumi_home)
        if found is None:
            refusal = official.download(tools["pulumi"], pulumi_home, again=wanted == "official")
            found = None if refusal else official.installed(pulumi_home)
    if found is not None:
        versions = ", ".join(f"{name} {VERSIONS[name]}" for name in found)
        return _set("official", found, pulumi_home, f"provider plug-ins: Pulumi's releases ({versions} or newer)")
    if wanted == "official":
        raise SandboxError(
            "Pulumi's releases of the provider plug-ins are not installed and cannot be downloaded.",
            why=refusal,
            fix=f"install them with `pulumi plugin install resource <name> <version>`, or unset {_VARIABLE} to run "
            "with the replacements.",
        )
    programs = {name: _STANDINS / official.executable(name) for name in VERSIONS if name != "kubernetes"}
    programs["kubernetes"] = tools[official.executable("kubernetes")]
    # Without the long error: $HOSTED_MESH_PLUGINS=official tries again and shows it.
    reason = "as set in the environment" if wanted else "Pulumi's releases are not here and cannot be downloaded"
    summary = f"provider plug-ins: Pulumi's own for kubernetes, stand-ins for tls and random ({reason})"
    return _set("standin", programs, pulumi_home, summary)


def _set(kind: Kind, programs: Mapping[str, Path], pulumi_home: Path, summary: str) -> PluginSet:
    """Links the programs into pulumi_home's plug-in folder, where the engine finds them without a warning.

    Another program of the same name on PATH, or in that folder, would win over a link. Then the chosen programs come
    first on PATH instead, and the engine prints a warning about them in every preview.
    """
    in_sight = all(_is_linked(name, program, kind, pulumi_home) for name, program in programs.items())
    path = () if in_sight else tuple(dict.fromkeys(program.parent for program in programs.values()))
    env = {
        "PULUMI_HOME": str(pulumi_home),
        # A missing plug-in is then an error at once, not a download that hangs without a network.
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "HOSTED_MESH_PYTHON": os.environ.get("HOSTED_MESH_PYTHON") or sys.executable,
        # Two checkouts may share pulumi_home; each runs its own stand-ins, not those of the link's owner.
        "HOSTED_MESH_CHECKOUT": str(CHECKOUT),
    }
    return PluginSet(kind, path, env, summary)


def _is_linked(name: str, program: Path, kind: Kind, pulumi_home: Path) -> bool:
    """Links the program; False when the engine would use another one anyway, or the folder belongs to the user."""
    if kind == "standin" and not _is_ours(pulumi_home):
        return False  # A stand-in there would replace the real plug-in in the user's other projects.
    on_path = shutil.which(official.executable(name))
    if on_path is not None and Path(on_path).resolve() != program.resolve():
        return False
    return official.link(name, program, pulumi_home)


def _is_ours(pulumi_home: Path) -> bool:
    """Whether the folder is the sandbox's, not the user's. In the sandbox's shell $PULUMI_HOME is the sandbox's too."""
    theirs = (Path.home() / ".pulumi", Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi"))
    in_cache = pulumi_home.resolve().is_relative_to(cache_dir().resolve())
    return in_cache or pulumi_home.resolve() not in [path.resolve() for path in theirs]


def _switch_off_log(pulumi_home: Path) -> None:
    """Keeps the engine from logging every property of every call, compressed and encrypted, into `pulumi_home`/logs.

    The engine has no option for that. It skips the log when it cannot make the folder, so a file takes its place. With
    Istio's definitions in a stack the log was two thirds of a preview's processor time (4.0 s instead of 13.7 s).
    Errors are printed all the same, and `pulumi --logtostderr -v=9` shows everything when you need it.
    """
    logs = pulumi_home / "logs"
    if logs.is_dir():
        shutil.rmtree(logs, ignore_errors=True)
    if not logs.exists():
        logs.write_text("A file in the place of the folder: the engine's debug log is switched off here.\n")
