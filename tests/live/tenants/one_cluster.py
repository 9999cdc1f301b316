"""The committed mesh as one with `split: false` in the data plane's cluster, and its facts."""

from __future__ import annotations

import base64
import copy
from typing import Any

import yaml

from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Sandbox
from sandbox.proof.deployed import MeshFacts
from sandbox.toolchain import Tools
from tests.engine.library.engine import Api, Stack


def document(tools: Tools) -> dict[str, Any]:
    """The committed one in one cluster."""
    committed = yaml.safe_load((CHECKOUT / "stacks/Pulumi.all-in-one.yaml").read_text())["config"]["hosted-mesh:mesh"]
    mesh: dict[str, Any] = copy.deepcopy(committed) | {"split": False}
    (revision,), (membership,) = mesh["revisions"], mesh["memberships"]
    for part, fields in ((mesh, ["controlPlane"]), (revision, ["host", "exposure"]), (membership, ["access"])):
        for field in fields:
            part.pop(field)
    revision["charts"]["path"] = str(tools.charts)
    membership["crds"] = {"keepOnDestroy": False}
    return mesh


def facts(sandbox: Sandbox, tools: Tools, stack: Stack, trust_domain: str = "demo.mesh.local") -> MeshFacts:
    """Of the mesh; the stack has no endpoint."""
    outputs = stack.outputs()
    namespace = outputs["namespace"]
    api = Api(sandbox.data_plane, tools)
    files = api.get("secret", "cacerts", "-n", namespace)["data"]
    return MeshFacts(
        name="demo",
        namespace=namespace,
        host=f"istiod.{namespace}.svc",
        xds_port=15012,
        webhook_port=443,
        trust_domain=trust_domain,
        root_certificate=base64.b64decode(files["root-cert.pem"]).decode(),
        injection_labels=outputs["injection_labels"],
    )
