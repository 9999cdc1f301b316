"""One revision of a mesh's control plane: an istiod of one version, with its own host name."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from pydantic import model_validator

from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.charts import Charts
from pulumi_hosted_mesh.spec.exposure import Exposure
from pulumi_hosted_mesh.spec.features import Features
from pulumi_hosted_mesh.spec.fields import HostName, Model
from pulumi_hosted_mesh.spec.fields import Revision as RevisionName
from pulumi_hosted_mesh.spec.istiod import Istiod
from pulumi_hosted_mesh.spec.proxies import Proxies
from pulumi_hosted_mesh.spec.reserved import IstiodValues
from pulumi_hosted_mesh.vocabulary import DEFAULT_REVISION


class Profile(StrEnum):
    """A profile of Istio's charts, `files/profile-<name>.yaml`. Others change a cluster's other programs, or the side
    of an object."""

    DEFAULT = "default"
    DEMO = "demo"
    PREVIEW = "preview"


class Revision(Model):
    """An istiod of one version. Two of them run side by side while the data plane moves from one to the other."""

    made_elsewhere = frozenset({"host", "exposure"})

    name: RevisionName = DEFAULT_REVISION
    """Istio's revision, the value of the label `istio.io/rev`. Unique within the mesh."""
    host: HostName
    """DNS name of this istiod for the data plane, also in its certificate. Unique within the mesh. Required, except
    with `split: false`."""
    exposure: Exposure
    """The data plane's way to it, and the allowed client addresses. Required, except with `split: false`."""
    charts: Charts = Charts()
    """The source of Istio's charts and images, and their version."""
    profile: Profile = Profile.DEFAULT
    """Istio's profile: `default`, `demo` (traces of each request, small istiod and proxies, no autoscaler) or `preview`
    (DNS capture in proxies). Fields of this document override it; `demo` excludes `istiod.autoscaling` and
    `istiod.resources`."""
    istiod: Istiod = Istiod()
    """Number, size, scheduling and settings of its Pods."""
    features: Features = Features()
    """Rights beyond the least. The data plane's user grants each (`access.features`)."""
    proxies: Proxies = Proxies()
    """Settings of its proxies."""
    chart_values: IstiodValues = {}
    """More values for the istiod chart on the control plane; an escape hatch. Values that the library sets are
    rejected."""

    @model_validator(mode="after")
    def _demo_sizes_istiod(self) -> Self:
        """The profile has `pilot`, which Istio's charts merge over all other values."""
        if self.profile is Profile.DEMO:
            for field in ("autoscaling", "resources"):
                if field in self.istiod.model_fields_set and getattr(self.istiod, field) is not None:
                    rule = f"istiod.{field} has no effect with profile: demo, which sets istiod's size"
                    raise RuleBrokenError(rule, f"Leave istiod.{field} out, or choose another profile")
        return self
