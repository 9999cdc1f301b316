"""The pack's settings (`--policy-pack-config`): one typed object, and the schema of each policy's part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from hosted_mesh_plan.clusters import ClusterConfig


@dataclass(frozen=True)
class Settings:
    """All settings of all policies. The defaults suit a stack of the library."""

    clusters: ClusterConfig = field(default_factory=ClusterConfig)
    strict: bool = False
    comments: tuple[str, ...] = ()
    data_plane_stacks: tuple[str, ...] = ("*/data-plane",)
    data_plane_logins: tuple[str, ...] = ()
    control_plane_config_keys: tuple[str, ...] = ()
    without_preview: str = "refuse-secrets"
    most_timeout_seconds: int = 10
    failure_policies: tuple[str, ...] = ("Fail", "Ignore")
    istiod_accounts: tuple[str, ...] = ("istiod*", "istio-reader*", "hosted-mesh*")
    authorities_elsewhere: tuple[str, ...] = ()
    shared_namespaces: tuple[str, ...] = ("kube-system", "default", "istio-system")

    @property
    def declares_owners(self) -> bool:
        """True if a cluster, an account, a stack, a login or a configuration key has a declared owner."""
        own = (self.data_plane_logins, self.control_plane_config_keys)
        stacks = self.data_plane_stacks != Settings.data_plane_stacks
        return self.clusters != ClusterConfig() or any(own) or stacks

    @classmethod
    def read(cls, by_policy: Mapping[str, Mapping[str, Any]]) -> Settings:
        """From the configuration of each policy, as in the engine or a file.

        A key belongs to one policy and holds for all: the engine adds each policy's defaults, so a key of two policies
        would have two values. `configuration.check` rejects invalid ones before.
        """
        merged = {key: value for values in by_policy.values() for key, value in values.items() if value is not None}
        given = {name: merged[_key(name)] for name in _DEFAULTS if _key(name) in merged}
        own = {name: _like(_DEFAULTS[name], value) for name, value in given.items()}
        clusters = {field.name: own.pop(field.name) for field in fields(ClusterConfig) if field.name in own}
        return cls(clusters=ClusterConfig.of(**clusters), **own)


_DEFAULTS: Final = {**vars(ClusterConfig()), **{k: v for k, v in vars(Settings()).items() if k != "clusters"}}


def _key(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.title, others))


def _like(default: Any, value: Any) -> Any:
    return tuple(map(str, value)) if isinstance(default, tuple) else type(default)(value)


def schema_of(**descriptions: str) -> dict[str, dict[str, Any]]:
    """JSON Schema of some settings, by the fields that they fill: lists of strings, and whole numbers from 1 on."""
    found: dict[str, dict[str, Any]] = {}
    for name, text in descriptions.items():
        default = _DEFAULTS[name]
        numbers = {"type": "boolean"} if isinstance(default, bool) else {"type": "integer", "minimum": 1}
        kind = {"type": "array", "items": {"type": "string"}} if isinstance(default, tuple) else numbers
        value = list(default) if isinstance(default, tuple) else default
        found[_key(name)] = {**kind, "description": text, "default": value}
    return found


CLUSTER_SCHEMA: Final = schema_of(
    control_plane_servers="Addresses of the control plane's API servers, such as https://10.0.0.1:6443.",
    data_plane_servers="Addresses of data planes' API servers.",
    control_plane_providers="Names or URNs of providers that reach control planes; * matches any text.",
    data_plane_providers="Names or URNs of providers that reach data planes; * matches any text.",
    data_plane_tenants="Data planes of one tenant, as TENANT=ADDRESS, such as shop=https://10.0.0.2:6443.",
    strict="Makes verdicts on undeclared owners mandatory, also without any other setting.",
    comments="Notes for people, such as the questions of `hosted-mesh-policies init`. The pack ignores them.",
)
