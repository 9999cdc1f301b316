"""Pulumi's condition for a ready Service."""

from __future__ import annotations

from pulumi_hosted_mesh.vocabulary import SKIP_AWAIT_ANNOTATION, WAIT_FOR_ANNOTATION

HAS_ADDRESS = "jsonpath={.status.loadBalancer.ingress}"


def service_wait(service_type: str, *, ready: bool = True) -> dict[str, str]:
    """Annotations of a Service: Pulumi waits for a load balancer's address, but not for endpoints.

    By default Pulumi waits until a Service's endpoints have not changed for ten seconds. It already waits for the
    Deployments of these Services, which is equivalent and faster. ready: False waits for nothing.
    """
    if ready and service_type == "LoadBalancer":
        return {WAIT_FOR_ANNOTATION: HAS_ADDRESS}
    return {SKIP_AWAIT_ANNOTATION: "true"}
