"""Makes the node process 1 of a PID namespace of its own, with mounts of its own.

So the kernel ensures that no Pod's process, network or mounted Secret outlives the node, however it ends.
"""

import os
import signal
import sys
from types import FrameType

from sandbox import kernel


def run_isolated() -> None:
    """Returns only in the new process; the calling one waits for it, forwards signals, and exits with its code."""
    kernel.unshare(kernel.CLONE_NEWPID | kernel.CLONE_NEWNS, "process and mount")
    child = os.fork()
    if child:
        sys.exit(_wait(child))
    # If the waiting process is killed, so is this one; neither has threads or a change of user, so this stays set.
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL, "end with the parent")
    kernel.mount("none", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
    flags = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
    kernel.mount("proc", "/proc", "proc", flags)


def _wait(child: int) -> int:
    def pass_on(number: int, _: FrameType | None) -> None:
        os.kill(child, number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, pass_on)
    return kernel.exit_code(os.waitpid(child, 0)[1])
