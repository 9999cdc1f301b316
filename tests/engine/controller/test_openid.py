"""A real API server as an issuer: ServiceAccounts of a user's cluster order with the tokens that it signs for them."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from hosted_mesh_controller.openid.issuers import Issuer
from hosted_mesh_controller.openid.key_source import jwks_uri

from sandbox.clusters import Sandbox
from sandbox.toolchain import Tools
from tests.engine.controller.service import PROGRAM, Controller
from tests.engine.library.engine import Api
from tests.support.waiting import eventually

Config = dict[str, Any]
AUDIENCE = "hosted-mesh"
ACCOUNT = "mesh-orders"
DISCOVERY = "system:service-account-issuer-discovery"


@pytest.fixture
def discovery(user: Api) -> Iterator[Config]:
    """The cluster's discovery document. Its keys are public while the test runs."""
    made = user.kubectl(
        "create", "clusterrolebinding", "issuer-for-all", f"--clusterrole={DISCOVERY}", "--group=system:unauthenticated"
    )
    assert made.code == 0, made.text
    assert user.kubectl("create", "serviceaccount", ACCOUNT, "-n", "default").code == 0
    yield json.loads(user.kubectl("get", "--raw", "/.well-known/openid-configuration").output)
    user.kubectl("delete", "serviceaccount", ACCOUNT, "-n", "default")
    user.kubectl("delete", "clusterrolebinding", "issuer-for-all")


@pytest.fixture
def controller(
    tmp_path: Path, engine_sandbox: Sandbox, tools: Tools, user: Api, discovery: Config
) -> Iterator[Controller]:
    cluster = yaml.safe_load(user.cluster.kubeconfig.read_text())["clusters"][0]["cluster"]
    (tmp_path / "ca.pem").write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
    issuer = {
        "url": discovery["issuer"],
        # The discovery document has the address for Pods.
        "jwksUrl": f"{cluster['server']}/openid/v1/jwks",
        "certificateAuthority": str(tmp_path / "ca.pem"),
        "audiences": [AUDIENCE],
        "requiredClaims": {"/kubernetes.io/namespace": "default"},
        "grants": [{"role": "tenant", "user": f"system:serviceaccount:default:{ACCOUNT}", "tenant": "acme"}],
    }
    # Its discovery document is one of this issuer, and names the same path.
    assert jwks_uri(discovery, Issuer.model_validate(issuer)).endswith("/openid/v1/jwks")
    made = Controller.make(tmp_path / "controller", engine_sandbox, tools, issuers={"user-cluster": issuer})
    made.start()
    yield made
    made.stop()


@pytest.mark.usefixtures("clean")
def test_a_service_account_of_the_user_s_cluster_orders(controller: Controller, user: Api, tmp_path: Path) -> None:
    def token(account: str, *options: str) -> str:
        made = user.kubectl("create", "token", account, "-n", "default", *options)
        assert made.code == 0, made.text
        return made.output.strip()

    def status(text: str, tenant: str = "acme") -> int:
        headers = {"Authorization": f"Bearer {text}"}
        return httpx2.get(f"{controller.url}/v1/tenants/{tenant}/meshes", headers=headers, timeout=30).status_code

    good = token(ACCOUNT, f"--audience={AUDIENCE}", "--duration=10m")
    assert eventually(lambda: status(good) == 200, controller.log)
    assert status(good, "other") == 404
    assert status(token(ACCOUNT)) == 401  # of the API server's own audience
    assert status(token("default", f"--audience={AUDIENCE}")) == 403
    # The commands of docs/controller.md: the token is a file.
    (tmp_path / "token").write_text(good)
    own = {"HOSTED_MESH_CONTROLLER": controller.url, "HOSTED_MESH_TENANT": "acme"}
    own["HOSTED_MESH_TOKEN_FILE"] = str(tmp_path / "token")
    program = PROGRAM.with_name("hosted-mesh")
    command = [program, "order", "intents", "--remove", "absent"]
    refused = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env={**controller.environment, **own}
    )
    assert (refused.returncode, refused.stderr.strip()) == (1, "there is no such object for this token")
    listed = subprocess.run(
        [program, "list", "meshes"], capture_output=True, text=True, timeout=120, env={**controller.environment, **own}
    )
    assert (listed.returncode, listed.stdout) == (0, ""), listed.stderr
    for part in good.split("."):
        assert part not in controller.log
    assert '"reason": "is for another audience"' in controller.log
