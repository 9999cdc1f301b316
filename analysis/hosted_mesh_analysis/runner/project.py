"""A Pulumi project in a folder: its program, and the configuration of one stack."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import datetime
import functools
import json
import os
import random
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml
from hosted_mesh_plan.decode import UNPARSABLE

from .program.process import Program
from .secrets import forms, keys
from .secrets.made_up import named

MADE_UP_KUBECONFIG: Final = "/made-up/kubeconfig"
"""KUBECONFIG in a run on a machine without one."""


class UnusableProjectError(Exception):
    """An unusable folder or file. The message has its name, the rule and the fix."""


@dataclass(frozen=True)
class Project:
    """A project's folder.

    described: Pulumi.yaml. settings: the stack's own file, empty if missing. config: values by full key, as written.
    secret_keys: the secret ones, as a whole or in part; said_secret: plain values that are secret as a whole.
    """

    folder: Path
    name: str
    described: Mapping[str, Any]
    stacks: Path
    given: Path
    settings: Mapping[str, Any]
    config: Mapping[str, Any]
    secret_keys: Sequence[str]
    said_secret: Sequence[str]

    def opened_with(self, values: Mapping[str, Any]) -> Project:
        """The project with its encrypted values decrypted. values: by full key."""
        found = {key: value for key, value in values.items() if key in self.secret_keys and value is not None}
        said = sorted({*self.said_secret, *found})
        return dataclasses.replace(self, config={**self.config, **found}, said_secret=said)

    @property
    def main(self) -> Path:
        """The program's file or folder."""
        return (self.folder / str(self.described.get("main") or ".")).resolve()

    @property
    def unread(self) -> list[str]:
        """Unreadable parts of its configuration."""
        has_environment = bool(self.settings.get("environment"))
        return [f"{self.given.name}: configuration of its `environment` is not read"] if has_environment else []

    def documents(self) -> list[Any]:
        """The content of the configuration, and of the YAML files beside it and the program."""
        folders = {self.folder, self.stacks, self.given.parent, self.main if self.main.is_dir() else self.main.parent}
        return [*_parsed(texts(self.config)), *_documents(folders)]


def opened(folder: Path, stack: str, config_file: Path | None, secrets: Sequence[str]) -> Project:
    """A project in any language. stack: its file is read; a project without stack files has no configuration.

    Raises: UnusableProjectError.
    """
    folder, described, stacks = _described(folder)
    name = str(described.get("name") or folder.name)
    given = config_file or stacks / f"Pulumi.{stack}.yaml"
    fix = "Name one with --config-file, or a stack with --stack"
    is_there = _is_there(given, fix)
    if not is_there and not config_file and (others := _stacks_in(stacks)):
        rule = f"does not exist; this folder has files of stacks {', '.join(others)}"
        raise UnusableProjectError(f"{given}: {rule}. {fix}; write {{}} into it if the stack has no configuration")
    settings = _yaml(given, fix) if config_file or is_there else {}
    config, secret_keys, said = _configuration(name, described, settings, secrets, given)
    return Project(folder, name, described, stacks, given, settings, config, secret_keys, said)


def stacks_of(folder: Path) -> list[str]:
    """The stacks with a file in a project. Raises: UnusableProjectError."""
    _, _, stacks = _described(folder)
    return _stacks_in(stacks)


def _described(folder: Path) -> tuple[Path, dict[str, Any], Path]:
    """A project's folder, its Pulumi.yaml, and the folder of its stacks' files."""
    try:
        folder = folder.resolve()
    except (OSError, RuntimeError):  # a link to itself
        raise UnusableProjectError(f"{folder}: cannot be read. Give the folder of a Pulumi project") from None
    described = _yaml(folder / "Pulumi.yaml", "Give the folder of a Pulumi project")
    told = (described.get(key) for key in ("stackConfigDir", "config"))
    return folder, described, folder / next((path for path in told if path and isinstance(path, str)), ".")


