"""What the pack can be told (`--policy-pack-config`): one typed object, and the schema of each policy's share of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ..plan.clusters import ClusterConfig


def strings(description: str, default: tuple[str, ...] = ()) -> dict[str, Any]:
    """JSON Schema of a list of strings."""
    return {"type": "array", "items": {"type": "string"}, "description": description, "default": list(default)}


def number(description: str, default: int) -> dict[str, Any]:
    """JSON Schema of a whole number."""
    return {"type": "integer", "description": description, "default": default}


@dataclass(frozen=True)
class Settings:
    """All settings of all policies. The defaults suit a stack made with the library."""

    clusters: ClusterConfig = field(default_factory=ClusterConfig)
    data_plane_stacks: tuple[str, ...] = ("*/data-plane",)
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
        merged: dict[str, Any] = {}
        for values in by_policy.values():
            merged.update(values)
        plain = cls()

        def texts(key: str, default: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(map(str, merged[key])) if merged.get(key) is not None else default

        return cls(
            clusters=ClusterConfig.read(merged),
            data_plane_stacks=texts("dataPlaneStacks", plain.data_plane_stacks),
            control_plane_config_keys=texts("controlPlaneConfigKeys", plain.control_plane_config_keys),
            without_preview=str(merged.get("withoutPreview", plain.without_preview)),
            most_timeout_seconds=int(merged.get("mostTimeoutSeconds", plain.most_timeout_seconds)),
            failure_policies=texts("failurePolicies", plain.failure_policies),
            istiod_accounts=texts("istiodAccounts", plain.istiod_accounts),
            authorities_elsewhere=texts("authoritiesElsewhere", plain.authorities_elsewhere),
            shared_namespaces=texts("sharedNamespaces", plain.shared_namespaces),
            most_authority_days=int(merged.get("mostAuthorityDays", plain.most_authority_days)),
            most_leaf_days=int(merged.get("mostLeafDays", plain.most_leaf_days)),
            renewal_due_days=int(merged.get("renewalDueDays", plain.renewal_due_days)),
        )


CLUSTER_SCHEMA: Final[dict[str, dict[str, Any]]] = {
    "controlPlaneServers": strings("Addresses of the control plane's API servers, such as https://10.0.0.1:6443."),
    "dataPlaneServers": strings("Addresses of data planes' API servers."),
    "controlPlaneProviders": strings("Names or URNs of providers that reach control planes; * matches anything."),
    "dataPlaneProviders": strings("Names or URNs of providers that reach data planes; * matches anything."),
}
