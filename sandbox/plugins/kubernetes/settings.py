"""The provider's configuration: what is checked, what a change of it does, and what it comes out as."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sandbox.plugins.kubernetes.api_server import kubeconfig
from sandbox.plugins.protocol.errors import NotImplementedHere
from sandbox.plugins.protocol.values import UNKNOWN, plain

_PREFIX: Final = "kubernetes:config:"
_IDENTIFIER: Final = "clusterIdentifier"
# Settings that no stack has, and the variables that stand for them.
_REFUSED: Final = {
    "alwaysRender": "",
    "deleteUnreachable": "PULUMI_K8S_DELETE_UNREACHABLE",
    "rejectUnknownResources": "",
    "renderYamlToDirectory": "",
    "skipUpdateUnreachable": "PULUMI_K8S_SKIP_UPDATE_UNREACHABLE",
    "strictMode": "",
    "PULUMI_K8S_AWAIT_ALL": "PULUMI_K8S_AWAIT_ALL",
}


@dataclass(frozen=True)
class Settings:
    """The settings of a provider. unreachable: why there is no API server to talk to, "" when there is one."""

    access: kubeconfig.Access | None
    unreachable: str
    default_namespace: str
    upsert: bool
    mutable_config_maps: bool
    mutable_secrets: bool
    patch_force: bool


def read(variables: Mapping[str, str]) -> Settings:
    """The settings from the engine's variables, those not set from the environment. Raises NotImplementedHere."""
    config = {key.removeprefix(_PREFIX): value for key, value in variables.items()}

    def setting(name: str, variable: str, default: str = "false") -> str:
        return config.get(name) or os.environ.get(variable) or default

    for name, variable in _REFUSED.items():
        if setting(name, variable) != "false":
            raise NotImplementedHere(f"the setting {name} ({variable})" if variable else f"the setting {name}")
    if setting("enableServerSideApply", "PULUMI_K8S_ENABLE_SERVER_SIDE_APPLY", "true") != "true":
        raise NotImplementedHere("the setting enableServerSideApply=false")
    access, unreachable = _access(config)
    return Settings(
        access=access,
        unreachable=unreachable,
        default_namespace=(access.namespace if access else config.get("namespace", "")) or "default",
        upsert=setting("upsertExistingObjects", "PULUMI_K8S_UPSERT_EXISTING_OBJECTS") == "true",
        mutable_config_maps=setting("enableConfigMapMutable", "PULUMI_K8S_ENABLE_CONFIGMAP_MUTABLE") == "true",
        mutable_secrets=setting("enableSecretMutable", "PULUMI_K8S_ENABLE_SECRET_MUTABLE") == "true",
        patch_force=setting("enablePatchForce", "PULUMI_K8S_ENABLE_PATCH_FORCE") == "true",
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
