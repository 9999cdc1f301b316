"""The programs of images: the whole table. All other settings of a container come from its Pod."""

import functools
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

PROGRAMS = Path(__file__).parents[1] / "programs"
_AGENTS = Path(__file__).parents[3] / "agents"
# Of the environment that runs this. Not `sysconfig`: the launcher starts without `site`, which would find it.
_PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
_PACKAGES = Path(sys.executable).parents[1] / "lib" / _PYTHON / "site-packages"
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class UnknownImageError(ValueError):
    """No program here stands for the image; the text names it and the supported ones."""


@dataclass(frozen=True)
class Image:
    """The part of the real image's configuration that matters to a process.

    user: of the image's USER, and its group. tools: path in the container -> name in the tool directory (data files of
    the real image too). sources: path in the container -> file or folder of this machine. python: needs this machine's
    interpreter, which then comes first in the entrypoint. interpreter: the image's own path of the interpreter, for a
    Pod's own command.
    """

    entrypoint: str
    user: int = 0
    tools: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, Path] = field(default_factory=dict)
    python: bool = False
    interpreter: str = ""
    environment: Mapping[str, str] = field(default_factory=lambda: {"PATH": _DEFAULT_PATH})


def _of_tool(path: str, *, user: int = 0) -> Image:
    """An image with one program, the tool of that name."""
    return Image(path, user, tools={path: Path(path).name})


# Packages of agents with an image, of the same versions as this environment's.
_GRPC: Mapping[str, Path] = {
    f"/opt/packages/{name}": _PACKAGES / name
    for name in ("grpc", "google/protobuf", "google/_upb", "typing_extensions.py")
}


def _of_agent(name: str) -> Image:
    """An agent's image with gRPC."""
    return Image(
        "/usr/local/bin/python3",
        65532,
        sources={f"/opt/hosted-mesh/{name}": _AGENTS / name, **_GRPC},
        python=True,
        interpreter="/usr/local/bin/python3",
        environment={"PATH": _DEFAULT_PATH, "PYTHONPATH": "/opt/packages"},
    )


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
    # An earlier version by its tag, for the tests of upgrades.
    "pilot:1.30-dev": Image(
        "/usr/local/bin/pilot-discovery", 1337, tools={"/usr/local/bin/pilot-discovery": "pilot-discovery-1.30"}
    ),
    "proxyv2:1.30-dev": Image(
        "/usr/local/bin/pilot-agent",
        tools={
            "/usr/local/bin/pilot-agent": "pilot-agent-1.30",
            "/usr/local/bin/envoy": "envoy",
            "/usr/local/bin/nft": "nft",
            "/var/lib/istio/envoy/envoy_bootstrap_tmpl.json": "envoy_bootstrap-1.30.json",
        },
    ),
    "envoy": _of_tool("/usr/local/bin/envoy", user=101),
    # OLM's own image has them all in /bin, which is this machine's.
    "olm": _of_tool("/usr/local/bin/olm", user=65532),
    "catalog-operator": _of_tool("/usr/local/bin/catalog-operator", user=65532),
    "packageserver": _of_tool("/usr/local/bin/packageserver", user=65532),
    "opm": _of_tool("/usr/local/bin/opm", user=1001),
    # konnectivity's own images have them in /.
    "proxy-server": _of_tool("/usr/local/bin/proxy-server", user=65532),
    "proxy-agent": _of_tool("/usr/local/bin/proxy-agent", user=65532),
    # Its server alone: the page is a placeholder, without which it does not start. By its tag, with the real page.
    "kiali": Image(
        "/opt/kiali/kiali",
        1000,
        tools={"/opt/kiali/kiali": "kiali"},
        sources={"/opt/kiali/console": PROGRAMS / "kiali_console"},
    ),
    "kiali:page": Image(
        "/opt/kiali/kiali", 1000, tools={"/opt/kiali/kiali": "kiali", "/opt/kiali/console": "kiali-page"}
    ),
    "external-dns": _of_tool("/ko-app/external-dns", user=65532),
    "coredns": _of_tool("/coredns"),
    "etcd": _of_tool("/usr/local/bin/etcd"),
    "knot": _of_tool("/usr/local/bin/knotd"),
    # Jaeger's, as in its own recipe (cmd/all-in-one/Dockerfile).
    "all-in-one": Image("/go/bin/all-in-one-linux", 10001, tools={"/go/bin/all-in-one-linux": "jaeger"}),
    # Its own image has it in /bin, which is this machine's here.
    "prometheus": _of_tool("/usr/local/bin/prometheus", user=65534),
    "python": Image("/usr/local/bin/python3", python=True, interpreter="/usr/local/bin/python3"),
    # agents/metrics_collector/Dockerfile, agents/debug_proxy/Dockerfile.
    "metrics-collector": _of_agent("metrics_collector"),
    "debug-proxy": _of_agent("debug_proxy"),
    "sample": Image(
        "/opt/sample/sample.py", 65532, sources={"/opt/sample/sample.py": PROGRAMS / "sample.py"}, python=True
    ),
    # A user's catalog, for the tests of hosted operators. OLM's Pods of catalogs run grpc_health_probe as a probe.
    "users-catalog": Image(
        "/opt/catalog/serve.py",
        1001,
        tools={f"/usr/local/bin/{name}": name for name in ("opm", "grpc_health_probe")},
        sources={
            "/opt/catalog/serve.py": PROGRAMS / "users_catalog/serve.py",
            "/configs": PROGRAMS / "users_catalog/configs",
        },
        python=True,
    ),
}


def repository(reference: str) -> str:
    """The last segment of an image reference, no tag, no digest: ``host:5000/a/pilot:1.31@sha256:..`` -> ``pilot``."""
    return reference.split("@", 1)[0].rsplit("/", 1)[-1].split(":", 1)[0]


def find(reference: str) -> Image:
    """The image of ``reference``. Raises UnknownImageError."""
    tagged = reference.split("@", 1)[0].rsplit("/", 1)[-1]
    image = IMAGES.get(tagged) or IMAGES.get(repository(reference))
    if image is None:
        known = ", ".join(sorted({name.partition(":")[0] for name in IMAGES}))
        raise UnknownImageError(
            f'no program here stands for image "{reference}"; supported image names: {known}. '
            "This node runs programs, not containers: it pulls no images"
        )
    return image


@dataclass(frozen=True)
class Files:
    """bound: path in the container -> path on this machine. linked: path in the container -> the link's target."""

    bound: Mapping[str, str]
    linked: Mapping[str, str]


def files(image: Image, bin_dir: Path) -> Files:
    """The sources of all files of the image. Raises FileNotFoundError for a missing tool.

    A tool out of a system package (nft) is a script that finds its libraries in ``system`` beside its own directory. So
    its whole cache entry is bound at its own path, and the tool is a link to it.
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
    """The image id, which shows the real content: ``sandbox-process:<program>@sha256:<of the program's file>``."""
    main = image.entrypoint
    if main == image.interpreter:
        path = Path(interpreter())
    else:
        path = bin_dir / image.tools[main] if main in image.tools else image.sources[main]
    return f"sandbox-process:{Path(main).stem}@sha256:{_digest(str(path.resolve()), path.stat().st_mtime_ns)}"


def interpreter() -> str:
    """This machine's interpreter, which runs images' scripts."""
    return str(Path(sys.executable).resolve())


@functools.cache
def _digest(path: str, modified: int) -> str:  # noqa: ARG001 (part of the cache key: a rebuilt tool is another one)
    import hashlib  # noqa: PLC0415 (the launcher, which starts for each container and exec probe, needs none)

    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
