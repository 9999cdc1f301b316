"""Replaces credentials that a program reads from configuration, files and environment."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Final

from hosted_mesh_plan.clusters import normal_server
from hosted_mesh_plan.decode import MASK

from . import forms
from .generator import Owner, Source
from .made_up import Answers

_CREDENTIAL_NAME: Final = re.compile(
    r"TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|API_?KEY|ACCESS_KEY|PRIVATE_KEY", re.IGNORECASE
)


def environment(given: Mapping[str, str], answers: Answers, keep: Collection[str] = ()) -> dict[str, str]:
    """The variables with other tokens, passwords and keys, by their names and by the values' form. keep: unchanged
    names.

    The path of an existing file is no credential by itself, and stays.
    """
    found = dict(given)
    for name, value in given.items():
        if name in keep or not value:
            continue
        called = f"environment variable {name}"
        if _CREDENTIAL_NAME.search(name) and not _is_path(value):
            found[name] = replaced(value, called, answers, Owner.CONTROL_PLANE)
        elif forms.holds_credential(value):
            found[name] = with_other_credentials(value, called, answers, Owner.CONTROL_PLANE)
    return found


def _is_path(value: str) -> bool:
    try:
        return "/" in value and Path(value).exists()
    except (OSError, ValueError):  # too long for a name, or no valid text
        return False


def replaced(text: str, name: str, answers: Answers, owner: Owner = Owner.FREE, version: str = "") -> str:
    """A replacement of the same form for a text that is secret as a whole.

    name: the text's name in the report. A kubeconfig's credentials belong to the clusters that they open, for any
    keeper; other texts belong to `owner`. version: distinguishes texts of one name.
    """
    return _made(forms.fresh, text, name, answers, owner, version)


def with_other_credentials(text: str, name: str, answers: Answers, owner: Owner = Owner.FREE, version: str = "") -> str:
    """The text with its recognisable credentials replaced; the rest is no secret, and stays.

    name, owner, version: as in `replaced`.
    """
    return _made(forms.fresh_credentials, text, name, answers, owner, version)


def _made(
    make: Callable[[str, random.Random], str], text: str, name: str, answers: Answers, owner: Owner, version: str
) -> str:
    config = forms.parsed_kubeconfig(text)
    if config is None:
        source = Source(name, name, owner)
        return str(answers.value(source, f"text{version}", lambda chance: make(text, chance)))
    users = [
        _user(config, one, name, answers, version) for one in config.get("users") or [] if isinstance(one, Mapping)
    ]
    made = {**config, "users": users}
    return json.dumps(made)  # also valid YAML


def of_stack(stack: str, outputs: Mapping[str, Any], answers: Answers) -> dict[str, Any]:
    """The secret outputs of another stack, made up: those with a credential's name, and a kubeconfig of the same
    clusters, since a program may reject other clusters."""
    made = {key: answers.stack_output(stack, key) for key, value in outputs.items() if value == MASK}
    for key, value in outputs.items():
        if isinstance(value, str) and forms.parsed_kubeconfig(value) is not None:
            made[key] = replaced(value, f"output {key} of stack {stack}", answers)
    return made


def _user(
    config: Mapping[str, Any], user: Mapping[str, Any], name: str, answers: Answers, version: str
) -> dict[str, Any]:
    servers = sorted(_servers(config, str(user.get("name"))))
    place = servers[0] if len(servers) == 1 else ""
    source = Source(
        f"kubeconfig {place or name}",
        f"kubeconfig of {place or 'several clusters'}",
        Owner.PLACE if place else Owner.CONTROL_PLANE,
        place,
    )
    given = user.get("user")
    credential: dict[str, Any] = dict(given) if isinstance(given, Mapping) else {}
    # A command's output or a file's content would be fetched at the cluster's side: a token replaces it.
    fetched = [credential.pop(way, None) for way in ("exec", "tokenFile", "client-certificate", "client-key")]
    credential.pop("client-certificate-data", None)  # it fits the replaced key

    def of(key: str, old: str) -> Any:
        detail = f"{name} {user.get('name')} {key}{version}"

        def make(chance: random.Random) -> str:
            return forms.fresh(old, chance) if old else forms.text_of(40, chance)

        return answers.value(source, detail, make)

    for key in forms.CREDENTIALS:
        if isinstance(credential.get(key), str):
            credential[key] = of(key, credential[key])
    if any(fetched):
        credential["token"] = of("token", "")
    return {**user, "user": credential}


def _servers(config: Mapping[str, Any], user: str) -> set[str]:
    """The API servers of a user's contexts; those of all clusters without a context of it."""

    def named(key: str, inner: str) -> dict[str, Mapping[str, Any]]:
        return {
            str(one.get("name")): one[inner]
            for one in config.get(key) or []
            if isinstance(one, Mapping) and isinstance(one.get(inner), Mapping)
        }

    clusters = named("clusters", "cluster")
    used = {str(one.get("cluster")) for one in named("contexts", "context").values() if str(one.get("user")) == user}
    return {
        normal_server(str(one["server"]))
        for key, one in clusters.items()
        if "server" in one and (key in used or not used)
    }
