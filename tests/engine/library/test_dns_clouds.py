"""external-dns with the bridge's arguments and variables, against small fakes of the clouds' DNS APIs.

The program and its HTTP clients are real. The fakes (`dns_clouds/cloud.py`) hold one zone and validate nothing. So
these tests show that external-dns starts, finds the zone above the edge's, and writes there, not that a cloud accepts
it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from pulumi_hosted_mesh.dns import arguments
from pulumi_hosted_mesh.dns.credentials import environment, settings_files
from pulumi_hosted_mesh.dns.plan import pairs
from pulumi_hosted_mesh.spec.dns import DnsBridge
from pulumi_hosted_mesh.spec.load import read_document

from sandbox import toolchain
from sandbox.bootstrap import CHECKOUT
from sandbox.progress import Progress
from tests.support.authorities import Authority, pem

CLOUD = Path(__file__).parent / "dns_clouds" / "cloud.py"
HOSTS = (
    *("oauth2.googleapis.com", "dns.googleapis.com", "login.microsoftonline.com", "login.microsoft.com"),
    *("management.azure.com", "api.cloudflare.com", "route53.amazonaws.com"),
)
WEB = {"dnsName": "web.north.example.com", "recordType": "A", "targets": ["192.0.2.1"], "recordTTL": 300}
KEPT = {"a-owner.web.north.example.com TXT", "web.north.example.com A"}
OWNED = {"dnsName": "a-owner.web.north.example.com", "recordType": "TXT", "targets": ['"heritage=external-dns"']}
AWS = {"access-key-id": "id", "secret-access-key": "secret"}
AZURE_IDENTITY = {"azure.workload.identity/client-id": "client"}
WITH_IDENTITY = {"authentication": "workload-identity", "serviceAccountAnnotations": AZURE_IDENTITY}
AZURE_SECTION = {"type": "azure", "azure": {"resourceGroup": "G", "subscription": "S"}}
AZURE_LOGIN = {"tenantId": "tenant", "aadClientId": "client", "aadClientSecret": "secret"}
CLOUDS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "route53": ({"type": "route53"}, AWS),
    "google": ({"type": "google", "google": {"project": "p"}}, {"credentials.json": ""}),
    "azure": (AZURE_SECTION, {"azure.json": json.dumps(AZURE_LOGIN)}),
    "azure by workload identity": (AZURE_SECTION | WITH_IDENTITY, {}),
    "cloudflare": ({"type": "cloudflare"}, {"api-token": "0123456789012345678901234567890123456789"}),
}


@pytest.fixture(scope="module")
def external_dns(progress: Progress) -> Path:
    return toolchain.ensure({"external-dns"}, progress=progress)["external-dns"]


def written_key(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    kind = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, kind, serialization.NoEncryption())


def google_account() -> str:
    """The file of a service account."""
    key = written_key(rsa.generate_private_key(65537, 2048)).decode()
    account = {"type": "service_account", "client_email": "dns@p.iam.gserviceaccount.com", "private_key_id": "1"}
    return json.dumps({**account, "private_key": key, "token_uri": "https://oauth2.googleapis.com/token"})


def ran(
    program: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    cloud: str,
    *changes: dict[str, Any],
    edge: dict[str, Any] | None = None,
    expected: int = 0,
    **fields: Any,
) -> Any:
    """Output of the program that runs external-dns beside the fake. The cloud's zone is `example.com`."""
    section, keys = CLOUDS[cloud]
    # The arguments name files by their paths in the Pod.
    for module in ("arguments", "credentials"):
        monkeypatch.setattr(f"pulumi_hosted_mesh.dns.{module}.CREDENTIALS_FOLDER", str(folder))
    document = {
        "edges": [{"name": "north"}],
        "providers": [{"id": "c", "zones": [{"name": "{edge}.example.com"}], **section, **fields}],
    }
    bridge = read_document(DnsBridge, document)
    (pair,) = pairs(bridge)
    if cloud == "google":
        keys = {"credentials.json": google_account()}
    for name, content in {**keys, **settings_files(pair.provider)}.items():
        (folder / name).write_text(content)
    (folder / "token").write_text("token")
    variables = {
        one["name"]: one.get("value") or keys[one["valueFrom"]["secretKeyRef"]["key"]]
        for one in environment(pair.provider, "secret", keys)
    }
    if cloud == "azure by workload identity":  # set by the webhook of Azure Workload Identity
        variables |= {"AZURE_CLIENT_ID": "client", "AZURE_TENANT_ID": "tenant"}
        variables |= {"AZURE_FEDERATED_TOKEN_FILE": str(folder / "token")}
        variables |= {"AZURE_AUTHORITY_HOST": "https://login.microsoftonline.com/"}
    authority, key = Authority("clouds"), ec.generate_private_key(ec.SECP256R1())
    (folder / "ca.crt").write_bytes(pem(authority.certificate))
    names = [x509.DNSName(host) for host in HOSTS]
    (folder / "server.crt").write_bytes(pem(authority.sign(x509.Name([]), key.public_key(), names=names)))
    (folder / "server.key").write_bytes(written_key(key))
    settings = {
        "program": str(program),
        "arguments": arguments.provider_arguments(bridge, pair),
        "environment": variables,
    }
    kubeconfig = str(folder / "kubeconfig")
    monkeypatch.setattr(arguments, "_KUBECONFIG", f"--kubeconfig={kubeconfig}")
    planning: dict[str, Any] = {"edge": edge, "kubeconfig": kubeconfig, "expected": expected}
    planning["planner"] = arguments.publisher_arguments(bridge, pair)
    (folder / "settings").write_text(
        json.dumps({**settings, "folder": str(folder), "zone": "example.com", "changes": changes, **planning})
    )
    command = [
        "unshare",
        "--user",
        "--map-root-user",
        "--net",
        sys.executable,
        str(CLOUD),
        str(folder / "settings"),
    ]
    environ = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=150, check=False, env=environ)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "result").read_text()) | {"errors": done.stderr}


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_name_below_an_existing_zone_is_written_and_deleted(
    cloud: str, external_dns: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = ran(external_dns, tmp_path, monkeypatch, cloud, {"create": [WEB, OWNED]}, {"delete": [WEB, OWNED]})
    assert found["started"], found["log"]
    created, deleted = found["after"]
    assert created["records"].keys() == KEPT, (found["errors"], found["log"])
    assert created["records"]["web.north.example.com A"] == ["192.0.2.1"]
    assert deleted["records"] == {}, (found["errors"], found["log"])
    assert [one["status"] for one in (created, deleted)] == [[200, 204], [200, 204]]


@pytest.mark.parametrize("cloud", ["google", "azure"])
def test_the_writing_container_alone_writes_no_name_of_another_edge(
    cloud: str, external_dns: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Route 53's and Cloudflare's filter zones only: there only the planning container filters names."""
    other = {**WEB, "dnsName": "web.south.example.com"}
    found = ran(external_dns, tmp_path, monkeypatch, cloud, {"create": [WEB, OWNED, other]})
    assert found["after"][0]["records"].keys() == KEPT, (found["errors"], found["log"])


def test_weights_of_a_dnsendpoint_reach_route_53(
    external_dns: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through both external-dns and the sidecar's gate. Without a weight Route 53 rejects an identifier."""
    weighted = [
        {**WEB, "targets": [f"192.0.2.{number}"], "setIdentifier": f"site-{number}", "providerSpecific": [weight]}
        for number, weight in (
            (1, {"name": "aws/weight", "value": "10"}),
            (2, {"name": "webhook/aws-weight", "value": "90"}),
        )
    ]
    item = {
        "apiVersion": "externaldns.k8s.io/v1alpha1",
        "kind": "DNSEndpoint",
        "metadata": {"name": "web", "namespace": "default", "uid": "1", "resourceVersion": "2", "generation": 1},
        "spec": {"endpoints": weighted},
    }
    found = ran(external_dns, tmp_path, monkeypatch, "route53", edge=item, expected=4, answers="weighted")
    assert found["started"], found["log"]
    of = {key: value for key, value in found["weights"].items() if " A " in key}
    assert of == {"web.north.example.com A site-1": "10", "web.north.example.com A site-2": "90"}, found["log"][-3000:]
    assert found["records"]["web.north.example.com A site-2"] == ["192.0.2.2"]
