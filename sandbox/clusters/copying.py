"""A copy of a stopped sandbox: files only, no process knows of it."""

from __future__ import annotations

import shutil
from pathlib import Path

from sandbox.clusters.network.addresses import addresses_of
from sandbox.clusters.state import Layout, settings
from sandbox.errors import SandboxError


def duplicate(layout: Layout, target: Layout) -> None:
    """Copies a state directory. Every path in it is written anew at the next start; etcd's data holds none.

    Raises SandboxError when the target is there already or nothing was ever started here.
    """
    if target.root.exists():
        raise SandboxError(f"{target.root} is there already.", fix="choose another place, or remove it.")
    try:
        clusters = addresses_of(settings(layout).topology)
    except OSError as error:
        raise SandboxError(f"There is no sandbox in {layout.root}.", why=str(error)) from None
    # Agents clear their directories at start, and rootless their files may belong to users that we cannot be.
    left_out = {layout.cluster(name) / node.name for name, one in clusters.items() for node in one.nodes}
    left_out |= {layout.supervisor, layout.processes, layout.lock}

    def ignore(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if Path(folder) / name in left_out]

    shutil.copytree(layout.root, target.root, symlinks=True, ignore=ignore)