def program_of(project: Project, python: str | None, others: str = "Run other languages with --preview") -> Program:
    """A project's program in Python. others: the fix for other languages. Raises: UnusableProjectError."""
    runtime = project.described.get("runtime")
    language = runtime.get("name") if isinstance(runtime, Mapping) else runtime
    if language != "python":
        raise UnusableProjectError(f"{project.folder / 'Pulumi.yaml'}: runtime is not python. {others}")
    main = project.main / "__main__.py" if project.main.is_dir() else project.main
    if not main.is_file():
        raise UnusableProjectError(f"{main}: does not exist. Give the folder of a Pulumi project with a Python program")
    is_there = Path(os.environ.get("KUBECONFIG") or MADE_UP_KUBECONFIG).is_file()
    environment = {} if is_there else {"KUBECONFIG": MADE_UP_KUBECONFIG}
    return Program(
        directory=main.parent,
        main=main,
        python=python or _python(project.folder, runtime),
        config=texts(project.config),
        secret_keys=project.secret_keys,
        unread=project.unread,
        files=missing_kubeconfigs(project.documents(), environment),
        environment=environment,
    )


def _stacks_in(folder: Path) -> list[str]:
    return sorted(path.name.removeprefix("Pulumi.").removesuffix(".yaml") for path in folder.glob("Pulumi.*.yaml"))


def _is_there(path: Path, fix: str) -> bool:
    try:
        return path.is_file()
    except OSError as problem:
        raise UnusableProjectError(f"{path}: cannot be read ({problem.strerror}). {fix}") from None


def _yaml(path: Path, fix: str) -> dict[str, Any]:
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise UnusableProjectError(f"{path}: cannot be read ({problem.strerror}). {fix}") from None
    except UNPARSABLE:
        raise UnusableProjectError(f"{path}: is not YAML. {fix}") from None
    if not isinstance(found, dict):
        raise UnusableProjectError(f"{path}: is not a mapping. {fix}")
    return found


def _python(folder: Path, runtime: Any) -> str:
    options = runtime.get("options") if isinstance(runtime, Mapping) else None
    own = options.get("virtualenv") if isinstance(options, Mapping) else None
    found = folder / str(own) / "bin" / "python" if own else None
    return str(found) if found and found.is_file() else sys.executable


def _configuration(
    name: str, project: Mapping[str, Any], settings: Mapping[str, Any], secrets: Sequence[str], file: Path
) -> tuple[dict[str, Any], list[str], list[str]]:
    """Values by full key as written, the secret ones, and the plain ones that are secret as a whole."""
    defaults = project.get("config") if isinstance(project.get("config"), Mapping) else {}
    raw = {key: _default(value) for key, value in (defaults or {}).items()}
    given = settings.get("config") or {}
    if not isinstance(given, Mapping):
        raise UnusableProjectError(f"{file}: config is not a mapping. Write keys and values below it")
    raw = {_full(name, str(key)): value for key, value in {**raw, **given}.items()}
    raw = {key: value for key, value in raw.items() if value is not None}
    marked = [key for key, one in (defaults or {}).items() if isinstance(one, Mapping) and one.get("secret") is True]
    said = [full for key in marked if (full := _full(name, str(key))) in raw]
    for key in secrets:
        full = _full(name, key)
        if full not in raw:
            raise UnusableProjectError(f"--secret {key}: the configuration has no such key. Check its name in {file}")
        said.append(full)
    encrypted = [key for key, value in raw.items() if _has_secret(value)]
    return raw, sorted({*encrypted, *said}), sorted(set(said))


def texts(config: Mapping[str, Any]) -> dict[str, str]:
    """The values as the program reads them. Encrypted ones are made up from their key's name."""
    return {key: text_of(made_from_names(value, key)) for key, value in config.items()}


def _full(project: str, key: str) -> str:
    return key if ":" in key else f"{project}:{key}"


def _default(value: Any) -> Any:
    return value.get("default", value.get("value")) if isinstance(value, Mapping) else value


