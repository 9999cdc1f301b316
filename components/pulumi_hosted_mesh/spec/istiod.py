"""The Deployment of istiod in the control plane's cluster: size, scheduling, settings."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.fields import (
    Cpu,
    DnsLabel,
    LogLevels,
    Memory,
    Model,
    Switch,
    Text,
    Variable,
    VariableValue,
    amount,
)
from pulumi_hosted_mesh.spec.reserved import unreserved

Count = Annotated[int, Field(strict=True, ge=1, le=20)]


class Resources(Model):
    """CPU and memory of istiod's Pod, as Kubernetes quantities. The limits also size the namespace's quota."""

    cpu_request: Cpu = "250m"
    """Requested CPU."""
    memory_request: Memory = "512Mi"
    """Requested memory."""
    cpu_limit: Cpu = "2"
    """CPU limit; also sets istiod's number of threads."""
    memory_limit: Memory = "2Gi"
    """Memory limit."""

    @model_validator(mode="after")
    def _requests_within_limits(self) -> Self:
        for name, request, limit in (
            ("cpu", self.cpu_request, self.cpu_limit),
            ("memory", self.memory_request, self.memory_limit),
        ):
            if amount(request) > amount(limit):
                defaults = [type(self).model_fields[f"{name}_{kind}"].default for kind in ("request", "limit")]
                raise RuleBrokenError(
                    f"{name}Request is more than {name}Limit (their defaults are {' and '.join(defaults)})",
                    f"Lower {name}Request or raise {name}Limit",
                )
        return self


class Autoscaling(Model):
    """A HorizontalPodAutoscaler for istiod. The namespace's quota fits the maximum."""

    max_replicas: Count
    """Maximum number of Pods."""
    cpu_utilization: Annotated[int, Field(strict=True, ge=1, le=100)] = 80
    """Average use of the requested CPU that adds Pods, in percent."""


class Toleration(Model):
    """One toleration of a Pod."""

    key: Text | None = None
    """Key of the taint; without a key, every taint is tolerated."""
    operator: Text | None = None
    """`Exists` or `Equal`."""
    value: Text | None = None
    """Value of the taint."""
    effect: Text | None = None
    """`NoSchedule`, `PreferNoSchedule` or `NoExecute`; by default all."""


class Scheduling(Model):
    """Constraints on the Pods' nodes."""

    node_selector: dict[str, Text] = {}
    """Labels that a node must have."""
    tolerations: tuple[Toleration, ...] = ()
    """Tolerated taints."""
    affinity: dict[str, object] = {}
    """`spec.affinity` of the Pod."""
    priority_class: DnsLabel | None = None
    """Name of a PriorityClass."""


class Istiod(Model):
    """The Deployment of istiod."""

    replicas: Count = 2
    """Number of Pods; with autoscaling, the minimum. Two or more are spread over nodes, and a PodDisruptionBudget keeps
    one. With 1, the loss of its node stops the creation of injected Pods on the data plane, because webhooks fail
    closed."""
    autoscaling: Autoscaling | None = None
    """Adds Pods under load; by default the number is fixed."""
    resources: Resources = Resources()
    """CPU and memory of each Pod."""
    scheduling: Scheduling = Scheduling()
    """Constraints on its Pods' nodes."""
    drain_seconds: Annotated[int, Field(strict=True, ge=0, le=300)] = 5
    """Seconds for which an ending Pod still serves, until the load balancer sends it no new connections. With 0 webhook
    calls and proxies still reach a Pod that has ended. More than 0 needs Kubernetes 1.30."""
    image_pull_secrets: tuple[DnsLabel, ...] = ()
    """Names of Secrets with registry credentials, in the mesh's namespace."""
    requests_per_second: Annotated[int, Field(strict=True, ge=1, le=10000)] = 50
    """New xDS connections per second and Pod; further ones wait. It protects other meshes from a storm of one."""
    log_level: LogLevels = "default:info"
    """Istio's log levels, `scope:level` separated by commas; none, error, warn, info, debug or fatal."""
    environment: dict[Annotated[Variable, AfterValidator(unreserved)], VariableValue] = {}
    """More environment variables of istiod. Variables that its chart or the library sets are rejected."""
    wait_until_ready: Switch = True
    """False: `pulumi up` does not wait for istiod. For clusters without nodes, as in the engine tests."""

    @property
    def most_replicas(self) -> int:
        """The maximum number of Pods of one ReplicaSet."""
        return self.autoscaling.max_replicas if self.autoscaling else self.replicas

    @model_validator(mode="after")
    def _scales_up(self) -> Self:
        if self.autoscaling and self.autoscaling.max_replicas <= self.replicas:
            raise RuleBrokenError(
                "autoscaling.maxReplicas must be more than replicas, the minimum",
                "Raise maxReplicas, or leave autoscaling out",
            )
        return self
