"""A warning of changed source ranges of istiod's Service, in the preview and in the update.

A load balancer closes to new connections only, so a change shows its effect late: an API server goes on over its open
connections, while a new Pod's proxy waits.
"""

from __future__ import annotations

from typing import Any, Final

import pulumi

from pulumi_hosted_mesh.clusters.hooks import plain

HOOK: Final = "hosted-mesh-source-ranges"
ALL: Final = "all addresses"


def source_ranges_hook() -> pulumi.ResourceHook:
    """The hook for updates of Services. Create it once per program."""
    return pulumi.ResourceHook(HOOK, warn_of_changes, pulumi.ResourceHookOptions(on_dry_run=True))


async def warn_of_changes(args: pulumi.ResourceHookArgs) -> None:
    """Prints a warning if an update of a Service changes its source ranges."""
    before, after = await _ranges(args.old_inputs), await _ranges(args.new_inputs)
    if before != after:
        lost, new = (_listed(one) for one in (before - after, after - before))
        changes = [f"without {lost}"] if lost else []
        changes += [f"with {new}"] if new else []
        pulumi.log.warn(
            f"Service {args.id}: its source ranges change, {' and '.join(changes)}. API servers and nodes of data "
            "planes outside of them lose istiod: new Pods do not start. Open connections stay, so check-webhooks can "
            "report ok for minutes. Afterwards restart one workload of each data plane, and run `hosted-mesh doctor`"
        )


async def _ranges(inputs: Any) -> frozenset[str]:
    """The source ranges in a Service's inputs. A Service without them is open to all."""
    spec = await plain((inputs or {}).get("spec")) or {}
    return frozenset(map(str, await plain(spec.get("loadBalancerSourceRanges")) or [ALL]))


def _listed(ranges: frozenset[str]) -> str:
    return ", ".join(sorted(ranges))
