"""`hosted-mesh status` of separate stacks: which of them is behind, and what their states do not tell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pulumi_hosted_mesh.cli.command import app
from pulumi_hosted_mesh.operations.stale_stacks import stale_stacks
from typer.testing import CliRunner

from tests.support.authorities import DAY, NOW, Authority, pem

ROOT = Authority("root", ends=NOW + 900 * DAY)
Resource = dict[str, Any]


def certificate(days: int = 300) -> str:
    return pem(Authority("demo", ROOT, ends=NOW + days * DAY).certificate).decode()


NEW, OLD = certificate(), certificate()


def resource(kind: str, name: str, **parts: Any) -> Resource:
    return {"urn": f"urn:pulumi:s::p::{kind}::{name}", "type": kind, **parts}


def trust(request: str = "today's") -> list[Resource]:
    kind = "tls:index/certRequest:CertRequest"
    return [resource(kind, "demo-intermediate-request", outputs={"certRequestPem": request})]


def root(signed: str = NEW, request: str = "today's") -> list[Resource]:
    kind = "tls:index/locallySignedCert:LocallySignedCert"
    ends = {"validityEndTime": (NOW + 300 * DAY).isoformat(), "earlyRenewalHours": 24.0}
    outputs = {"certPem": signed, **ends}
    return [resource(kind, "root-signs-demo", inputs={"certRequestPem": request}, outputs=outputs)]


def constrained_root(signed: str) -> list[Resource]:
    """The certificate with name constraints is the component's; its resource keeps that without."""
    return [*root(OLD), resource("hosted-mesh:index:MeshRoot", "root", outputs={"certificates": {"demo": signed}})]


PLANE = resource("hosted-mesh:index:ExternalControlPlane", "demo")


def control_plane(took: Any = NEW, mesh: str = "demo") -> list[Resource]:
    outputs = {"name": "organization/p/root", "outputs": {"certificates": {mesh: took}}}
    return [PLANE, resource("pulumi:pulumi:StackReference", "organization/p/root", outputs=outputs)]


def issued(**changes: Any) -> Resource:
    spec = {"secretName": "cacerts", "isCA": True, "issuerRef": {"kind": "ClusterIssuer", "name": "company"}}
    inputs = {"spec": {**spec, **changes}}
    return resource("kubernetes:cert-manager.io/v1:Certificate", "demo-cacerts", inputs=inputs)


@pytest.mark.parametrize(
    ("states", "code", "words"),
    [
        (
            [[PLANE, issued()]],
            0,
            "demo-cacerts: cert-manager renews it, by ClusterIssuer company; `hosted-mesh doctor`",
        ),
        ([[PLANE, issued(secretName="serving")]], 4, "NOT JUDGED: the authority of demo, which no stack root signed"),
        ([root(), trust(), control_plane()], 0, "it is the one that root signed"),
        ([root(), control_plane()], 0, "it is the one that root signed"),
        ([root(), control_plane(OLD)], 3, "root HAS SIGNED ANOTHER, run `pulumi up` of control-plane"),
        ([constrained_root(NEW), control_plane()], 0, "it is the one that root signed"),
        ([constrained_root(NEW), control_plane(OLD)], 3, "root HAS SIGNED ANOTHER, run `pulumi up` of control-plane"),
        ([root(request="before"), trust(), control_plane()], 3, "root has signed an outdated request of trust"),
        ([control_plane(certificate(20))], 3, "RENEWAL IS DUE, run `pulumi up` of root, then of control-plane"),
        (
            [root()],
            4,
            "NOT JUDGED: whether istiod of demo has the certificate that root signed: add the stack control-plane",
        ),
        ([trust()], 4, "NOT JUDGED: whether the request of demo is signed: add the stack root"),
        ([control_plane()], 4, "NOT JUDGED: istiod of demo: its authority's certificate ends"),
        ([[PLANE]], 4, "NOT JUDGED: the authority of demo, which no stack root signed"),
        ([control_plane({"ciphertext": "s3cr3t"})], 4, "NOT JUDGED: the authority of demo, which no stack root"),
        ([control_plane(mesh="other")], 4, "NOT JUDGED: the authority of demo, which no stack root signed"),
        ([root(), control_plane(), []], 4, "has no part of an authority"),
        ([[*trust(), *root(), PLANE]], 0, "no renewal due"),
    ],
)
def test_a_stack_that_is_behind_is_named_and_what_is_not_judged(
    states: list[list[Resource]], code: int, words: str, tmp_path: Path
) -> None:
    files = []
    for number, resources in enumerate(states):
        files.append(tmp_path / f"{number}.json")
        files[-1].write_text(json.dumps({"version": 3, "deployment": {"resources": resources}}))
    done = CliRunner().invoke(app, ["status", *map(str, files)])
    assert (done.exit_code, words in done.output) == (code, True), done.output
    assert "s3cr3t" not in done.output
    assert ("NOT JUDGED" in done.output) == (code == 4)


def test_a_mesh_under_another_name_than_its_component_needs_no_other_stack() -> None:
    """As a HostedMesh of a program, whose root signs for the mesh's name."""
    plane = resource("hosted-mesh:index:ExternalControlPlane", "shop-mesh")
    request = resource(trust()[0]["type"], "shop-mesh-intermediate-request", outputs=trust()[0]["outputs"])
    assert list(stale_stacks({"one": [request, *root(), plane]})) == []
