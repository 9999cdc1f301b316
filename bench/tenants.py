"""The cost of one more mesh on a control plane's cluster with many: `make bench ARGS=tenants`.

The engine, etcd and an API server are real. No node runs, so no istiod does: an istiod's memory is in docs/bench.md.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from pulumi_hosted_mesh.clusters.kubeconfig import minimal
from pulumi_hosted_mesh.spec.gateway import GatewaySettings
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.tenancy.manifests import sidecar_config
from rich.console import Console

from agents.gateway_sidecar import envoy_config
from agents.gateway_sidecar.rows import rows_of
from agents.gateway_sidecar.settings import Settings
from bench.grid import Grid
from bench.mesh import manifests
from bench.own_sandbox import beside, kubectl
from bench.own_sandbox import run as run_tool
from bench.samples import Samples, seconds, timed
from bench.stack import Stack, mesh_without_crds
from sandbox import clusters, toolchain
from sandbox.clusters import Sandbox
from sandbox.errors import SandboxError
from sandbox.progress import Progress
from sandbox.toolchain import Tools

SIZES: Final = (1, 10, 50, 100)
ROUNDS: Final = 3
AT_ONCE: Final = 2
"""Stacks that run side by side where no time is measured."""
ZONE: Final = "meshes.sandbox.test"
GATEWAY: Final = "bench-gateway"
SERVER: Final = "https://127.0.0.1:1"
SETTINGS: Final = {"zones": [ZONE], "openToAll": True, "waitUntilReady": False}


@dataclass(frozen=True)
class Took:
    """Of the last of `meshes`. Seconds of `up` and of a preview without changes; its Kubernetes objects.

    floor: seconds of `helm template` and `kubectl apply --server-side` of the same objects. rows: the gateway's.
    render: seconds to compute the gateway's configuration. size: its bytes.
    """

    meshes: int
    objects: int
    floor: Samples
    up: Samples
    preview: Samples
    rows: int
    render: float
    size: int


def run(state: Path, progress: Progress, console: Console) -> None:
    """Measures on a sandbox of its own beside `state`. Some ten minutes. Raises SandboxError."""
    tools = toolchain.ensure(progress=progress)
    with beside(state) as folder:
        sandbox = clusters.up(folder / "state", tools, progress, nodes=False)
        with progress.step("pulumi up of one mesh among many") as step:
            found = []
            for one in _taken(sandbox, tools):
                step.note(f"{one.meshes} meshes: {one.up.median:.1f} s")
                found.append(one)
        console.print(grid(found).for_terminal())


def configuration(mesh: Mapping[str, Any], number: int, root_certificate: str) -> dict[str, Any]:
    """Of one tenant's stack `control-plane`, behind the shared gateway. All tenants call their mesh `shop`."""
    tenant = f"tenant-{number}"
    document = copy.deepcopy(dict(mesh)) | {"name": "shop", "tenant": tenant, "trust": {"management": "unmanaged"}}
    (revision,), (membership,) = document["revisions"], document["memberships"]
    hooks = {"host": f"hooks.{tenant}.{ZONE}", "openToAll": True}
    exposure = {"kind": "gateway", "sourceRanges": [f"10.{number}.0.0/16"], "webhooks": hooks}
    revision |= {"host": f"istiod.{tenant}.{ZONE}", "exposure": exposure}
    revision["istiod"] = {**revision.get("istiod", {}), "waitUntilReady": False}
    membership["access"] = {"apiServer": SERVER}
    user = {"server": SERVER, "certificate-authority-data": "QQ=="}
    return {
        "stack": "control-plane",
        "mesh": document,
        "rootCertificate": root_certificate,
        "kubeconfigs": {"default": minimal("shop", user, {"token": "a-token"})},
        "references": {"gateway": f"organization/hosted-mesh/{GATEWAY}"},
    }