def _has_secret(value: Any) -> bool:
    if isinstance(value, Mapping):
        return set(value) == {"secure"} or any(map(_has_secret, value.values()))
    return isinstance(value, list) and any(map(_has_secret, value))


def made_from_names(value: Any, key: str) -> Any:
    """The value with encrypted parts made up from the names above them."""
    if isinstance(value, Mapping):
        if set(value) == {"secure"}:
            return _made_from_name(key)
        return {name: made_from_names(one, str(name)) for name, one in value.items()}
    return [made_from_names(one, key) for one in value] if isinstance(value, list) else value


@functools.cache
def _made_from_name(key: str) -> Any:
    word = re.sub(r"[^a-z0-9]+", "-", key.rpartition(":")[2].lower()).strip("-")
    chance = random.Random(key)  # noqa: S311 replaced in each run anyway
    if "kubeconfig" in word:
        cluster = {"server": f"https://{word}.example.com:6443"}
        return json.dumps(forms.kubeconfig({word: cluster}, forms.text_of(40, chance)))
    return named(word, chance)


def text_of(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value) if isinstance(value, (dict, list)) else str(value)


def _parsed(config: Mapping[str, str]) -> Iterator[Any]:
    for value in config.values():
        if value.startswith(("{", "[")):
            with contextlib.suppress(ValueError, RecursionError):  # a text with a similar beginning
                yield json.loads(value)


def _documents(folders: set[Path]) -> Iterator[Any]:
    """The YAML files beside the program and its configuration: a mesh document may be among them. Stack files are
    excluded."""
    for folder in sorted(folders):
        for path in sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")]):
            if path.match("Pulumi.*.y*ml"):
                continue
            try:
                yield from yaml.safe_load_all(path.read_text(encoding="utf-8"))
            except (OSError, *UNPARSABLE):
                continue


def _references(tree: Any) -> Iterator[tuple[str, str, str]]:
    """Clusters that a document names by a kubeconfig's path: the path, the context, the API server's address."""
    if isinstance(tree, Mapping):
        path = tree.get("kubeconfig")
        if isinstance(path, str) and "\n" not in path and not path.startswith("{"):
            context = str(tree.get("context") or "default")
            yield path, context, str(tree.get("server") or f"https://{_slug(context)}.example.com:6443")
        for one in tree.values():
            yield from _references(one)
    elif isinstance(tree, list):
        for one in tree:
            yield from _references(one)


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "cluster"


def missing_kubeconfigs(documents: Sequence[Any], environment: Mapping[str, str]) -> dict[str, str]:
    """A kubeconfig for each named but missing path, with the requested contexts. $KUBECONFIG has a context of its own
    if none is requested."""
    wanted: dict[str, dict[str, str]] = {}
    variable = environment.get("KUBECONFIG", "")
    for document in documents:
        for path, context, server in _references(document):
            full = path.replace("${KUBECONFIG}", variable).replace("$KUBECONFIG", variable) if variable else path
            full = str(Path(os.path.expandvars(full)).expanduser())
            if not Path(full).is_file():
                wanted.setdefault(full, {}).setdefault(context, server)
    if variable:
        wanted.setdefault(variable, {"default": "https://default.example.com:6443"})
    return {path: yaml.safe_dump(_kubeconfig(servers)) for path, servers in wanted.items()}


def _kubeconfig(servers: Mapping[str, str]) -> dict[str, Any]:
    """A kubeconfig with a cluster and a user for each context. Each cluster has an authority of its own."""

    clusters = {
        name: {"server": server, "certificate-authority-data": _authority(name, server)}
        for name, server in servers.items()
    }
    return forms.kubeconfig(clusters, "made-up-" + "x" * 32)


@functools.cache
def _authority(name: str, server: str) -> str:  # noqa: ARG001 each server has its own, the same again when asked again
    inputs = {"subject": {"commonName": name[:60]}, "isCaCertificate": True}
    pem = keys.certificate(inputs, keys.generate(), datetime.datetime.now(datetime.UTC), 1)
    return base64.b64encode(pem.encode()).decode()
