"""The folder of a stack: Pulumi's project and stack files, and the environment of its engine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from pulumi import automation

from hosted_mesh_controller.job.request import Request
from hosted_mesh_controller.masking import Masker, secrets_of_kubeconfig
from hosted_mesh_controller.vocabulary import PROJECT

# Settings of the controller's own environment that would select another stack, secret or cluster.
_FOREIGN: Final = (
    "PULUMI_ACCESS_TOKEN",
    "PULUMI_CONFIG",
    "PULUMI_CONFIG_PASSPHRASE",
    "PULUMI_STACK",
    "PULUMI_BACKEND_URL",
)


def environment(request: Request) -> dict[str, str]:
    """The engine's environment. A kubeconfig of the controller's own must not stand in for a missing one."""
    kept = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    folders = [str(Path(sys.executable).parent), *os.environ.get("PATH", os.defpath).split(os.pathsep)]
    return kept | {
        "PATH": os.pathsep.join(dict.fromkeys(folders)),
        "KUBECONFIG": os.devnull,
        "PULUMI_BACKEND_URL": request.backend,
        "PULUMI_CONFIG_PASSPHRASE_FILE": request.passphrase_file,
        "PULUMI_SKIP_UPDATE_CHECK": "true",
    }


def open_stack(request: Request) -> automation.Stack:
    """The stack, made if it is not there, with this request's configuration."""
    folder = Path(request.folder)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if request.backend.startswith("file://"):
        Path(request.backend.removeprefix("file://")).mkdir(parents=True, exist_ok=True, mode=0o700)
    project: dict[str, Any] = yaml.safe_load((Path(request.program) / "Pulumi.yaml").read_text(encoding="utf-8"))
    project.pop("stackConfigDir", None)
    _write(folder / "Pulumi.yaml", {**project, "main": request.program})
    file = folder / f"Pulumi.{request.stack}.yaml"
    # The salt of the passphrase stays with the stack.
    salt = yaml.safe_load(file.read_text(encoding="utf-8")) if file.exists() else {}
    config = {f"{PROJECT}:{key}": value for key, value in request.config.items()}
    kept = {key: salt[key] for key in ("encryptionsalt", "secretsprovider", "encryptedkey") if key in (salt or {})}
    _write(file, {**kept, "config": config})
    workspace = automation.LocalWorkspace(work_dir=str(folder), env_vars=environment(request))
    stack = automation.Stack.create_or_select(request.stack, workspace)
    for name, value in _credentials(request):
        stack.set_config(f"{PROJECT}:{name}", automation.ConfigValue(value, secret=True), path=True)
    return stack


def masker(request: Request) -> Masker:
    """Masks the passphrase, the kubeconfigs' and DNS providers' credentials, and the controller's own paths."""
    paths = [request.folder, request.program, request.backend, request.passphrase_file, *request.kubeconfigs]
    secrets = [*paths, Path(request.passphrase_file).read_text(encoding="utf-8")]
    for kubeconfig in request.kubeconfigs:
        secrets += secrets_of_kubeconfig(Path(kubeconfig).expanduser())
    secrets += [value for _name, value in _credentials(request)]
    return Masker(secrets)


def _credentials(request: Request) -> Iterator[tuple[str, str]]:
    """DNS credentials, by path of the configuration: files at PROVIDER/KEY."""
    if request.dns_credentials is None or "dns" not in request.config:
        return
    for file in sorted(Path(request.dns_credentials).glob("*/*")):
        if file.is_file():
            yield f"dnsCredentials.{file.parent.name}.{file.name}", file.read_text(encoding="utf-8").rstrip("\n")


def _write(file: Path, content: Mapping[str, Any]) -> None:
    """Writes a file at once: an interrupted process must not leave half of it."""
    new = file.with_name(f"{file.name}.new")
    new.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    new.replace(file)
