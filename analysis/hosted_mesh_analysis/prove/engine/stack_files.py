"""Files of a private stack: its configuration with other secrets, and the outputs of referenced stacks."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hosted_mesh_plan.decode import SECRET, SIGNATURE
from hosted_mesh_plan.model import STACK_TYPE

from ...runner.project import Project, UnusableProjectError, made_from_names, text_of
from ...runner.secrets.credentials import of_stack, replaced, with_other_credentials
from ...runner.secrets.forms import holds_credential
from ...runner.secrets.made_up import Answers
from .passphrase_cipher import PassphraseCipher


@dataclass(frozen=True)
class Settings:
    """Writes a stack's configuration in one variant.

    keep: keys with unchanged values. redirected: replacements of plain texts, such as paths of credential files.
    """

    project: Project
    answers: Answers
    cipher: PassphraseCipher
    keep: Collection[str] = ()
    redirected: Callable[[str], str] = str

    def document(self) -> dict[str, Any]:
        """Pulumi.<stack>.yaml, with defaults of Pulumi.yaml only where they must differ."""
        own = self.project.settings.get("config") or {}
        made = {key: self.value(key) for key in self.project.config}
        config = {
            key: value
            for key, value in made.items()
            if key in own or key.partition(":")[2] in own or value != self.project.config[key]
        }
        return {"encryptionsalt": self.cipher.salt, "config": config}

    def others(self) -> dict[str, str]:
        """The new value of each secret of the configuration, by its old value."""
        return {
            old: new
            for key in self.project.config
            for old, new in self._pairs(self.project.config[key], self.value(key))
        }

    def _pairs(self, old: Any, new: Any) -> Iterator[tuple[str, str]]:
        if isinstance(new, Mapping) and set(new) == {"secure"}:
            if not isinstance(old, Mapping):  # encrypted values are unknown
                yield text_of(old), self.cipher.open(str(new["secure"]))
        elif isinstance(old, Mapping) and isinstance(new, Mapping):
            for key, one in old.items():
                yield from self._pairs(one, new[key])
        elif isinstance(old, list) and isinstance(new, list):
            for one, other in zip(old, new, strict=True):
                yield from self._pairs(one, other)
        elif isinstance(old, str) and old != new:
            yield old, str(new)

    def value(self, key: str) -> Any:
        """The new value of a key; encrypted if the old one is."""
        secret = key in self.project.said_secret
        if self._is_kept(key):
            value = self.project.config[key]
            return {"secure": self.cipher.close(text_of(value))} if secret else value
        return self._other(self.project.config[key], key, key, secret=secret)

    def _is_kept(self, key: str) -> bool:
        return bool({key, key.removeprefix(f"{self.project.name}:")} & {*self.keep})

    def _other(self, value: Any, name: str, word: str, *, secret: bool) -> Any:
        if isinstance(value, Mapping) and set(value) != {"secure"}:
            return {key: self._other(one, f"{name}.{key}", str(key), secret=secret) for key, one in value.items()}
        if isinstance(value, list):
            return [self._other(one, f"{name}[{at}]", word, secret=secret) for at, one in enumerate(value)]
        if secret or isinstance(value, Mapping):
            text = text_of(made_from_names(value, word))
            return {"secure": self.cipher.close(replaced(text, f"configuration {name}", self.answers))}
        if isinstance(value, str) and holds_credential(value):
            return with_other_credentials(value, f"configuration {name}", self.answers)
        return self.redirected(value) if isinstance(value, str) else value


def check_kept(project: Project, keep: Collection[str]) -> None:
    """Raises: UnusableProjectError for an encrypted value, which is unreadable here."""
    for key in keep:
        full = key if ":" in key else f"{project.name}:{key}"
        if full in project.secret_keys and full not in project.said_secret:
            raise UnusableProjectError(
                f"--keep {key}: its value is encrypted and is not read. Write it plain in a file for --config-file, "
                f"and add --secret {key}"
            )


def stack_with_outputs(
    stack: str, outputs: Mapping[str, Any], answers: Answers, cipher: PassphraseCipher
) -> dict[str, Any]:
    """A stack of a file backend with outputs alone, the secret ones made up.

    stack: organization/project/stack.
    """
    project, _, name = stack.rpartition("/")
    project = project.rpartition("/")[2]

    made = of_stack(stack, outputs, answers)
    secrets = {key: {SIGNATURE: SECRET, "ciphertext": cipher.close(json.dumps(value))} for key, value in made.items()}
    root = {
        "urn": f"urn:pulumi:{name}::{project}::{STACK_TYPE}::{project}-{name}",
        "custom": False,
        "type": STACK_TYPE,
        "outputs": {**outputs, **secrets},
    }
    return checkpoint(f"organization/{project}/{name}", [root], cipher)


def checkpoint(
    name: str, resources: Sequence[Mapping[str, Any]], cipher: PassphraseCipher, **format_: Any
) -> dict[str, Any]:
    """A stack in the form of a file backend. name: organization/project/stack. format_: `version` and `features`."""
    latest = {
        "manifest": {"time": "2026-01-01T00:00:00Z", "magic": "", "version": ""},
        "secrets_providers": {"type": "passphrase", "state": {"salt": cipher.salt}},
        "resources": list(resources),
        "metadata": {},
    }
    return {"version": 3, **format_, "checkpoint": {"stack": name, "latest": latest}}