def stacks(
    sandbox: Sandbox, tools: Tools, variables: Mapping[str, str] = MappingProxyType({})
) -> Callable[[int], Stack]:
    """Deploys the gateway, and returns the tenants' stacks by number. variables: of the engine."""
    mesh = mesh_without_crds(sandbox, tools)
    cluster = mesh["controlPlane"]["cluster"]
    gateway = {"stack": "gateway", "gateway": {"cluster": cluster, "gateway": SETTINGS}}
    Stack(sandbox, tools, GATEWAY, gateway, variables=variables).pulumi("up", "--yes", "--skip-preview")
    certificate = sandbox.control_plane.certificate_authority.read_text()

    def stack(number: int) -> Stack:
        config = configuration(mesh, number, certificate)
        return Stack(sandbox, tools, f"bench-{number}", config, key_of=GATEWAY, variables=variables)

    return stack


def _taken(sandbox: Sandbox, tools: Tools) -> Iterator[Took]:
    """The gateway's stack, then meshes; each of SIZES is measured when it has joined, while nothing else runs."""
    stack = stacks(sandbox, tools)

    def join(joining: Stack) -> None:
        joining.pulumi("up", "--yes", "--skip-preview")

    joined = 0
    for size in SIZES:
        *others, last = map(stack, range(joined + 1, size + 1))
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(join, others))
        joined = size
        join(last)  # fills caches
        objects = manifests(last.resources())["control-plane"]
        floor, up, preview = list[float](), list[float](), list[float]()
        for _ in range(ROUNDS):
            last.pulumi("destroy", "--yes", "--run-program")
            floor.append(_floor(sandbox, tools, objects))
            up.append(seconds(lambda: join(last)))  # noqa: B023
            preview.append(last.preview_without_changes())
        yield Took(size, len(objects), Samples(floor), Samples(up), Samples(preview), *_gateway(sandbox, tools))


def _floor(sandbox: Sandbox, tools: Tools, objects: Sequence[Mapping[str, Any]]) -> float:
    """Seconds of the same objects without Pulumi; removes them again."""

    def applied() -> None:
        run_tool(tools, "helm", "template", "istiod", str(tools.charts / "istiod"))
        apply = ("apply", "--server-side", "--force-conflicts", "--filename=-")
        kubectl(tools, sandbox.control_plane, *apply, given=objects)

    took = seconds(applied)
    kubectl(tools, sandbox.control_plane, "delete", "--ignore-not-found", "--filename=-", given=objects)
    return took


def _gateway(sandbox: Sandbox, tools: Tools) -> tuple[int, float, int]:
    """Rows of the gateway, seconds to compute Envoy's configuration of them, and its bytes."""
    selector = "--selector=hosted-mesh.io/gateway-host=true"
    words = ("get", "configmaps", "--namespace=hosted-mesh-gateway", selector, "--output=json")
    hosts = json.loads(kubectl(tools, sandbox.control_plane, *words))["items"]
    settings = Settings.of(sidecar_config(read_document(GatewaySettings, SETTINGS)))
    rows, rejected = rows_of(hosts, settings)
    if rejected:
        raise SandboxError("The gateway rejects rows of the measurement.", why=json.dumps(rejected))

    def rendered() -> str:
        return json.dumps([envoy_config.listeners(rows, settings), envoy_config.clusters(rows, settings)])

    text, took = timed(rendered)
    return len(rows), took, len(text)


def grid(found: Iterable[Took]) -> Grid:
    """One row for each number of meshes."""
    given = list(found)
    rows = [
        [
            str(one.meshes),
            str(one.objects),
            *(f"{samples.median:.2f} s" for samples in (one.floor, one.up, one.preview)),
            f"{(one.up / one.floor).median:.2f}",
            f"{one.up.median / given[0].up.median:.2f}",
            str(one.rows),
            f"{one.render * 1000:.0f} ms",
            f"{one.size:,}",
        ]
        for one in given
    ]
    columns = ["meshes", "objects", "floor", "up", "preview, no change"]
    columns += ["up, to the floor", "up, to the first", "hosts", "render", "bytes"]
    return Grid("stack control-plane of the last of N meshes behind one gateway", columns, rows)
