"""The stack `operators` on the sandbox: OLM on the control plane, for the data plane's cluster."""

from __future__ import annotations

from typing import Any

from sandbox.clusters import Cluster, Sandbox
from sandbox.engine.deployment import both_clusters, configured, follow
from sandbox.engine.example_catalog import catalog
from sandbox.engine.kubectl import kubectl
from sandbox.engine.pulumi_cli import PulumiCli
from sandbox.lock import locked
from sandbox.program_environment import backend, pulumi_settings
from sandbox.progress import Progress
from sandbox.toolchain import Tools

STACK = "operators"
POOL = {"example.com/pool": "operators"}


def up(sandbox: Sandbox, tools: Tools, progress: Progress) -> None:
    """Labels the data plane's nodes, and deploys the stack with the example's catalog. Raises SandboxError."""
    with progress.step("hosted operators") as step, locked(backend(sandbox.state) / "lock", step.note):
        ready = PulumiCli.of(tools, pulumi_settings(sandbox.state) | {"KUBECONFIG": str(sandbox.kubeconfig)})
        keys = config(sandbox, sandbox.data_plane, document(sandbox.data_plane))
        file = configured(ready, sandbox.state, STACK, keys)
        label = [f"{key}={value}" for key, value in POOL.items()]
        kubectl(sandbox.data_plane, tools, "label", "nodes", "--all", "--overwrite", *label)
        follow("up", ready, sandbox.state, STACK, file, progress)
        step.result(f"OLM in namespace operators-north of {sandbox.control_plane.name}")


def instructions(sandbox: Sandbox) -> str:
    """The closing text: an install, step by step."""
    data_plane = sandbox.data_plane.name
    spec = "{name: demo, channel: stable, source: provider, sourceNamespace: olm}"
    return (
        "\nHosted operators, in `make shell`\n"
        f"  packages for the user        kubectl --context {data_plane} get packagemanifests\n"
        f"  install one                  kubectl --context {data_plane} apply -f - <<'EOF'\n"
        "apiVersion: operators.coreos.com/v1alpha1\n"
        "kind: Subscription\n"
        "metadata: {name: demo, namespace: operators}\n"
        f"spec: {spec}\n"
        "EOF\n"
        f"  its state                    hosted-mesh operators status --kubeconfig $KUBECONFIG --context {data_plane}\n"
        f"  OLM's Pods                   kubectl --context {sandbox.control_plane.name} get pods -n operators-north\n"
        f"  Pods of the user's cluster   kubectl --context {data_plane} get pods -A"
    )


def document(hosted: Cluster, name: str = "north", host: str = "packages.sandbox.test") -> dict[str, Any]:
    """The document for a hosted cluster, with the sandbox's images. host: of its packageserver."""
    address = f"{hosted.addresses.wan_address}/32"
    return {
        "name": name,
        "apiServer": hosted.wan_server,
        "version": "1.36",
        "images": {
            "olm": "sandbox/olm:1",
            "catalog": "sandbox/catalog-operator:1",
            "packageServer": "sandbox/packageserver:1",
            "opm": "sandbox/opm:1",
            "unpack": "sandbox/olm:1",
            "setCommands": False,
        },
        "packageServer": {"host": host, "sourceRanges": [address]},
        "networkPolicy": {"apiServerRanges": [address]},
        "placement": {"nodeSelector": POOL},
        "catalogs": [{"name": "provider", "content": catalog()}],
    }


def config(sandbox: Sandbox, hosted: Cluster, operators: dict[str, Any]) -> dict[str, Any]:
    """The configuration of a stack of this kind. operators: the document of the hosted cluster."""
    return {"stack": STACK, "operators": {**both_clusters(sandbox, hosted), "operators": operators}}
