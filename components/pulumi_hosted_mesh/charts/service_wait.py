"""What Pulumi waits for before it calls a Service made."""

from __future__ import annotations

from pulumi_hosted_mesh.vocabulary import SKIP_AWAIT_ANNOTATION, WAIT_FOR_ANNOTATION

HAS_ADDRESS = "jsonpath={.status.loadBalancer.ingress}"


def service_wait(service_type: str, *, ready: bool = True) -> dict[str, str]:
    """Annotations of a Service: a load balancer's address is waited for, its endpoints are not.

    By itself Pulumi waits until a Service's endpoints have not changed for ten seconds. The Deployments behind these
    Services are waited for already, which says the same sooner. ready: False waits for nothing.
    """
    if ready and service_type == "LoadBalancer":
        return {WAIT_FOR_ANNOTATION: HAS_ADDRESS}
    return {SKIP_AWAIT_ANNOTATION: "true"}
