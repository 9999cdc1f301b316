"""Under which addresses a Service's load balancer is reached, as the API server says."""

from __future__ import annotations

from typing import Any

import pulumi
from pulumi_kubernetes import core
from pulumi_kubernetes.helm import v4 as helm


def service_addresses(service: core.v1.Service) -> pulumi.Output[list[str]]:
    """Addresses, or one host name as some clouds give; empty before there is one, and for Services of other types."""
    found: pulumi.Output[list[str]] = service.status.apply(addresses)
    return found


def chart_addresses(chart: helm.Chart) -> pulumi.Output[list[str]]:
    """Of the Services that a chart made."""

    def of_services(made: Any) -> pulumi.Output[list[str]]:
        services = [service_addresses(one) for one in made or () if isinstance(one, core.v1.Service)]
        return pulumi.Output.all(*services).apply(lambda lists: sorted({one for many in lists for one in many}))

    found: pulumi.Output[list[str]] = chart.resources.apply(of_services)
    return found


def addresses(status: Any) -> list[str]:
    """Of `status` of a Service."""
    balancer = status.load_balancer if status else None
    found = [one.ip or one.hostname for one in (balancer.ingress if balancer else None) or ()]
    return sorted({one for one in found if one})
