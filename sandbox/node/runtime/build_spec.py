"""Puts together how a container starts: the Pod's words, the image's program, the node's directories."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from lightkube.models.core_v1 import Container
from lightkube.resources.core_v1 import Pod

from sandbox.node.config import NodeConfig
from sandbox.node.container import environment
from sandbox.node.runtime import images, one_user, rootfs, security
from sandbox.node.runtime.images import Image
from sandbox.node.runtime.rootfs import NameService
from sandbox.node.runtime.spec import Mount, RuntimeSpec
from sandbox.node.volumes.payload import NotMountableError


def argv_of(container: Container, image: Image, variables: Mapping[str, str]) -> tuple[str, ...]:
    """command replaces the image's entrypoint, args follow; $(NAME) is expanded in both."""
    given = [environment.expand(word, variables) for word in container.command or []]
    arguments = [environment.expand(word, variables) for word in container.args or []]
    if given:
        return (*given, *arguments)
    interpreter = (str(Path(sys.executable).resolve()), "-I") if image.python else ()
    return (*interpreter, image.entrypoint, *arguments)


def volume_mounts(container: Container, volume: Callable[[str], Path]) -> list[Mount]:
    for mount in container.volumeMounts or []:
        if mount.subPath or mount.subPathExpr:
            raise NotMountableError(f'volume "{mount.name}": this node mounts whole volumes and no subPath of one')
    return [
        Mount("bind", mount.mountPath, str(volume(mount.name)), read_only=bool(mount.readOnly))
        for mount in container.volumeMounts or []
    ]


def spec_of(
    pod: Pod,
    container: Container,
    variables: Mapping[str, str],
    *,
    names: NameService,
    volume: Callable[[str], Path],
    network_fd: int | None,
    config: NodeConfig,
    ids: security.IdMap,
) -> RuntimeSpec:
    """variables: the container's resolved environment. volume: directory of a volume by name.

    Raises UnknownImageError, RefusedError, NotMountableError.
    """
    spec = pod.spec
    assert spec is not None
    image = images.find(container.image or "")
    identity = security.identity(spec, container, image, ids)
    own = container.securityContext
    files = images.files(image, config.bin_dir)
    if one_user.applies(ids, files):
        files, identity = one_user.marking(files, identity, config.state)
    bound = {**files.bound, **(rootfs.python_files() if image.python else {})}
    home = "/root" if identity.uid in (0, None) else "/"
    return RuntimeSpec(
        argv=argv_of(container, image, variables),
        environment={**image.environment, "HOSTNAME": names.hostname, "HOME": home, **variables},
        working_directory=container.workingDir or "/",
        identity=identity,
        hostname=names.hostname,
        staging=str(config.state / "rootfs"),
        mounts=rootfs.layout(bound, files.linked, names, volume_mounts(container, volume)),
        read_only_root=bool(own and own.readOnlyRootFilesystem),
        network_fd=network_fd,
    )
