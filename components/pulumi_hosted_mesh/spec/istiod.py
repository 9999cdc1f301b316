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
    """CPU that is reserved."""
    memory_request: Memory = "512Mi"
    """Memory that is reserved."""
    cpu_limit: Cpu = "2"
    """CPU that is not exceeded; istiod takes its number of threads from it."""
    memory_limit: Memory = "2Gi"
    """Memory that is not exceeded."""

    @model_validator(mode="after")
    def _requests_within_limits(self) -> Self:
        for name, request, limit in (
            ("cpu", self.cpu_request, self.cpu_limit),
            ("memory", self.memory_request, self.memory_limit),
        ):
            if amount(request) > amount(limit):
                defaults = [type(self).model_fields[f"{name}_{kind}"].default for kind in ("request", "limit")]
                raise RuleBrokenError(
                    f"{name}Request is more than {name}Limit (where not given they are {' and '.join(defaults)})",
                    f"Lower {name}Request or raise {name}Limit",
                )
        return self


class Autoscaling(Model):
    """A HorizontalPodAutoscaler for istiod. The namespace's quota has room for the most Pods."""

    max_replicas: Count
    """The most Pods."""
    cpu_utilization: Annotated[int, Field(strict=True, ge=1, le=100)] = 80
    """Average use of the requested CPU above which Pods are added, in percent."""


class Toleration(Model):
    """One toleration, as a Pod has it."""

    key: Text | None = None
    """Key of the taint; none tolerates every taint."""
    operator: Text | None = None
    """`Exists` or `Equal`."""
    value: Text | None = None
    """Value of the taint."""
    effect: Text | None = None
    """`NoSchedule`, `PreferNoSchedule` or `NoExecute`; none means all."""


class Scheduling(Model):
    """Where Pods may run."""

    node_selector: dict[str, Text] = {}
    """Labels that a node must have."""
    tolerations: tuple[Toleration, ...] = ()
    """Taints that are tolerated."""
    affinity: dict[str, object] = {}
    """`spec.affinity` of the Pod, as Kubernetes has it."""
    priority_class: DnsLabel | None = None
    """Name of a PriorityClass."""


class Istiod(Model):
    """The Deployment of istiod."""

    replicas: Count = 2
    """Number of Pods, with autoscaling the fewest. From 2 on they are spread over nodes, and a PodDisruptionBudget
    keeps one. With 1, whatever takes its node stops the creation of injected Pods on the data plane, for webhooks fail
    closed."""
    autoscaling: Autoscaling | None = None
    """Adds Pods under load; by default their number is fixed."""
    resources: Resources = Resources()
    """CPU and memory of each Pod."""
    scheduling: Scheduling = Scheduling()
    """Where its Pods may run."""
    image_pull_secrets: tuple[DnsLabel, ...] = ()
    """Names of Secrets in the mesh's namespace with a registry's login."""
    requests_per_second: Annotated[int, Field(strict=True, ge=1, le=10000)] = 50
    """New xDS connections that one Pod accepts per second; more wait. Keeps one mesh's storm from starving others."""
    log_level: LogLevels = "default:info"
    """Istio's log levels, `scope:level` separated by commas; none, error, warn, info, debug or fatal."""
    environment: dict[Annotated[Variable, AfterValidator(unreserved)], VariableValue] = {}
    """More environment variables of istiod. Those that its chart or the split sets are refused."""
    wait_until_ready: Annotated[bool, Field(strict=True)] = True
    """False lets `pulumi up` end before istiod runs: for clusters without nodes, as the engine tests have."""

    @property
    def most_replicas(self) -> int:
        """The most Pods of one ReplicaSet."""
        return self.autoscaling.max_replicas if self.autoscaling else self.replicas

    @model_validator(mode="after")
    def _scales_up(self) -> Self:
        if self.autoscaling and self.autoscaling.max_replicas <= self.replicas:
            raise RuleBrokenError(
                "autoscaling.maxReplicas must be more than replicas, which is the fewest",
                "Raise maxReplicas, or leave autoscaling out",
            )
        return self
