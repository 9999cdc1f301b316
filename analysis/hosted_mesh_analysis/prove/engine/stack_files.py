"""What a stack of one's own is given: its configuration with other secrets, and the outputs of stacks it refers to."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...plan.decode import SECRET, SIGNATURE
from ...plan.model import STACK_TYPE
from ..project import Project, UnusableProjectError, made_from_names, text_of
from ..secrets.credentials import of_stack, replaced, with_other_credentials
from ..secrets.forms import holds_credential
from ..secrets.made_up import Answers
from .sealed import Seal


@dataclass(frozen=True)
class Settings:
    """Writes a stack's configuration in one world.

    keep: keys whose values stay. redirected: what stands for a plain text, a path of a credential's file for one.
    """

    project: Project
    answers: Answers
    seal: Seal
    keep: Collection[str] = ()
    redirected: Callable[[str], str] = str

    def document(self) -> dict[str, Any]:
        """Pulumi.<stack>.yaml. Defaults of Pulumi.yaml stand there only where they have to be other ones."""
        own = self.project.settings.get("config") or {}
        made = {key: self.value(key) for key in self.project.config}
        config = {
            key: value
            for key, value in made.items()
            if key in own or key.partition(":")[2] in own or value != self.project.config[key]
        }
        return {"encryptionsalt": self.seal.salt, "config": config}

    def others(self) -> dict[str, str]:
        """What each secret of the configuration is here, by what it was."""
        return {
            old: new
            for key in self.project.config
            for old, new in self._pairs(self.project.config[key], self.value(key))
        }

    def _pairs(self, old: Any, new: Any) -> Iterator[tuple[str, str]]:
        if isinstance(new, Mapping) and set(new) == {"secure"}:
            if not isinstance(old, Mapping):  # what is encrypted is not known
                yield text_of(old), self.seal.open(str(new["secure"]))
        elif isinstance(old, Mapping) and isinstance(new, Mapping):
            for key, one in old.items():
                yield from self._pairs(one, new[key])
        elif isinstance(old, list) and isinstance(new, list):
            for one, other in zip(old, new, strict=True):
                yield from self._pairs(one, other)
        elif isinstance(old, str) and old != new:
            yield old, str(new)

    def value(self, key: str) -> Any:
        """What stands for a key's value; encrypted where that is."""
        secret = key in self.project.said_secret
        if self._is_kept(key):
            value = self.project.config[key]
            return {"secure": self.seal.close(text_of(value))} if secret else value
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
            return {"secure": self.seal.close(replaced(text, f"configuration {name}", self.answers))}
        if isinstance(value, str) and holds_credential(value):
            return with_other_credentials(value, f"configuration {name}", self.answers)
        return self.redirected(value) if isinstance(value, str) else value


def check_kept(project: Project, keep: Collection[str]) -> None:
    """Raises: UnusableProjectError for what is encrypted: nobody can read it here."""
    for key in keep:
        full = key if ":" in key else f"{project.name}:{key}"
        if full in project.secret_keys and full not in project.said_secret:
            raise UnusableProjectError(
                f"--keep {key}: its value is encrypted and is not read. Write it plain in a file for --config-file, "
                f"and add --secret {key}"
            )


def stack_with_outputs(stack: str, outputs: Mapping[str, Any], answers: Answers, seal: Seal) -> dict[str, Any]:
    """A stack of a file backend that has nothing but outputs, the secret ones made up.

    stack: organization/project/stack.
    """
    project, _, name = stack.rpartition("/")
    project = project.rpartition("/")[2]

    made = of_stack(stack, outputs, answers)
    secrets = {key: {SIGNATURE: SECRET, "ciphertext": seal.close(json.dumps(value))} for key, value in made.items()}
    root = {
        "urn": f"urn:pulumi:{name}::{project}::{STACK_TYPE}::{project}-{name}",
        "custom": False,
        "type": STACK_TYPE,
        "outputs": {**outputs, **secrets},
    }
    return checkpoint(f"organization/{project}/{name}", [root], seal)


def checkpoint(name: str, resources: Sequence[Mapping[str, Any]], seal: Seal, **format_: Any) -> dict[str, Any]:
    """A stack as a file backend has it. name: organization/project/stack. format_: `version` and `features`."""
    latest = {
        "manifest": {"time": "2026-01-01T00:00:00Z", "magic": "", "version": ""},
        "secrets_providers": {"type": "passphrase", "state": {"salt": seal.salt}},
        "resources": list(resources),
        "metadata": {},
    }
    return {"version": 3, **format_, "checkpoint": {"stack": name, "latest": latest}}
