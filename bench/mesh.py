"""One mesh by `pulumi up`, against the same objects by `helm template` and `kubectl apply --server-side`.

Istio's CRDs are in place for both, as in any cluster with a first mesh. Both ways end when istiod is ready, and both
start without the mesh's namespaces.
"""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from bench.own_sandbox import kubectl, run, until
from bench.samples import Samples, seconds
from bench.stack import Stack, mesh_without_crds
from sandbox.clusters import Sandbox
from sandbox.plugins.selection import select
from sandbox.program_environment import STACK, pulumi_home
from sandbox.progress import Progress
from sandbox.toolchain import Tools

CONTEXTS = {
    "control-plane-cluster": "control-plane",
    "data-plane-cluster": "data-plane",
}  # Pulumi's provider -> context
KUBECONFIG_SECRET = "istio-kubeconfig"  # noqa: S105 (a name)
RESOURCE_BOOKKEEPING = ("__",)  # the plug-in's own entries among a resource's inputs


@dataclass(frozen=True)
class Comparison:
    """Seconds of each way, round by round."""

    resources: int  # in the stack
    objects: int  # the part of them on the two API servers
    plugins: str  # the provider plug-ins of the run
    floor: Samples
    up: Samples
    up_with_preview: Samples
    preview: Samples


def compare(sandbox: Sandbox, tools: Tools, progress: Progress, *, rounds: int) -> Comparison:
    """Measures both ways in turn, `rounds` times. The all-in-one stack must be destroyed, its CRDs kept."""
    bench = _MeshWithoutCrds(sandbox, tools)
    floor, up, up_with_preview, preview = [], [], [], []
    resources: list[dict[str, Any]] = []
    with progress.step("pulumi up against the floor") as step, tempfile.TemporaryDirectory(dir=sandbox.state) as folder:
        for number in range(rounds):
            step.note(f"round {number + 1} of {rounds}: pulumi up")
            up.append(seconds(lambda: bench.pulumi("up", "--yes", "--skip-preview")))
            preview.append(bench.preview_without_changes())
            resources = bench.resources()
            bench.pulumi("destroy", "--yes", "--run-program")
            up_with_preview.append(seconds(lambda: bench.pulumi("up", "--yes")))
            bench.pulumi("destroy", "--yes", "--run-program")
            step.note(f"round {number + 1} of {rounds}: the floor")
            files = write_manifests(resources, Path(folder))
            floor.append(seconds(partial(bench.floor, files)))
            bench.remove(files)
    kind = select(tools, pulumi_home()).kind
    objects = sum(len(found) for found in manifests(resources).values())
    return Comparison(
        len(resources), objects, kind, Samples(floor), Samples(up), Samples(up_with_preview), Samples(preview)
    )


class _MeshWithoutCrds(Stack):
    """The all-in-one stack under another stack name, without the CRDs."""

    def __init__(self, sandbox: Sandbox, tools: Tools) -> None:
        self._sandbox = sandbox
        self._tools = tools
        self.mesh = mesh_without_crds(sandbox, tools)
        super().__init__(sandbox, tools, "bench", {"stack": STACK, "mesh": self.mesh})

    def floor(self, files: Mapping[str, Path]) -> None:
        """Renders both charts and applies the files, the data plane first, then waits for istiod.

        istiod's token is the data plane's newly issued one, as for `pulumi up`, so it is inserted in between.
        """
        for chart in ("base", "istiod"):
            run(self._tools, "helm", "template", chart, str(self._tools.charts / chart), "--namespace", self.namespace)
        apply = ("apply", "--server-side", "--force-conflicts")
        self._kubectl("data-plane", *apply, f"--filename={files['data-plane']}")
        with_token(files["control-plane"], self._token())
        self._kubectl("control-plane", *apply, f"--filename={files['control-plane']}")
        self._kubectl(
            "control-plane", "rollout", "status", "deployment", f"--namespace={self.namespace}", "--timeout=120s"
        )

    def remove(self, files: Mapping[str, Path]) -> None:
        for context, file in files.items():
            self._kubectl(context, "delete", "--ignore-not-found", f"--filename={file}")
        for context in files:
            self._kubectl(context, "wait", "--for=delete", f"namespace/{self.namespace}", "--timeout=120s")

    @property
    def namespace(self) -> str:
        return f"mesh-{self.mesh['name']}"

    def _token(self) -> str:
        get = ("get", "secrets", f"--namespace={self.namespace}", "--output=json")
        kind = "--field-selector=type=kubernetes.io/service-account-token"

        def made() -> str:
            tokens = json.loads(self._kubectl("data-plane", *get, kind))["items"]
            return str(tokens[0].get("data", {}).get("token", "")) if tokens else ""

        # The controller needs a moment.
        return base64.b64decode(until(made, "a token for istiod", seconds=30, every=0.05)).decode()

    def _kubectl(self, cluster: str, *arguments: str) -> str:
        return kubectl(self._tools, self._sandbox.clusters[cluster], *arguments)


def manifests(resources: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The Kubernetes objects of a stack's state as manifests, by kubeconfig context, in the order of their creation."""
    found: dict[str, list[dict[str, Any]]] = {context: [] for context in CONTEXTS.values()}
    for resource in resources:
        inputs = resource.get("inputs", {})
        if not resource.get("custom") or not {"apiVersion", "kind", "metadata"} <= inputs.keys():
            continue
        provider = resource["provider"].split("::")[-2]
        found[CONTEXTS[provider]].append(
            {name: plain(value) for name, value in inputs.items() if not name.startswith(RESOURCE_BOOKKEEPING)}
        )
    return found


def with_token(file: Path, token: str) -> None:
    """Puts istiod's token into the kubeconfig among the manifests of one file."""
    objects = list(yaml.safe_load_all(file.read_text()))
    for one in objects:
        if one["kind"] == "Secret" and one["metadata"]["name"] == KUBECONFIG_SECRET:
            config = yaml.safe_load(base64.b64decode(one["data"]["config"]))
            config["users"][0]["user"]["token"] = token
            one["data"]["config"] = base64.b64encode(yaml.safe_dump(config).encode()).decode()
    file.write_text(yaml.safe_dump_all(objects))


def plain(value: Any) -> Any:
    """A value of a state that was exported with secrets shown, with each secret's wrapper taken off."""
    if isinstance(value, dict):
        return json.loads(value["plaintext"]) if "plaintext" in value else {k: plain(v) for k, v in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def write_manifests(resources: list[dict[str, Any]], folder: Path) -> dict[str, Path]:
    """One file for each context, mode 0600, since Secrets are among the objects."""
    files = {}
    for context, objects in manifests(resources).items():
        files[context] = folder / f"{context}.yaml"
        files[context].touch(mode=0o600)
        files[context].write_text(yaml.safe_dump_all(objects))
    return files
