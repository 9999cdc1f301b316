"""Which user, groups and rights a container's process gets: securityContext of Pod and container over the image."""

from dataclasses import dataclass
from pathlib import Path

from lightkube.models.core_v1 import Capabilities, Container, PodSecurityContext, PodSpec, SecurityContext

from sandbox.node.runtime.images import Image
from sandbox.node.runtime.spec import Identity

# Numbers of linux/capability.h. What container runtimes give by default, but for MKNOD: no devices here.
CAPABILITIES = {
    "CHOWN": 0, "DAC_OVERRIDE": 1, "FOWNER": 3, "FSETID": 4, "KILL": 5, "SETGID": 6, "SETUID": 7, "SETPCAP": 8,
    "NET_BIND_SERVICE": 10, "NET_RAW": 13, "SYS_CHROOT": 18, "AUDIT_WRITE": 29, "SETFCAP": 31,
}  # fmt: skip
# With what a Pod may have besides, since its own namespaces confine it. SYS_ADMIN and the like they do not: a process
# here shares the machine's kernel with root's rights in no more than namespaces.
GRANTABLE = {**CAPABILITIES, "NET_ADMIN": 12}


class RefusedError(ValueError):
    """The container may not run as its Pod asks; the text says what and why."""


@dataclass(frozen=True)
class IdMap:
    """The user ids that exist in this user namespace: all for root, one for an ordinary user's."""

    ranges: tuple[tuple[int, int], ...]

    @classmethod
    def of_this_process(cls) -> "IdMap":
        rows = (line.split() for line in Path("/proc/self/uid_map").read_text().splitlines())
        return cls(tuple((int(row[0]), int(row[2])) for row in rows))

    def has(self, number: int) -> bool:
        return any(first <= number < first + length for first, length in self.ranges)


def _capabilities(asked: Capabilities | None) -> tuple[int, ...]:
    kept = dict(CAPABILITIES)
    dropped = {name.upper().removeprefix("CAP_") for name in (asked.drop if asked else None) or []}
    added = {name.upper().removeprefix("CAP_") for name in (asked.add if asked else None) or []}
    if "ALL" in dropped:
        kept.clear()
    for name in dropped:
        kept.pop(name, None)
    for name in added:
        if name not in GRANTABLE:
            raise RefusedError(f"capability {name} is not given on this node: its Pods are processes of this machine")
        kept[name] = GRANTABLE[name]
    return tuple(sorted(kept.values()))


def identity(spec: PodSpec, container: Container, image: Image, ids: IdMap) -> Identity:
    """Raises RefusedError.

    An id that is not mapped (rootless node with one id) is left out, and the process keeps the node's own.
    """
    pod = spec.securityContext or PodSecurityContext()
    own = container.securityContext or SecurityContext()
    if own.privileged:
        raise RefusedError("privileged containers are not run on this node: they would be root on this machine")
    uid = next((value for value in (own.runAsUser, pod.runAsUser) if value is not None), image.user)
    # An image's group goes with its user only: with another user and no group, containers run with group 0.
    image_gid = image.user if own.runAsUser is None and pod.runAsUser is None else 0
    gid = next((value for value in (own.runAsGroup, pod.runAsGroup) if value is not None), image_gid)
    non_root = own.runAsNonRoot if own.runAsNonRoot is not None else pod.runAsNonRoot
    if non_root and uid == 0:
        raise RefusedError("container has runAsNonRoot and image will run as root")
    groups = {gid, *(pod.supplementalGroups or []), *([pod.fsGroup] if pod.fsGroup is not None else [])}
    return Identity(
        uid=uid if ids.has(uid) else None,
        gid=gid if ids.has(gid) else None,
        groups=tuple(sorted(group for group in groups if ids.has(group))),
        capabilities=_capabilities(own.capabilities),
        no_new_privileges=own.allowPrivilegeEscalation is False,
    )
