"""The webhooks of HostedMesh, called by a real API server by URL, in the user's own network."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from sandbox.clusters import Sandbox
from sandbox.toolchain import Tools
from tests.engine.controller.service import PROGRAM, Controller
from tests.engine.library.engine import Api
from tests.support.authorities import Authority, pem
from tests.support.waiting import eventually

Config = dict[str, Any]
FORWARDER = Path(__file__).with_name("forwarder.py")
PORT = "18443"  # in the user's network
RANGES = {"sourceRanges": ["203.0.113.0/24"]}


@pytest.fixture
def controller(tmp_path: Path, engine_sandbox: Sandbox, tools: Tools) -> Iterator[Controller]:
    clusters: Config = {
        name: {"kubeconfig": str(engine_sandbox.kubeconfig), "context": name, "side": name, "tenants": ["acme"]}
        for name in ("control-plane", "data-plane")
    }
    # The watch finds no kubeconfig: the webhooks need none.
    watch = {"kubeconfig": str(tmp_path / "absent"), "tenant": "acme", "controlPlane": "control-plane"}
    clusters["data-plane"]["watch"] = watch
    tenants = {"acme": {"domains": ["acme.example"]}}
    made = Controller.make(tmp_path / "controller", engine_sandbox, tools, clusters=clusters, tenants=tenants)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def address(controller: Controller, engine_sandbox: Sandbox, tmp_path: Path) -> Iterator[str]:
    """The controller's address for the user's API server. A proxy on the way ends TLS."""
    authority, own = Authority("webhooks"), ec.generate_private_key(ec.SECP256R1())
    names = [x509.IPAddress(ip_address("127.0.0.1"))]
    (tmp_path / "ca.pem").write_bytes(pem(authority.certificate))
    (tmp_path / "tls.crt").write_bytes(pem(authority.sign(x509.Name([]), own.public_key(), names=names)))
    plain = serialization.NoEncryption()
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    (tmp_path / "tls.key").write_bytes(own.private_bytes(*form))
    socket, files = str(tmp_path / "socket"), [tmp_path / "tls.crt", tmp_path / "tls.key"]
    outside = [sys.executable, FORWARDER, socket, controller.port, *files]
    inside = [*engine_sandbox.enter("data-plane"), sys.executable, FORWARDER, PORT, socket]
    with ExitStack() as stack:
        for command in (outside, inside):
            process = stack.enter_context(subprocess.Popen([str(part) for part in command]))
            stack.callback(process.terminate)
        eventually((tmp_path / "socket").exists)
        yield f"https://127.0.0.1:{PORT}"


@pytest.mark.usefixtures("clean")
def test_an_api_server_calls_the_webhooks_by_url(
    controller: Controller, address: str, user: Api, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text(controller.token("--role", "admission", "--tenant", "acme"))
    files = ["--ca-file", tmp_path / "ca.pem", "--token-file", tmp_path / "token"]
    command = [PROGRAM, "definitions", "--webhooks", address, "--cluster", "data-plane", *files]
    printed = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)
    (tmp_path / "definitions.yaml").write_text(printed.stdout)
    try:
        applied = user.kubectl("apply", "-f", str(tmp_path / "definitions.yaml"))
        assert applied.code == 0, applied.text
        seen = eventually(lambda: dry_run(user, tmp_path, [{"exposure": RANGES}], "istiod."))
        assert json.loads(seen)["spec"]["revisions"] == [{"exposure": RANGES, "host": "istiod.shop.acme.example"}]
        elsewhere = [{"exposure": RANGES, "host": "istiod.other.example"}]
        refused = eventually(lambda: dry_run(user, tmp_path, elsewhere, "denied"))  # the other kind of webhooks
        assert "spec.revisions[0].host is outside of your domains. Choose a name below acme.example" in refused
        # A controller that is away blocks nobody.
        controller.stop()
        assert "istiod.other.example" in dry_run(user, tmp_path, elsewhere, "kind")
    finally:
        user.kubectl("delete", "-f", str(tmp_path / "definitions.yaml"), "--timeout=240s")


def dry_run(user: Api, folder: Path, revisions: list[Config], word: str) -> str:
    """The answer to an apply; empty while it lacks the word: an API server learns of webhooks a moment later."""
    metadata = {"name": "shop"}
    spec = {"revisions": revisions}
    resource = {"apiVersion": "hosted-mesh.io/v1alpha1", "kind": "HostedMesh", "metadata": metadata, "spec": spec}
    (folder / "resource.yaml").write_text(yaml.safe_dump(resource))
    text = user.kubectl("apply", "--dry-run=server", "-o", "json", "-f", str(folder / "resource.yaml")).text
    return text if word in text else ""
