"""Becomes a container: new namespaces, a root directory of its own, lowered rights, then the program itself.

Run as ``python -S -m sandbox.node.runtime.launcher DOCUMENT_FD REPORT_FD [NETWORK_FD]``. DOCUMENT_FD: the container
runtime's document, as JSON (see build_spec). REPORT_FD: receives a line with the process id. Its end after that means
that the program runs (the descriptor closes on exec); a second line is an error. Without a process there is only the
error's line. NETWORK_FD: the Pod's network namespace; left out, the container is in the node's.

Standard library only, because it starts for every container and every exec probe. The program is process 1 of its PID
namespace, as in a container, so the kernel ends all its children with it.
"""

import errno
import json
import os
import signal
import socket
import stat
import sys
from pathlib import Path
from typing import NoReturn

from sandbox import kernel
from sandbox.node.runtime import build_spec, one_user
from sandbox.node.runtime.security import IdMap
from sandbox.node.runtime.spec import Identity, Mount, RuntimeSpec

# As in container runtimes: a container must neither change the node's kernel settings nor read its memory.
PROC_READ_ONLY = ("sys", "irq", "bus", "fs", "sysrq-trigger")
PROC_HIDDEN = ("kcore", "keys", "timer_list", "sched_debug")


def _place(root: Path, mount: Mount) -> None:
    """Carries out one step; makes missing parents with mode 0755."""
    target = root / mount.target.lstrip("/")
    if mount.optional and not Path(mount.source).exists():
        return
    resolved = target.parent if mount.kind == "symlink" else target
    if not Path(os.path.realpath(resolved)).is_relative_to(root):
        raise OSError(errno.ELOOP, "a symbolic link leads out of the container", mount.target)
    target.parent.mkdir(parents=True, exist_ok=True)
    if mount.kind == "symlink":
        if not target.is_symlink():
            target.symlink_to(mount.source)
    elif mount.kind == "file":
        target.write_text(mount.source)
        target.chmod(mount.mode)
    elif mount.kind == "bind" and not Path(mount.source).is_dir():
        target.touch(exist_ok=True)
        kernel.mount(mount.source, str(target), flags=kernel.MS_BIND | kernel.MS_REC)
    else:
        if not target.is_dir():
            target.mkdir()
            target.chmod(mount.mode)
        if mount.kind == "bind":
            kernel.mount(mount.source, str(target), flags=kernel.MS_BIND | kernel.MS_REC)
        elif mount.kind == "tmpfs":
            kernel.mount("tmpfs", str(target), "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, mount.data)
        elif mount.kind == "proc":
            flags = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
            kernel.mount("proc", str(target), "proc", flags)
    if mount.read_only:
        kernel.make_read_only(str(target), recursive=True)


def _protect_proc(proc: Path) -> None:
    for path in (proc / name for name in PROC_READ_ONLY):
        if path.exists():
            kernel.mount(str(path), str(path), flags=kernel.MS_BIND | kernel.MS_REC)
            kernel.make_read_only(str(path), recursive=True)
    for path in (proc / name for name in PROC_HIDDEN):
        if path.exists():
            kernel.mount("/dev/null", str(path), flags=kernel.MS_BIND)


def _build_root(runtime_spec: RuntimeSpec) -> None:
    kernel.mount("none", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
    root = Path(runtime_spec.staging).resolve()
    kernel.mount("tmpfs", str(root), "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=0755,size=512m")
    for mount in runtime_spec.mounts:
        _place(root, mount)
    _protect_proc(root / "proc")
    if runtime_spec.read_only_root:
        kernel.make_read_only(str(root), recursive=False)
    kernel.pivot_root(str(root))


def _take_identity(identity: Identity) -> None:
    for fd in range(3):  # a program may open its own streams anew, as /dev/stdout: Envoy does so for access logs
        if identity.uid is not None and stat.S_ISFIFO(os.fstat(fd).st_mode):
            os.fchown(fd, identity.uid, -1)
    kept = frozenset(identity.capabilities)
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text())
    kernel.limit_capabilities(kept, last)
    if Path("/proc/self/setgroups").read_text().strip() == "allow":
        os.setgroups(identity.groups)
    if identity.gid is not None:
        os.setresgid(identity.gid, identity.gid, identity.gid)
    if identity.uid is not None:
        os.setresuid(identity.uid, identity.uid, identity.uid)
    if os.geteuid() == 0:
        kernel.set_capabilities(kept)
    if identity.no_new_privileges:
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1, "no new privileges")


def _take_terminal() -> None:
    import fcntl  # noqa: PLC0415 (few processes have a terminal)
    import termios  # noqa: PLC0415

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _report(fd: int, text: str) -> None:
    os.write(fd, f"{text}\n".encode())


def _become(runtime_spec: RuntimeSpec, report: int) -> NoReturn:
    """Runs in the new process and never returns; after a failure it reports and exits with 127 (or 126)."""
    try:
        os.setsid()
        if runtime_spec.terminal:
            _take_terminal()
        os.umask(0o022)
        if runtime_spec.join_pid is None:
            socket.sethostname(runtime_spec.hostname)
            _build_root(runtime_spec)
        _take_identity(runtime_spec.identity)
        os.chdir(runtime_spec.working_directory)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores these two; a program expects the default
            signal.signal(number, signal.SIG_DFL)
        os.execvpe(runtime_spec.argv[0], runtime_spec.argv, runtime_spec.environment)  # noqa: S606 (that is the task)
    except OSError as error:
        what = f"{error.strerror}" + (f": {os.fsdecode(error.filename)}" if error.filename else "")
        _report(report, what)
        if runtime_spec.join_pid is not None:  # its standard error reaches the caller (kubectl exec)
            _report(2, what)
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


def _enter(runtime_spec: RuntimeSpec, network: int | None, nft: Path, ids: IdMap) -> None:
    """Moves this process into the namespaces, and its next child into a new PID namespace."""
    if runtime_spec.join_pid is not None:
        kernel.setns(os.pidfd_open(runtime_spec.join_pid), kernel.ALL_NAMESPACES, "the container's")
        return
    if network is not None:
        kernel.setns(network, kernel.CLONE_NEWNET, "the Pod's network")
        if not ids.has(one_user.PROXY_USER):
            one_user.let_marked_pass(nft)
    kernel.unshare(kernel.ALL_NAMESPACES & ~kernel.CLONE_NEWNET, "container")


def main() -> int:
    document_fd, report, *networks = map(int, sys.argv[1:])
    for fd in (report, *networks):
        os.set_inheritable(fd, False)
    try:
        with open(document_fd, "rb") as file:  # noqa: PTH123 (a descriptor, not a path)
            document = json.load(file)
        ids = IdMap.of_this_process()
        runtime_spec = build_spec.spec_of(document, ids)
        _enter(runtime_spec, networks[0] if networks else None, Path(document["bin_dir"], "nft"), ids)
        child = os.fork()
    except Exception as error:  # any error must reach the runtime, and so the Pod's status
        _report(report, " ".join(f"{error or type(error).__name__}".split("\n")))
        return 126
    if child == 0:
        _become(runtime_spec, report)
    _report(report, str(child))
    if runtime_spec.join_pid is None:
        return 0  # kubelet inherits orphans, so it gets the container and reaps it
    os.close(report)
    return kernel.exit_code(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    sys.exit(main())
