"""An authority that is refused when it is known, while a chart is being made whose objects take a second each.

Configuration: `charts`, a directory with Istio's. What Pulumi prints at the program's end comes late, as on a busy
machine.
"""

import asyncio
import os
import sys
from pathlib import Path

import pulumi
import pulumi_hosted_mesh as hosted_mesh
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.trust import Trust
from pulumi_hosted_mesh.trust.management import Authority, mesh_authority
from pulumi_kubernetes.helm import v4 as helm

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))

from tests.support import late_errors

started = asyncio.Event()


async def slow(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult:
    if "metadata" in args.props:  # not the chart itself
        started.set()
    await asyncio.sleep(1)
    return pulumi.ResourceTransformResult(args.props, args.opts)


async def brought() -> dict[str, str]:
    await started.wait()
    return {"ca-key.pem": "s3cr3t"}


def none() -> Authority:
    raise AssertionError("an authority is brought")


late_errors.print_the_end_late()
kubeconfig = Path(os.environ["KUBECONFIG"]).read_text()
cluster = hosted_mesh.DataPlaneCluster(kubeconfig=kubeconfig, context="data-plane")
options = cluster.options(pulumi.ComponentResource("test:index:Box", "box"))
options.transforms = [slow]
helm.Chart("crds", helm.ChartArgs(chart=f"{pulumi.Config('hosted-mesh').require('charts')}/base"), options)
trust = read_document(Trust, {"management": "brought"})
given = mesh_authority(trust, none, brought=brought(), root_certificate=None, source="the mesh")
pulumi.export("root", given.root_certificate)
