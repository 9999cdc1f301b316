"""One revision of a mesh's control plane: an istiod of one version, under a host of its own."""

from __future__ import annotations

from pulumi_hosted_mesh.spec.charts import Charts
from pulumi_hosted_mesh.spec.exposure import Exposure
from pulumi_hosted_mesh.spec.features import Features
from pulumi_hosted_mesh.spec.fields import HostName, Model
from pulumi_hosted_mesh.spec.fields import Revision as RevisionName
from pulumi_hosted_mesh.spec.istiod import Istiod
from pulumi_hosted_mesh.spec.proxies import Proxies
from pulumi_hosted_mesh.spec.reserved import IstiodValues
from pulumi_hosted_mesh.vocabulary import DEFAULT_REVISION


class Revision(Model):
    """An istiod of one version. Two of them run side by side while the data plane moves from one to the other."""

    name: RevisionName = DEFAULT_REVISION
    """Istio's revision: the value of the label `istio.io/rev` that chooses it. Unique within the mesh."""
    host: HostName
    """DNS name under which the data plane reaches this istiod; also in its certificate. Unique within the mesh."""
    exposure: Exposure
    """How the data plane reaches it, and who may."""
    charts: Charts = Charts()
    """Where Istio's charts and images come from, and their version."""
    istiod: Istiod = Istiod()
    """How many Pods, how large, where, and their settings."""
    features: Features = Features()
    """What it may do beside the least. The data plane's user grants each (`access.features`)."""
    proxies: Proxies = Proxies()
    """Settings of all proxies that it serves."""
    chart_values: IstiodValues = {}
    """More values for the istiod chart on the control plane; an escape hatch. What the split sets is refused."""
