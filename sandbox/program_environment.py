"""The environment variables of a sandbox's programs: PATH, KUBECONFIG and Pulumi's settings."""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Iterable
from pathlib import Path

from sandbox.bootstrap import CHECKOUT
from sandbox.cache import cache_dir
from sandbox.errors import SandboxError

STACK = "all-in-one"


def state_dir(given: Path | None = None) -> Path:
    """The sandbox's state directory: `given`, else $HOSTED_MESH_STATE, else .sandbox in the checkout.

    Raises SandboxError if the path exists and is no directory.
    """
    chosen = (given or Path(os.environ.get("HOSTED_MESH_STATE") or CHECKOUT / ".sandbox")).expanduser().absolute()
    if chosen.exists() and not chosen.is_dir():
        raise SandboxError(f"{chosen} is not a directory.", fix="name another one by --state or $HOSTED_MESH_STATE.")
    return chosen


def pulumi_home() -> Path:
    """Pulumi's plug-in folder: $PULUMI_HOME, else ~/.pulumi if it has plug-ins, else a folder of our cache.

    So present plug-ins of the user are used, and the home directory of a user without Pulumi stays unchanged.
    """
    if home := os.environ.get("PULUMI_HOME"):
        return Path(home).expanduser().absolute()
    own = Path.home() / ".pulumi"
    return own if (own / "plugins").is_dir() else cache_dir() / "pulumi"


def with_tools(bin_dir: Path | None = None, first: Iterable[Path] = ()) -> dict[str, str]:
    """The environment of this process with this PATH: `first`, the Python environment's programs, the tools, the rest.

    The Python environment must be on PATH: the engine's language host takes the first `python` there.
    """
    own = Path(sys.prefix) / "bin"
    old = [folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if folder]
    folders = [*(str(folder) for folder in first), str(own), *([str(bin_dir)] if bin_dir else [])]
    path = os.pathsep.join([*folders, *(folder for folder in old if folder not in folders)])
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONHOME"}
    return kept | {"PATH": path, "VIRTUAL_ENV": sys.prefix, "USER": user_name()}


def user_name() -> str:
    """$USER, else the account's name, else the user id: the engine, built without C, requires one.

    In a container with a bare user id there is neither variable nor account.
    """
    try:
        return os.environ.get("USER") or pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def pulumi_settings(state: Path) -> dict[str, str]:
    """Pulumi's settings for this sandbox: its file backend and passphrase. The settings for plug-ins come from
    `sandbox.plugins.selection`."""
    return {
        "PULUMI_BACKEND_URL": f"file://{backend(state)}",
        "PULUMI_CONFIG_PASSPHRASE_FILE": str(passphrase_file(state)),
        "PULUMI_STACK": STACK,
    }


def backend(state: Path) -> Path:
    """The folder of Pulumi's file backend."""
    return state / "pulumi"


def passphrase_file(state: Path) -> Path:
    """The file, mode 0600, with the passphrase that encrypts secrets in the backend."""
    return backend(state) / "passphrase"
