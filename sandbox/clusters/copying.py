"""Copies the files of a stopped sandbox. No process takes part."""

from __future__ import annotations

import shutil
from pathlib import Path

from sandbox.clusters.network.addresses import addresses_of
from sandbox.clusters.state import Layout, settings
from sandbox.errors import SandboxError


def duplicate(layout: Layout, target: Layout) -> None:
    """Copies a state directory. The next start writes every path in it anew; etcd's data contains none.

    Raises SandboxError when the target exists or the state directory has no sandbox.
    """
    if target.root.exists():
        raise SandboxError(f"{target.root} exists already.", fix="choose another directory, or remove it.")
    try:
        clusters = addresses_of(settings(layout).topology)
    except OSError as error:
        raise SandboxError(f"There is no sandbox in {layout.root}.", why=str(error)) from None
    # Agents clear their directories at start. In rootless mode other users, unavailable here, may own their files.
    left_out = {layout.cluster(name) / node.name for name, one in clusters.items() for node in one.nodes}
    left_out |= {layout.supervisor, layout.processes, layout.lock}

    def ignore(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if Path(folder) / name in left_out]

    shutil.copytree(layout.root, target.root, symlinks=True, ignore=ignore)
