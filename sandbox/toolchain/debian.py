"""Programs of Debian's (or Ubuntu's) packages, unpacked into the cache without installation and without rights."""

from __future__ import annotations

import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

from sandbox.cache import content_key
from sandbox.errors import SandboxError
from sandbox.jobs import Job

_INSTALL = "install {} with your system's package manager (apt, dnf, ...), then run the same command again."
# Essential parts of the running system: a C library other than the program loader's would crash the program.
_FROM_SYSTEM = ("libc6_", "libgcc-s1_", "gcc-")
_LIMIT, _STALL = 600.0, 90.0  # seconds


@dataclass(frozen=True)
class DebianPackage:
    """Programs out of a package of the running Debian release, with their libraries.

    provides: names of the programs. folder: theirs in the package; a pattern where it has the program's version.
    """

    name: str
    provides: tuple[str, ...]
    folder: str
    check: str = "--version"
    """The option by which a program shows that it runs, and ends without an error."""

    def key(self) -> str:
        """Changes with the release, since the program uses the release's C library."""
        release = Path("/etc/os-release")
        return content_key(
            release.read_bytes() if release.is_file() else b"", self.name, *self.provides, platform.machine(), "2"
        )

    def describe(self) -> str:
        """The origin, for people."""
        return f"from the system's package {self.name}, unpacked in the cache"

    def build(self, into: Path, job: Job) -> None:
        """Downloads the package with apt, in directories of our own, and unpacks it into `into`.

        Raises SandboxError with the instruction to install it where apt is missing or fails.
        """
        missing = [name for name in ("apt-get", "dpkg-deb") if not shutil.which(name)]
        if missing:
            raise SandboxError(
                f"`{self.provides[0]}` is required, but is not on PATH, and {missing[0]} is missing.",
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
        (into / "bin").mkdir()
        for name in self.provides:
            (program,) = (into / "system").glob(f"{self.folder}/{name}")
            self._wrapper(into / "bin" / name, program.relative_to(into / "system"))
            job.run([str(into / "bin" / name), self.check], limit=30, fix=_INSTALL.format(self.name))

    def _options(self, own: Path) -> list[str]:
        """apt with lists, cache and an empty package database of its own, so that an ordinary user can run it."""
        for folder in ("state/lists/partial", "cache/archives/partial", "parts"):
            (own / folder).mkdir(parents=True)
        (own / "status").touch()
        for part in sorted(Path("/etc/apt/apt.conf.d").glob("*")):
            # Keeps proxies and credentials; hooks that tidy up or notify desktop services would act on the system.
            if part.is_file() and "Invoke" not in part.read_text(errors="replace"):
                (own / "parts" / part.name).symlink_to(part)
        # Only a configuration file named by the environment is read early enough to move the folder of parts.
        (own / "apt.conf").write_text(f'Dir::Etc::Parts "{own / "parts"}";\n')
        settings = {
            "Dir::State": own / "state",
            "Dir::State::status": own / "status",
            "Dir::Cache": own / "cache",
            # apt would switch to the user _apt, without access to another user's cache directory.
            "APT::Sandbox::User": "root",
            "Debug::NoLocking": "1",
            "Acquire::Languages": "none",
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
            "Acquire::Retries": "2",
            "Acquire::http::Timeout": "30",
            "Acquire::https::Timeout": "30",
        }
        return [f"--config-file={own / 'apt.conf'}", *(f"--option={name}={value}" for name, value in settings.items())]

    def _wrapper(self, path: Path, program: Path) -> None:
        """A shell script that finds its libraries relative to itself, so that the cache entry may be renamed."""
        path.write_text(
            "#!/bin/sh\n"
            'here=$(dirname "$(readlink -f "$0")")/../system\n'
            "libraries=\n"
            # The last one has the private libraries of libpulse, which looks for them by an absolute path.
            'for folder in "$here"/usr/lib/*-linux-gnu "$here"/lib/*-linux-gnu '
            '"$here"/usr/lib/*-linux-gnu/pulseaudio; do\n'
            '  [ -d "$folder" ] && libraries="$libraries${libraries:+:}$folder"\n'
            "done\n"
            f'LD_LIBRARY_PATH=$libraries exec "$here/{program}" "$@"\n'
        )
        path.chmod(0o755)


NFTABLES = DebianPackage(name="nftables", provides=("nft",), folder="usr/sbin")
KNOT = DebianPackage(name="knot", provides=("knotd",), folder="usr/sbin")
# With the server, which it depends on.
POWERDNS = DebianPackage(name="pdns-backend-sqlite3", provides=("pdns_server",), folder="usr/sbin", check="--help")
PROMETHEUS = DebianPackage(name="prometheus", provides=("prometheus", "promtool"), folder="usr/bin")
# Without the start script in usr/bin, which has absolute paths.
CHROMIUM = DebianPackage(name="chromium", provides=("chromium",), folder="usr/lib/chromium")
POSTGRESQL = DebianPackage(
    name="postgresql",  # of the release's version
    provides=("initdb", "pg_dump", "pg_restore", "postgres"),
    folder="usr/lib/postgresql/*/bin",
)
