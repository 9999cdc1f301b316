"""The start of a container: the runtime's messages (CRI), the image's program, the node's directories.

document: ``container`` (the CRI's ContainerConfig), ``sandbox`` (PodSandboxConfig), ``bin_dir``, ``state``, and for a
further process in a running container ``argv``, ``join_pid`` and ``tty``. The CRI's messages have Go's JSON form: names
of its api.proto, empty fields left out, the image by its name and not its id. Kubelet has expanded $(NAME) and made all
volumes.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sandbox.node.runtime import images, one_user, rootfs, security
from sandbox.node.runtime.images import Image
from sandbox.node.runtime.spec import Mount, RuntimeSpec

Message = Mapping[str, Any]


def argv_of(container: Message, image: Image) -> tuple[str, ...]:
    """command replaces the image's entrypoint, args follow."""
    given, arguments = container.get("command", ()), container.get("args", ())
    if given:
        return (*given, *arguments)
    interpreter = (images.interpreter(), "-I") if image.python else ()
    return (*interpreter, image.entrypoint, *arguments)


def volume_mounts(container: Message) -> Iterator[Mount]:
    for mount in container.get("mounts", ()):
        if not mount.get("host_path"):
            raise security.RefusedError(f"nothing to mount at {mount['container_path']}: no image is a volume here")
        read_only = mount.get("readonly", False)
        yield Mount("bind", mount["container_path"], mount["host_path"], read_only=read_only)


def resolv_conf(sandbox: Message) -> str:
    dns = sandbox.get("dns_config", {})
    lines = [f"nameserver {server}" for server in dns.get("servers", ())]
    for word, name in (("search", "searches"), ("options", "options")):
        if dns.get(name):
            lines.append(f"{word} {' '.join(dns[name])}")
    return "\n".join(lines) + "\n"


def spec_of(document: Message, ids: security.IdMap) -> RuntimeSpec:
    """Of this machine it reads only the presence of tools and directories.

    Raises UnknownImageError, RefusedError, FileNotFoundError (a tool), ValueError (a malformed file).
    """
    container, sandbox, state = document["container"], document["sandbox"], Path(document["state"])
    image = images.find(container["image"]["image"])
    context = container.get("linux", {}).get("security_context", {})
    identity = security.identity(context, image, ids)
    files = images.files(image, Path(document["bin_dir"]))
    texts: Mapping[str, str] = {}
    if one_user.applies(ids, files):
        files, texts, identity = one_user.marking(files, identity)
    hostname = sandbox.get("hostname") or os.uname().nodename  # on the node's network the node's name
    names = {"/etc/hostname": f"{hostname}\n", "/etc/resolv.conf": resolv_conf(sandbox)}
    bound = {**files.bound, **(rootfs.python_files() if image.python else {})}
    variables = {one["key"]: one.get("value", "") for one in container.get("envs", ())}
    home = "/root" if identity.uid in (0, None) else "/"
    return RuntimeSpec(
        argv=tuple(document.get("argv") or argv_of(container, image)),
        environment={**image.environment, "HOSTNAME": hostname, "HOME": home, **variables},
        working_directory=container.get("working_dir") or "/",
        identity=identity,
        hostname=hostname,
        staging=str(state / "rootfs"),
        mounts=rootfs.layout(bound, files.linked, {**names, **texts}, volume_mounts(container)),
        read_only_root=context.get("readonly_rootfs", False),
        join_pid=document.get("join_pid"),
        terminal=document.get("tty", False),
    )
