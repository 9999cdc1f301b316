"""Programs of Debian's (or Ubuntu's) packages, unpacked into the cache: nothing is installed, no right is needed."""

from __future__ import annotations

import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

from sandbox.cache import content_key
from sandbox.errors import SandboxError
from sandbox.jobs import Job

_INSTALL = "install {} with your system's package manager (apt, dnf, ...), then run the same command again."
# Essential parts of the running system: another C library than the program loader's would crash the program.
_FROM_SYSTEM = ("libc6_", "libgcc-s1_", "gcc-")
_LIMIT, _STALL = 600.0, 90.0  # seconds


@dataclass(frozen=True)
class DebianPackage:
    """A program out of a package of the running Debian release, with the libraries that it needs.

    program: its path in the package.
    """

    name: str
    provides: tuple[str, ...]
    program: str

    def key(self) -> str:
        """Changes with the release, since the program uses the release's C library."""
        release = Path("/etc/os-release")
        return content_key(release.read_bytes() if release.is_file() else b"", self.name, platform.machine(), "1")

    def describe(self) -> str:
        """What is used, for people."""
        return f"from the system's package {self.name}, unpacked in the cache"

    def build(self, into: Path, job: Job) -> None:
        """Downloads the package with apt, in directories of our own, and unpacks it into `into`.

        Raises SandboxError that says to install it where apt is missing or fails.
        """
        missing = [name for name in ("apt-get", "dpkg-deb") if not shutil.which(name)]
        if missing:
            raise SandboxError(
                f"`{self.provides[0]}` is needed and is neither on PATH nor to be had here without {missing[0]}.",
                fix=_INSTALL.format(self.name),
            )
        options = self._options(into / "apt")
        job.note("reading the package lists of the system's mirror")
        job.run(["apt-get", *options, "update"], limit=_LIMIT, stall=_STALL, fix=_INSTALL.format(self.name))
        job.note(f"downloading {self.name} and its libraries")
        fetch = ["install", "--yes", "--download-only", "--no-install-recommends", self.name]
        job.run(["apt-get", *options, *fetch], limit=_LIMIT, stall=_STALL, fix=_INSTALL.format(self.name))
        for package in sorted((into / "apt" / "cache" / "archives").glob("*.deb")):
            if not package.name.startswith(_FROM_SYSTEM):
                job.run(
                    ["dpkg-deb", "-x", str(package), str(into / "system")], limit=60, fix=_INSTALL.format(self.name)
                )
        shutil.rmtree(into / "apt")
        self._wrapper(into / "bin" / self.provides[0])
        job.run([str(into / "bin" / self.provides[0]), "--version"], limit=30, fix=_INSTALL.format(self.name))

    def _options(self, own: Path) -> list[str]:
        """apt with lists, cache and an empty package database of its own, so that an ordinary user may run it."""
        for folder in ("state/lists/partial", "cache/archives/partial", "parts"):
            (own / folder).mkdir(parents=True)
        (own / "status").touch()
        for part in sorted(Path("/etc/apt/apt.conf.d").glob("*")):
            # Proxies and credentials are kept; hooks that tidy up or tell desktop services would act on the system.
            if part.is_file() and "Invoke" not in part.read_text(errors="replace"):
                (own / "parts" / part.name).symlink_to(part)
        # Only a configuration file named by the environment is read early enough to move the folder of parts.
        (own / "apt.conf").write_text(f'Dir::Etc::Parts "{own / "parts"}";\n')
        settings = {
            "Dir::State": own / "state",
            "Dir::State::status": own / "status",
            "Dir::Cache": own / "cache",
            # apt would drop to the user _apt, who may not enter somebody's cache directory.
            "APT::Sandbox::User": "root",
            "Debug::NoLocking": "1",
            "Acquire::Languages": "none",
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
            "Acquire::Retries": "2",
            "Acquire::http::Timeout": "30",
            "Acquire::https::Timeout": "30",
        }
        return [f"--config-file={own / 'apt.conf'}", *(f"--option={name}={value}" for name, value in settings.items())]

    def _wrapper(self, path: Path) -> None:
        """A shell script that finds its libraries relative to itself, so that the cache entry may be renamed."""
        path.parent.mkdir()
        path.write_text(
            "#!/bin/sh\n"
            'here=$(dirname "$(readlink -f "$0")")/../system\n'
            "libraries=\n"
            'for folder in "$here"/usr/lib/*-linux-gnu "$here"/lib/*-linux-gnu; do\n'
            '  [ -d "$folder" ] && libraries="$libraries${libraries:+:}$folder"\n'
            "done\n"
            f'LD_LIBRARY_PATH=$libraries exec "$here/{self.program}" "$@"\n'
        )
        path.chmod(0o755)


NFTABLES = DebianPackage(name="nftables", provides=("nft",), program="usr/sbin/nft")
KNOT = DebianPackage(name="knot", provides=("knotd",), program="usr/sbin/knotd")
