"""A container's root directory: computed here as a list of steps, carried out by the launcher.

A tmpfs with the machine's programs and libraries bound read-only, and selected files of /etc; never the machine's home
directories, state, users or devices.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from sandbox.node.runtime.spec import Mount

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_ETC = ("ssl/certs", "ssl/openssl.cnf", "pki", "ca-certificates", "alternatives", "ld.so.cache", "ld.so.conf",
        "ld.so.conf.d", "localtime", "services", "protocols", "mime.types")  # fmt: skip
_LIBRARIES = ("lib", "lib32", "lib64", "libx32")
_SHARED = (*_LIBRARIES, "libexec", "share")
_SYSTEM = (
    *(Path("/", name) for name in ("bin", "sbin", *_LIBRARIES)),
    *(Path("/usr", name) for name in ("bin", "sbin", *_SHARED)),
    *(Path("/usr/local", name) for name in _SHARED),
)

# The users of Istio's and most distroless images.
USERS = """\
root:x:0:0:root:/root:/sbin/nologin
nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin
nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin
istio-proxy:x:1337:1337:istio-proxy:/home/istio-proxy:/sbin/nologin
"""
GROUPS = "root:x:0:\nnogroup:x:65534:\nnonroot:x:65532:\nistio-proxy:x:1337:\n"
# The primary group of each, by number.
GROUP_OF = {int(row.split(":")[2]): int(row.split(":")[3]) for row in USERS.splitlines()}


def _system() -> Iterator[Mount]:
    """The machine's programs and libraries. /usr/local/bin stays empty for the image's own programs."""
    for path in _SYSTEM:
        if path.is_symlink():
            yield Mount("symlink", str(path), str(path.readlink()))
        elif path.is_dir():
            yield Mount("bind", str(path), str(path), read_only=True)


def python_files() -> Mapping[str, str]:
    """This interpreter, at its own path, for images with a script as program.

    It may live below a home directory that only its owner may enter, so it is bound and not only named.
    """
    executable = Path(sys.executable).resolve()
    prefix = Path(sys.base_prefix).resolve()
    if prefix == Path("/usr"):
        return {}  # bound already, and the kernel refuses ordinary users a second mount inside of a read-only one
    if prefix == Path("/usr/local"):
        return {str(executable): str(executable)}
    return {str(prefix): str(prefix)}


def _fixed() -> list[Mount]:
    etc = {
        "passwd": USERS,
        "group": GROUPS,
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    }
    return [
        *(Mount("bind", f"/etc/{name}", f"/etc/{name}", read_only=True, optional=True) for name in _ETC),
        *(Mount("file", f"/etc/{name}", text, mode=0o644) for name, text in etc.items()),
        Mount("proc", "/proc"),
        Mount("tmpfs", "/dev", data="mode=0755,size=64k"),
        *(Mount("bind", f"/dev/{name}", f"/dev/{name}", optional=True) for name in _DEVICES),
        Mount("tmpfs", "/dev/shm", data="mode=1777,size=64m"),  # noqa: S108 (in the container)
        Mount("symlink", "/dev/fd", "/proc/self/fd"),
        *(Mount("symlink", f"/dev/{name}", f"/proc/self/fd/{fd}")
          for fd, name in enumerate(("stdin", "stdout", "stderr"))),
        Mount("directory", "/tmp", mode=0o1777),  # noqa: S108
        Mount("directory", "/var/tmp", mode=0o1777),  # noqa: S108
        Mount("directory", "/run"),
        Mount("directory", "/usr/local/bin"),
        Mount("symlink", "/var/run", "../run"),
        Mount("directory", "/root"),
    ]  # fmt: skip


def layout(
    files: Mapping[str, str], links: Mapping[str, str], texts: Mapping[str, str], volumes: Iterable[Mount]
) -> tuple[Mount, ...]:
    """All steps in order.

    By path in the container, files: path of the node's; links: the target; texts: content.
    Volumes come last and from the shortest path on, so that one may lie in another; they hide files at their paths.
    """
    return (
        *_system(),
        *_fixed(),
        *(Mount("file", path, text, mode=0o644) for path, text in sorted(texts.items())),
        *(Mount("bind", target, source, read_only=True) for target, source in sorted(files.items())),
        *(Mount("symlink", path, leads_to) for path, leads_to in sorted(links.items())),
        *sorted(volumes, key=lambda volume: len(Path(volume.target).parts)),
    )
