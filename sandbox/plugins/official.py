"""Pulumi's releases of the provider plug-ins: their locations, and one download where that is possible."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from sandbox.plugins import VERSIONS
from sandbox.toolchain.on_path import is_compiled, parse_version

_SITE: Final = "https://get.pulumi.com/releases/plugins/"
_PROBE_SECONDS: Final = 3.0  # until the site counts as unreachable
_INSTALL_SECONDS: Final = 120.0  # for each, once the site has answered
_MARK: Final = "official-plugins-refused"


def executable(name: str) -> str:
    """The plug-in's file name."""
    return f"pulumi-resource-{name}"


def installed(pulumi_home: Path) -> Mapping[str, Path] | None:
    """The official plug-ins by name, None unless all are here: in pulumi_home, in ~/.pulumi, or on PATH."""
    found = {}
    for name, wanted in VERSIONS.items():
        program = next(_candidates(name, wanted, pulumi_home), None)
        if program is None:
            return None
        found[name] = program
    return found


def _candidates(name: str, wanted: str, pulumi_home: Path) -> Iterator[Path]:
    for home in (pulumi_home, Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi"), Path.home() / ".pulumi"):
        may_have_links = home.resolve() == pulumi_home.resolve()
        for folder in sorted((home / "plugins").glob(f"resource-{name}-v*"), reverse=True):
            program = folder / executable(name)
            if may_have_links and program.is_symlink():
                continue  # made by `link` for an earlier run, perhaps with another choice
            if fits(folder.name.rpartition("-v")[2], wanted) and is_official(program):
                yield program.resolve()
    on_path = shutil.which(executable(name))
    if on_path and is_official(Path(on_path)) and fits(_version_of(Path(on_path)), wanted):
        yield Path(on_path).resolve()


def fits(version: str, wanted: str) -> bool:
    """Whether the engine would accept a plug-in of this version for the wanted one: same major, not older."""
    have, want = parse_version(version), parse_version(wanted)
    return bool(have) and have[0] == want[0] and have >= want


def is_official(program: Path) -> bool:
    """Whether the program is a compiled one; the stand-ins are scripts."""
    return is_compiled(program) and os.access(program, os.X_OK)


def _version_of(program: Path) -> str:
    """A plug-in's version by its protocol; "" without an answer."""
    # Imported here: PATH rarely has a plug-in, and the protocol is slow to import.
    stubs = importlib.import_module("sandbox.plugins.protocol.stubs")
    with subprocess.Popen([program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            port = process.stdout.readline().strip()
            channel = stubs.grpc.insecure_channel(f"127.0.0.1:{port}")
            ask = channel.unary_unary(
                "/pulumirpc.ResourceProvider/GetPluginInfo",
                request_serializer=stubs.empty_pb2.Empty.SerializeToString,
                response_deserializer=stubs.plugin_pb2.PluginInfo.FromString,
            )
            return str(ask(stubs.empty_pb2.Empty(), timeout=_PROBE_SECONDS).version)
        except stubs.grpc.RpcError:
            return ""
        finally:
            process.kill()


def download(pulumi: Path, pulumi_home: Path, *, again: bool) -> str:
    """Installs the plug-ins into pulumi_home. Returns "" or the reason of the failure, and records it there.

    again: try in spite of a recorded failure.
    """
    mark = pulumi_home / _MARK
    if mark.exists() and not again:
        return mark.read_text().strip()
    refusal = _probe() or _install(pulumi, pulumi_home)
    if refusal:
        mark.write_text(refusal + "\n")
    else:
        mark.unlink(missing_ok=True)
    return refusal


def _probe() -> str:
    """The reason why Pulumi's site is unreachable; "" when it answered."""
    url = f"{_SITE}pulumi-resource-random-v{VERSIONS['random']}-linux-amd64.tar.gz"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=_PROBE_SECONDS):  # noqa: S310
            return ""
    except (urllib.error.URLError, OSError) as error:
        return f"Pulumi's download site does not answer: {getattr(error, 'reason', error)}"


def _install(pulumi: Path, pulumi_home: Path) -> str:
    env = {**os.environ, "PULUMI_HOME": str(pulumi_home), "PULUMI_SKIP_UPDATE_CHECK": "true"}
    for name, version in VERSIONS.items():
        command = [str(pulumi), "plugin", "install", "resource", name, version]
        try:
            subprocess.run(
                command, env=env, input="", capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=True
            )
        except subprocess.TimeoutExpired:
            return f"{name} was not there within {_INSTALL_SECONDS:.0f} s"
        except subprocess.CalledProcessError as error:
            return str(error.stderr.strip().rpartition("\n")[2] or error)
    return ""


def link(name: str, program: Path, pulumi_home: Path) -> bool:
    """Makes the engine find `program` in pulumi_home; False when an official plug-in is in the way. Removes links of
    other runs to official ones, or to missing files: the engine would take a newer one's."""
    folder = pulumi_home / "plugins" / f"resource-{name}-v{VERSIONS[name]}"
    target = folder / executable(name)
    for other in (pulumi_home / "plugins").glob(f"resource-{name}-v*/{target.name}"):
        if other != target and other.is_symlink() and (is_official(other) or not other.exists()):
            other.unlink(missing_ok=True)
    if target.resolve() == program.resolve() and target.exists():
        return True
    for other in (pulumi_home / "plugins").glob(f"resource-{name}-v*/{target.name}"):
        if is_official(other) and not other.is_symlink():
            return False
    folder.mkdir(parents=True, exist_ok=True)
    # Another run may do the same at this moment: a rename is atomic.
    making = folder / f".{target.name}.{os.getpid()}"
    making.unlink(missing_ok=True)
    making.symlink_to(program)
    making.replace(target)
    return True
