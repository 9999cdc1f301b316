"""A turnover of roots on real API servers, step by step with `pulumi up`; each step waits for the one before.

No istiod runs, so the test writes its ConfigMap, and a Pod's status. `tests/live/revisions/test_roots.py` has live
proxies.
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from pulumi_hosted_mesh.clusters.api_server import ApiServer
from pulumi_hosted_mesh.clusters.kubeconfig import KubeconfigRequest, from_file
from pulumi_hosted_mesh.control_plane.in_use import data_planes_of
from pulumi_hosted_mesh.control_plane.root_guard import roots_of
from pulumi_hosted_mesh.control_plane.root_steps import keys_in
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.mesh import Mesh as MeshDocument

from tests.engine.library.engine import Api, Project, Stack
from tests.support.kubectl import Kubectl

pytestmark = pytest.mark.nightly
Config = dict[str, Any]
SPACE, SHOP, WRITTEN = "mesh-demo", "shop", "istio-ca-root-cert-demo"
FIRST, NEXT = "demo root", "demo-next root"


@pytest.fixture
def proxy(user: Api) -> Iterator[str]:
    """A Pod with a sidecar of the mesh, as injection labels it."""
    with user.with_sidecar("cart", SHOP, "default"):
        yield "cart"


class Mesh:
    """The stack with a list of roots."""

    def __init__(self, project: Project, document: Config, provider: Api, user: Api) -> None:
        self.project, self.document, self.provider, self.user = project, document, provider, user

    def stack(self, roots: dict[str, str] | None = None, **trust: str) -> Stack:
        document = copy.deepcopy(self.document)
        document["trust"] |= {"roots": roots or {}, **trust}
        return self.project.stack("roots", {"stack": "all-in-one", "mesh": document})

    def files(self) -> dict[str, list[str]]:
        """Common names in the files of `cacerts`: subjects of the root file, and the intermediate's issuer."""
        data = self.provider.get("secret", "cacerts", "-n", SPACE)["data"]
        roots, (own, *_) = (certificates(data[name]) for name in ("root-cert.pem", "ca-cert.pem"))
        return {"roots": [name(one.subject) for one in roots], "signer": [name(own.issuer)]}

    def seen_by_istiod(self) -> tuple[set[str], set[tuple[str, str]]]:
        """Names of roots, and proxies, by istiod's own kubeconfig: as in a run of the control plane alone."""
        unseen: list[str] = []
        cluster = self.provider.cluster
        control_plane = ApiServer(from_file(str(cluster.kubeconfig), KubeconfigRequest(cluster.name)))
        (data_plane,) = data_planes_of(control_plane, SPACE, unseen)
        assert unseen == []
        found = roots_of(read_document(MeshDocument, self.document), data_plane)
        pem = self.provider.get("secret", "cacerts", "-n", SPACE)["data"]["root-cert.pem"]
        names = keys_in(base64.b64decode(pem).decode())
        assert found.webhooks
        return {names[key] for key in found.roots}, set(found.started)

    def write_root(self) -> None:
        """As istiod does after its start."""
        pem = base64.b64decode(self.provider.get("secret", "cacerts", "-n", SPACE)["data"]["root-cert.pem"]).decode()
        manifest = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"root-cert.pem": pem}}
        manifest["metadata"] = {"name": WRITTEN, "namespace": SPACE}
        Kubectl.of(self.user.cluster, self.user.tools)("apply", "--server-side", "-f", "-", text=json.dumps(manifest))

    def start_proxy(self, at: datetime) -> None:
        state = {"running": {"startedAt": at.strftime("%Y-%m-%dT%H:%M:%SZ")}}
        container = {
            "name": "istio-proxy",
            "image": "p",
            "imageID": "",
            "ready": True,
            "restartCount": 0,
            "state": state,
        }
        patch = json.dumps({"status": {"phase": "Running", "containerStatuses": [container]}})
        done = self.user.kubectl(
            "patch", "pod", "cart", "-n", SHOP, "--subresource=status", "--type=merge", "-p", patch
        )
        assert done.code == 0, done.text


def certificates(content: str) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(base64.b64decode(content))


def name(subject: x509.Name) -> str:
    return str(subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)[0].value)


def refused(stack: Stack, reason: str) -> None:
    done = stack.run("up", "--yes", "--skip-preview")
    assert done.code != 0, done.text
    assert reason in done.text, done.text


@pytest.mark.usefixtures("clean", "proxy")
def test_each_step_waits_for_the_one_before(project: Project, reachable: Config, provider: Api, user: Api) -> None:
    mesh = Mesh(project, reachable, provider, user)
    mesh.stack().up()
    assert mesh.files() == {"roots": [FIRST], "signer": [FIRST]}
    # The list with the present root alone changes nothing.
    assert {one["op"] for one in mesh.stack({"first": "signing"}).preview()} == {"same"}
    now = datetime.now(UTC)

    refused(
        mesh.stack({"first": "trusted", "next": "signing"}), "root demo-next root is to sign, but is not trusted yet"
    )
    mesh.stack({"first": "signing", "next": "trusted"}).up()
    assert mesh.files() == {"roots": [FIRST, NEXT], "signer": [FIRST]}
    bundles = {
        hook["clientConfig"]["caBundle"]
        for kind in ("mutating", "validating")
        for one in user.get(f"{kind}webhookconfigurations", "-l", "hosted-mesh.io/mesh=demo")["items"]
        for hook in one["webhooks"]
    }
    assert [[name(one.subject) for one in certificates(bundle)] for bundle in bundles] == [[FIRST, NEXT]]

    signing = mesh.stack({"first": "trusted", "next": "signing"})
    refused(signing, "istiod has not written root demo-next root")
    mesh.write_root()
    mesh.start_proxy(now - timedelta(hours=1))
    refused(signing, f"proxies in namespaces {SHOP} do not trust root demo-next root")
    assert mesh.seen_by_istiod() == ({FIRST, NEXT}, {(SHOP, "cart")})
    mesh.start_proxy(now + timedelta(minutes=20))
    signing.up()
    assert mesh.files() == {"roots": [FIRST, NEXT], "signer": [NEXT]}

    retired = {"first": "retired", "next": "signing"}
    mesh.start_proxy(now - timedelta(hours=1))
    refused(mesh.stack(retired), f"proxies in namespaces {SHOP} have certificates of root demo root")
    reason = "the shop is closed for good"
    done = mesh.stack(retired, goOn=reason).up()
    assert reason in done.text
    assert mesh.files() == {"roots": [NEXT], "signer": [NEXT]}
    mesh.stack({"next": "signing"}).up()
    assert not [one for one in mesh.stack({"next": "signing"}).resources() if one["urn"].endswith("::demo-root-key")]
    assert user.kubectl("delete", "pod", "cart", "-n", SHOP, "--now").code == 0
    mesh.stack({"next": "signing"}).destroy()
