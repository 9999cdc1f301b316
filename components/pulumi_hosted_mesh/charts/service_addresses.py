"""Addresses of a Service's load balancer, from its status."""

from __future__ import annotations

from typing import Any

import pulumi
from pulumi_kubernetes import core
from pulumi_kubernetes.helm import v4 as helm


def service_addresses(service: core.v1.Service) -> pulumi.Output[list[str]]:
    """Addresses, or the host name that some clouds set; empty before the first one, and for Services of other types."""
    found: pulumi.Output[list[str]] = service.status.apply(addresses)
    return found


def chart_addresses(chart: helm.Chart) -> pulumi.Output[list[str]]:
    """Addresses of a chart's Services."""

    def of_services(made: Any) -> pulumi.Output[list[str]]:
        services = [service_addresses(one) for one in made or () if isinstance(one, core.v1.Service)]
        return pulumi.Output.all(*services).apply(lambda lists: sorted({one for many in lists for one in many}))

    found: pulumi.Output[list[str]] = chart.resources.apply(of_services)
    return found


def addresses(status: Any) -> list[str]:
    """Addresses in a Service's `status`."""
    balancer = status.load_balancer if status else None
    found = [one.ip or one.hostname for one in (balancer.ingress if balancer else None) or ()]
    return sorted({one for one in found if one})
