"""The project's own program with one object more on the user's side: a ConfigMap with istiod's CA key in it.

LEAK chooses the way: `control-plane` goes around the library, by the cluster's bare provider; `options` goes through
it; `none` leaves the program as it is. SLOW is what a busy machine is slow with: `charts`, each of whose objects takes
a second, or `end`, what Pulumi prints of the program's end.
"""

import os
import runpy
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

import pulumi  # noqa: E402
from pulumi_hosted_mesh.assembly import document, hosted_mesh  # noqa: E402
from pulumi_hosted_mesh.charts import chart  # noqa: E402
from pulumi_hosted_mesh.clusters.cluster import DataPlaneCluster  # noqa: E402
from pulumi_hosted_mesh.spec.stack import StackSettings  # noqa: E402
from pulumi_hosted_mesh.trust.authorities import MeshTrust  # noqa: E402

from stacks import all_in_one  # noqa: E402
from tests.support import late_errors  # noqa: E402

made: dict[str, Any] = {}
build = all_in_one.build


def _kept(name: str, kind: Any) -> Any:
    """The class, whose instance is kept for the leak."""

    class Kept(kind):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            made[name] = self

    return Kept


async def build_and_leak(settings: StackSettings) -> dict[str, Any]:
    outputs = await build(settings)
    leak = os.environ["LEAK"]
    options = made["cluster"].options(made["trust"])
    if leak == "control-plane":
        options = pulumi.ResourceOptions(provider=options.provider)
    inputs = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "leak", "namespace": "default"},
        "data": {"ca": made["trust"].private_key},
    }
    if leak != "none":
        pulumi.CustomResource("kubernetes:core/v1:ConfigMap", "leak", inputs, options)
    return outputs


def _slow_object(*args: Any, **kwargs: Any) -> dict[str, Any]:
    time.sleep(1)
    return marked(*args, **kwargs)


marked = chart.marked
match os.environ.get("SLOW"):
    case "charts":
        chart.marked = _slow_object
    case "end":
        late_errors.print_the_end_late()
hosted_mesh.MeshTrust = _kept("trust", MeshTrust)
document.DataPlaneCluster = _kept("cluster", DataPlaneCluster)
all_in_one.build = build_and_leak
runpy.run_path(str(ROOT / "__main__.py"), run_name="__main__")
