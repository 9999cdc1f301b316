"""Which condition holds for which object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sandbox.plugins.kubernetes.objects import SKIP_AWAIT, WAIT_FOR, Gvk, annotation, gvk_of, is_true
from sandbox.plugins.kubernetes.readiness import simple
from sandbox.plugins.kubernetes.readiness.pods import DEPLOYMENT, POD
from sandbox.plugins.kubernetes.readiness.verdict import Condition

_BY_KIND: Final[Mapping[Gvk, Condition]] = {
    Gvk("apps", "v1", "Deployment"): DEPLOYMENT,
    Gvk("", "v1", "Pod"): POD,
    Gvk("", "v1", "Service"): simple.SERVICE,
    Gvk("", "v1", "ResourceQuota"): simple.RESOURCE_QUOTA,
}
# Deleting one of these is not waited for either when its waiting is switched off; of others it always is.
_SKIPS_DELETION: Final = frozenset({Gvk("", "v1", "Namespace"), Gvk("", "v1", "Pod"), Gvk("apps", "v1", "Deployment")})


def condition_for(inputs: Mapping[str, Any], live: Mapping[str, Any]) -> Condition | None:
    """What to wait for after creating or updating; None: nothing."""
    if is_true(inputs, SKIP_AWAIT):
        return None
    wanted = annotation(live, WAIT_FOR)
    if wanted:
        return simple.asked_for(wanted)
    gvk = gvk_of(live)
    if gvk == Gvk("", "v1", "Secret"):
        return simple.TOKEN if live.get("type") == "kubernetes.io/service-account-token" else None
    return _BY_KIND.get(gvk)


def read_condition_for(inputs: Mapping[str, Any], live: Mapping[str, Any]) -> Condition | None:
    """What a refresh judges; None: nothing."""
    condition = None if is_true(inputs, SKIP_AWAIT) else _BY_KIND.get(gvk_of(live))
    return condition if condition is not None and condition.on_read else None


def waits_for_deletion(inputs: Mapping[str, Any]) -> bool:
    return not (is_true(inputs, SKIP_AWAIT) and gvk_of(inputs) in _SKIPS_DELETION)
