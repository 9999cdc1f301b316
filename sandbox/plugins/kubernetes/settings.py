"""The provider's configuration: what is checked, what a change of it does, and what it comes out as."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sandbox.plugins.kubernetes import kubeconfig
from sandbox.plugins.protocol.errors import NotImplementedHere
from sandbox.plugins.protocol.values import UNKNOWN, plain

_PREFIX: Final = "kubernetes:config:"
_IDENTIFIER: Final = "clusterIdentifier"
_RENDER: Final = "renderYamlToDirectory"


@dataclass(frozen=True)
class Settings:
    """The settings of a provider. unreachable: why there is no API server to talk to, "" when there is one."""

    access: kubeconfig.Access | None
    unreachable: str
    default_namespace: str
    delete_unreachable: bool
    skip_update_unreachable: bool
    patch_force: bool
    upsert: bool
    mutable_config_maps: bool
    mutable_secrets: bool


def read(variables: Mapping[str, str]) -> Settings:
    """The settings from the engine's variables, those not set from the environment. Raises NotImplementedHere."""
    config = {key.removeprefix(_PREFIX): value for key, value in variables.items()}

    def flag(name: str, variable: str, default: str = "false") -> bool:
        return config.get(name, os.environ.get(variable, default)) == "true"

    refused = {
        _RENDER: bool(config.get(_RENDER)),
        "rejectUnknownResources": config.get("rejectUnknownResources") == "true",
        "enableServerSideApply=false": not flag("enableServerSideApply", "PULUMI_K8S_ENABLE_SERVER_SIDE_APPLY", "true"),
        "PULUMI_K8S_AWAIT_ALL": os.environ.get("PULUMI_K8S_AWAIT_ALL") == "true",
    }
    for name, is_set in refused.items():
        if is_set:
            raise NotImplementedHere(f"the setting {name}")

    access, unreachable = _access(config)
    return Settings(
        access=access,
        unreachable=unreachable,
        default_namespace=(access.namespace if access else config.get("namespace", "")) or "default",
        delete_unreachable=flag("deleteUnreachable", "PULUMI_K8S_DELETE_UNREACHABLE"),
        skip_update_unreachable=flag("skipUpdateUnreachable", "PULUMI_K8S_SKIP_UPDATE_UNREACHABLE"),
        patch_force=flag("enablePatchForce", "PULUMI_K8S_ENABLE_PATCH_FORCE"),
        upsert=flag("upsertExistingObjects", "PULUMI_K8S_UPSERT_EXISTING_OBJECTS"),
        mutable_config_maps=flag("enableConfigMapMutable", "PULUMI_K8S_ENABLE_CONFIGMAP_MUTABLE"),
        mutable_secrets=flag("enableSecretMutable", "PULUMI_K8S_ENABLE_SECRET_MUTABLE"),
    )


def _access(config: Mapping[str, str]) -> tuple[kubeconfig.Access | None, str]:
    given = config.get("kubeconfig", "")
    try:
        parsed = kubeconfig.parse(given) if given else kubeconfig.ambient()
    except kubeconfig.KubeconfigError as error:
        return None, f"failed to parse kubeconfig data in `{_PREFIX}kubeconfig`- {error}"
    try:
        chosen = {key: config.get(key, "") for key in ("context", "cluster", "namespace")}
        return kubeconfig.access(parsed, **chosen), ""
    except kubeconfig.KubeconfigError as error:
        return None, f"unable to load Kubernetes client configuration from kubeconfig file: {error}"


def problems(urn: str, news: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(property, what is wrong) for a provider's inputs."""
    if plain(news.get(_RENDER)):
        return [(_RENDER, "is not implemented by the stand-in for the kubernetes plug-in")]
    if _is_true(news.get("alwaysRender")):
        return [("alwaysRender", f'requires "{_RENDER}" to be set')]
    if not _is_true(news.get("strictMode")):
        return []
    found = []
    if "::default" in urn:
        found.append(("", "strict mode prohibits default provider"))
    for name in ("kubeconfig", "context"):
        if not plain(news.get(name)):
            found.append((name, f'strict mode requires Provider "{name}" argument'))
    return found


def _is_true(value: Any) -> bool:
    return plain(value) in (True, "true")


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """(changed settings, those of them that replace the provider and with it all that it made).

    A cluster has no identity that a kubeconfig shows, so a replacement is planned when the cluster entry in use
    changes or is not known yet. A clusterIdentifier overrules that: only another identifier replaces.
    Raises KubeconfigError.
    """
    olds, news = plain(dict(old)), plain(dict(new))
    changed = [key for key in {**olds, **news} if olds.get(key) != news.get(key)]
    if not changed:
        return [], []
    was, now = olds.get(_IDENTIFIER), news.get(_IDENTIFIER)
    replaces = [_IDENTIFIER] if was is not None and now is not None and was != now else []
    identified = now is not None and was == now
    for key in ("kubeconfig", "context", "cluster"):
        if news.get(key) is UNKNOWN:
            return [key], [] if identified else [*replaces, key]
    before, after = _cluster(olds), _cluster(news)
    if before is not None and after is not None and before != after:
        replaces += [key for key in ("kubeconfig", "context", "cluster") if key in changed]
    return changed, [] if identified else replaces


def _cluster(values: Mapping[str, Any]) -> Mapping[str, Any] | None:
    given = values.get("kubeconfig")
    if not given or given is UNKNOWN:
        return None
    config = kubeconfig.parse(given if isinstance(given, str) else json.dumps(given))
    return kubeconfig.cluster_of(config, context=values.get("context") or "", cluster=values.get("cluster") or "")
