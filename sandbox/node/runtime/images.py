"""Which program an image stands for: the whole table. Everything else about a container comes from its Pod."""

import functools
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

PROGRAMS = Path(__file__).parents[1] / "programs"
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class UnknownImageError(ValueError):
    """No program here stands for the image; the text names it and the known ones."""


@dataclass(frozen=True)
class Image:
    """What the real image's configuration says, as far as it matters to a process.

    user: of the image's USER, and its group. tools: path in the container -> name in the tool directory (data files of
    the real image too). sources: path in the container -> file of this package. python: needs this machine's
    interpreter, which then comes first in the entrypoint. interpreter: path in the container at which the image has it
    under its own name, for a Pod's own command.
    """

    entrypoint: str
    user: int = 0
    tools: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, Path] = field(default_factory=dict)
    python: bool = False
    interpreter: str = ""
    environment: Mapping[str, str] = field(default_factory=lambda: {"PATH": _DEFAULT_PATH})


def _of_tool(path: str, *, user: int = 0) -> Image:
    """An image with one program, which is the tool of that name."""
    return Image(path, user, tools={path: Path(path).name})


# Files and users as in Istio's own image recipes (pilot/docker/Dockerfile.pilot, Dockerfile.proxyv2); of
# kubernetes-sigs' images the base image's nonroot.
IMAGES: Mapping[str, Image] = {
    "pilot": _of_tool("/usr/local/bin/pilot-discovery", user=1337),
    "proxyv2": Image(
        "/usr/local/bin/pilot-agent",
        tools={
            "/usr/local/bin/pilot-agent": "pilot-agent",
            "/usr/local/bin/envoy": "envoy",
            "/usr/local/bin/nft": "nft",
            "/var/lib/istio/envoy/envoy_bootstrap_tmpl.json": "envoy_bootstrap.json",
        },
    ),
    "external-dns": _of_tool("/ko-app/external-dns", user=65532),
    "coredns": _of_tool("/coredns"),
    "etcd": _of_tool("/usr/local/bin/etcd"),
    "knot": _of_tool("/usr/local/bin/knotd"),
    "python": Image("/usr/local/bin/python3", python=True, interpreter="/usr/local/bin/python3"),
    "sample": Image(
        "/opt/sample/sample.py", 65532, sources={"/opt/sample/sample.py": PROGRAMS / "sample.py"}, python=True
    ),
}


def repository(reference: str) -> str:
    """The last segment of an image reference, no tag, no digest: ``host:5000/a/pilot:1.31@sha256:..`` -> ``pilot``."""
    return reference.split("@", 1)[0].rsplit("/", 1)[-1].split(":", 1)[0]


def find(reference: str) -> Image:
    """The image that ``reference`` means. Raises UnknownImageError."""
    image = IMAGES.get(repository(reference))
    if image is None:
        known = ", ".join(sorted(IMAGES))
        raise UnknownImageError(
            f'no program here stands for image "{reference}"; known image names: {known}. '
            "This node runs programs, not containers: it pulls nothing"
        )
    return image


@dataclass(frozen=True)
class Files:
    """bound: path in the container -> path on this machine. linked: path in the container -> what it is a link to."""

    bound: Mapping[str, str]
    linked: Mapping[str, str]


def files(image: Image, bin_dir: Path) -> Files:
    """Where all of the image's files come from. Raises FileNotFoundError for a tool that is missing.

    A tool that the toolchain unpacked from a system package (nft) is a script that finds its libraries in ``system``
    beside its own directory, so its whole cache entry is bound where it is, and the tool is a link to it.
    """
    bound = {path: str(source) for path, source in image.sources.items()}
    linked = {image.interpreter: interpreter()} if image.interpreter else {}
    for path, name in image.tools.items():
        tool = (bin_dir / name).resolve(strict=True)
        entry = tool.parent.parent
        if (entry / "system").is_dir():
            bound[str(entry)] = str(entry)
            linked[path] = str(tool)
        else:
            bound[path] = str(tool)
    return Files(bound, linked)


def image_id(image: Image, bin_dir: Path) -> str:
    """Says honestly what runs: ``sandbox-process:<program>@sha256:<of the program's file>``."""
    main = image.entrypoint
    if main == image.interpreter:
        path = Path(interpreter())
    else:
        path = bin_dir / image.tools[main] if main in image.tools else image.sources[main]
    return f"sandbox-process:{Path(main).stem}@sha256:{_digest(str(path.resolve()), path.stat().st_mtime_ns)}"


def interpreter() -> str:
    """This machine's, which runs images' scripts."""
    return str(Path(sys.executable).resolve())


@functools.cache
def _digest(path: str, modified: int) -> str:  # noqa: ARG001 (part of the cache key: a rebuilt tool is another one)
    import hashlib  # noqa: PLC0415 (the launcher, which starts for each container and exec probe, needs none)

    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
