"""User, groups and rights of a container's process: its security context over the image's settings.

The context is the CRI's LinuxContainerSecurityContext; kubelet has merged the Pod's settings into it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.node.runtime.images import Image
from sandbox.node.runtime.rootfs import GROUP_OF
from sandbox.node.runtime.spec import Identity

# Numbers of linux/capability.h. The defaults of container runtimes, without MKNOD: no devices here.
CAPABILITIES = {
    "CHOWN": 0, "DAC_OVERRIDE": 1, "FOWNER": 3, "FSETID": 4, "KILL": 5, "SETGID": 6, "SETUID": 7, "SETPCAP": 8,
    "NET_BIND_SERVICE": 10, "NET_RAW": 13, "SYS_CHROOT": 18, "AUDIT_WRITE": 29, "SETFCAP": 31,
}  # fmt: skip
# Further ones that a Pod may add, since its own namespaces confine them. They do not confine SYS_ADMIN and the like: a
# process here has root's rights over the machine's kernel in its namespaces only.
GRANTABLE = {**CAPABILITIES, "NET_ADMIN": 12}


class RefusedError(ValueError):
    """The node cannot run the container with its Pod's settings; the text names the setting and the reason."""


@dataclass(frozen=True)
class IdMap:
    """The user ids of this user namespace: all for root, one for an ordinary user."""

    ranges: tuple[tuple[int, int], ...]

    @classmethod
    def of_this_process(cls) -> "IdMap":
        rows = (line.split() for line in Path("/proc/self/uid_map").read_text().splitlines())
        return cls(tuple((int(row[0]), int(row[2])) for row in rows))

    def has(self, number: int) -> bool:
        return any(first <= number < first + length for first, length in self.ranges)


def _capabilities(requested: Mapping[str, Any]) -> tuple[int, ...]:
    kept = dict(CAPABILITIES)
    dropped = {name.upper().removeprefix("CAP_") for name in requested.get("drop_capabilities", ())}
    added = {name.upper().removeprefix("CAP_") for name in requested.get("add_capabilities", ())}
    if "ALL" in dropped:
        kept.clear()
    for name in dropped:
        kept.pop(name, None)
    for name in added:
        if name not in GRANTABLE:
            raise RefusedError(f"capability {name} is not available: this node's Pods are processes of this machine")
        kept[name] = GRANTABLE[name]
    return tuple(sorted(kept.values()))


def identity(context: Mapping[str, Any], image: Image, ids: IdMap) -> Identity:
    """Raises RefusedError.

    A user without a group has that of the image's /etc/passwd, or 0, as in container runtimes. An id that is not mapped
    (rootless node with one id) is left out, and the process keeps the node's own.
    """
    if context.get("privileged"):
        raise RefusedError("privileged containers are not run on this node: they would be root on this machine")
    uid = _number(context, "run_as_user", image.user)
    gid = _number(context, "run_as_group", GROUP_OF.get(uid, 0))
    groups = {gid, *context.get("supplemental_groups", ())}
    return Identity(
        uid=uid if ids.has(uid) else None,
        gid=gid if ids.has(gid) else None,
        groups=tuple(sorted(group for group in groups if ids.has(group))),
        capabilities=_capabilities(context.get("capabilities", {})),
        no_new_privileges=context.get("no_new_privs", False),
    )


def _number(context: Mapping[str, Any], name: str, otherwise: int) -> int:
    """An Int64Value: a message of its own, so that 0 differs from absence; a 0 in it is left out."""
    given = context.get(name)
    return otherwise if given is None else int(given.get("value", 0))
