"""What the pack can be told (`--policy-pack-config`): one typed object, and the schema of each policy's share of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from ..plan.clusters import ClusterConfig


@dataclass(frozen=True)
class Settings:
    """All settings of all policies. The defaults suit a stack made with the library."""

    clusters: ClusterConfig = field(default_factory=ClusterConfig)
    data_plane_stacks: tuple[str, ...] = ("*/data-plane",)
    data_plane_logins: tuple[str, ...] = ()
    control_plane_config_keys: tuple[str, ...] = ()
    without_preview: str = "refuse-secrets"
    most_timeout_seconds: int = 10
    failure_policies: tuple[str, ...] = ("Fail", "Ignore")
    istiod_accounts: tuple[str, ...] = ("istiod*", "istio-reader*", "hosted-mesh*")
    authorities_elsewhere: tuple[str, ...] = ()
    shared_namespaces: tuple[str, ...] = ("kube-system", "default", "istio-system")
    most_authority_days: int = 3653
    most_leaf_days: int = 398
    renewal_due_days: int = 30

    @classmethod
    def read(cls, by_policy: Mapping[str, Mapping[str, Any]]) -> Settings:
        """From the configuration of each policy, as the engine or a file gives it.

        A key belongs to one policy and holds for all: the engine fills in each policy's defaults, so a key of two
        policies would have two values. `configuration.check` has refused what does not fit.
        """
        merged = {key: value for values in by_policy.values() for key, value in values.items() if value is not None}
        given = {name: merged[_key(name)] for name in _DEFAULTS if _key(name) in merged}
        own = {name: _like(_DEFAULTS[name], value) for name, value in given.items()}
        clusters = {field.name: own.pop(field.name) for field in fields(ClusterConfig) if field.name in own}
        return cls(clusters=ClusterConfig.of(**clusters), **own)


_DEFAULTS: Final = {**vars(ClusterConfig()), **{k: v for k, v in vars(Settings()).items() if k != "clusters"}}


def _key(name: str) -> str:
    """The setting's name in a configuration: `mostLeafDays` for `most_leaf_days`."""
    first, *others = name.split("_")
    return first + "".join(map(str.title, others))


def _like(default: Any, value: Any) -> Any:
    return tuple(map(str, value)) if isinstance(default, tuple) else type(default)(value)


def schema_of(**descriptions: str) -> dict[str, dict[str, Any]]:
    """JSON Schema of some settings, by the fields that they fill: lists of strings, and whole numbers from 1 on."""
    found: dict[str, dict[str, Any]] = {}
    for name, text in descriptions.items():
        default = _DEFAULTS[name]
        numbers = {"type": "integer", "minimum": 1}
        kind = {"type": "array", "items": {"type": "string"}} if isinstance(default, tuple) else numbers
        value = list(default) if isinstance(default, tuple) else default
        found[_key(name)] = {**kind, "description": text, "default": value}
    return found


CLUSTER_SCHEMA: Final = schema_of(
    control_plane_servers="Addresses of the control plane's API servers, such as https://10.0.0.1:6443.",
    data_plane_servers="Addresses of data planes' API servers.",
    control_plane_providers="Names or URNs of providers that reach control planes; * matches anything.",
    data_plane_providers="Names or URNs of providers that reach data planes; * matches anything.",
    data_plane_tenants="Data planes of one tenant, as TENANT=ADDRESS, shop=https://10.0.0.2:6443 for one.",
)
