"""A turnover of a live mesh's root, step by step: not one request and not one webhook call is lost.

Requests and webhook calls are those of test_two_versions.py. `tests/engine/library/test_roots.py` has steps that come
too early.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from lightkube.resources.core_v1 import ConfigMap, Pod
from pulumi_hosted_mesh.control_plane.root_steps import RELOAD, ROLLOUT
from pulumi_hosted_mesh.vocabulary import root_certificate_config_map

from sandbox.progress import Progress
from sandbox.proof import workloads
from sandbox.proof.identity import AGENT
from sandbox.toolchain import Tools
from tests.live.revisions.counting import EDGE, nothing_lost, serve, settled
from tests.live.revisions.mesh_of_versions import DEFAULT, Mesh, charts_of
from tests.live.revisions.steady_traffic import Traffic
from tests.support.clusters import started
from tests.support.waiting import eventually

pytestmark = pytest.mark.nightly
VERSION = "1.31.1"
CONFIG_MAP = root_certificate_config_map("demo")
FIRST, NEXT = "demo root", "demo-next root"
TRUSTED = {"first": "signing", "next": "trusted"}
SIGNING = {"first": "trusted", "next": "signing"}
RETIRED = {"first": "retired", "next": "signing"}


@pytest.fixture(scope="module")
def mesh(tmp_path_factory: pytest.TempPathFactory, tools: Tools, progress: Progress) -> Iterator[Mesh]:
    charts = {VERSION: charts_of(tools.charts, tmp_path_factory.mktemp("charts"), VERSION)}
    with started(tmp_path_factory.mktemp("roots"), tools, progress) as sandbox:
        made = Mesh(sandbox, tools, tmp_path_factory.mktemp("stack"), charts, gateways=[EDGE], replicas=2)
        made.up({DEFAULT: VERSION})
        made.told(DEFAULT)
        serve(made)
        yield made


def take(mesh: Mesh, roots: dict[str, str]) -> float:
    """The next step of the list, and its time."""
    mesh.roots = roots
    mesh.up({DEFAULT: VERSION})
    return time.monotonic()


def wait(taken: float, delay: timedelta) -> None:
    """Until a started proxy counts: see control_plane/root_steps.py."""
    time.sleep(max(0.0, taken + delay.total_seconds() - time.monotonic()))


def written(mesh: Mesh, roots: int) -> float:
    """The time at which istiod has written this number of roots to the data plane: its kubelet mounts them late."""

    def arrived() -> bool:
        found = mesh.any_revision.data_plane.get(ConfigMap, CONFIG_MAP, namespace=workloads.NAMESPACE)
        return str((found.data or {}).get("root-cert.pem")).count("BEGIN CERTIFICATE") == roots

    eventually(arrived, f"{CONFIG_MAP} has {roots} roots")
    return time.monotonic()


def rejected(mesh: Mesh, roots: dict[str, str], reason: str) -> None:
    """The step comes too early: `pulumi up` ends with the reason."""
    present, mesh.roots = mesh.roots, roots
    text = " ".join(mesh.rejected({DEFAULT: VERSION}).split())
    mesh.roots = present
    assert reason in text, text


def restart(traffic: Traffic) -> None:
    """All proxies, as a person restarts them."""
    traffic.restart(workloads.CALLED, workloads.NAMESPACE)
    traffic.restart("edge", "mesh-demo")
    traffic.move()


def seen(mesh: Mesh) -> set[tuple[tuple[str, ...], str]]:
    """The roots that each proxy trusts, gateways among them, and the signing root of its certificate, by its own admin
    page."""
    deployed = mesh.any_revision
    found = set()
    for namespace in (workloads.NAMESPACE, "mesh-demo"):
        for pod in deployed.data_plane.list(Pod, namespace=namespace):
            if workloads.has_proxy(pod) and workloads.is_ready(pod) and pod.metadata.deletionTimestamp is None:
                process = deployed.program_of(pod, AGENT)
                found.add(identities(json.loads(deployed.of_proxy(process, "/config_dump"))))
    return found


def identities(dump: dict[str, Any]) -> tuple[tuple[str, ...], str]:
    """By signatures, from the leaf on: istiod appends every root of `root-cert.pem` to a workload's chain
    (security/pkg/server/ca/server.go), so the chain has roots that did not sign it."""
    (secrets,) = [one for one in dump["configs"] if one["@type"].endswith("SecretsConfigDump")]
    by_name = {one["name"]: one["secret"] for one in secrets["dynamic_active_secrets"]}
    roots = pem_of(by_name["ROOTCA"]["validation_context"]["trusted_ca"])
    leaf, *above = pem_of(by_name["default"]["tls_certificate"]["certificate_chain"])
    intermediate = next(one for one in above if is_signed(leaf, one))
    (signer,) = (root for root in roots if is_signed(intermediate, root))
    return tuple(sorted(common_name(root) for root in roots)), common_name(signer)


def is_signed(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (InvalidSignature, TypeError, ValueError):
        return False
    return True


def pem_of(source: dict[str, Any]) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(base64.b64decode(source["inline_bytes"]))


def common_name(certificate: x509.Certificate) -> str:
    return str(certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)[0].value)


@pytest.mark.timeout(1500)
def test_a_root_turns_over_without_a_gap(mesh: Mesh, traffic: Traffic) -> None:
    settled(traffic)
    assert seen(mesh) == {((FIRST,), FIRST)}
    with nothing_lost(traffic, "a second root is trusted", ending=2):
        take(mesh, TRUSTED)
    with nothing_lost(traffic, "it signs before proxies trust it: rejected"):
        rejected(mesh, SIGNING, f"do not trust root {NEXT}, or may not. Restart them")
    with nothing_lost(traffic, "proxies restart, and trust both"):
        wait(written(mesh, roots=2), ROLLOUT)
        restart(traffic)
    assert seen(mesh) == {((FIRST, NEXT), FIRST)}
    with nothing_lost(traffic, "the second root signs"):
        taken = take(mesh, SIGNING)
    with nothing_lost(traffic, "the first root retires while it has certificates: rejected"):
        rejected(mesh, RETIRED, f"have certificates of root {FIRST}, or may have. Restart them")
    with nothing_lost(traffic, "proxies restart"):
        wait(taken, RELOAD)
        restart(traffic)
    assert seen(mesh) == {((FIRST, NEXT), NEXT)}
    with nothing_lost(traffic, "the first root is retired", ending=2):
        take(mesh, RETIRED)
    with nothing_lost(traffic, "proxies restart again"):
        restart(traffic)
    assert seen(mesh) == {((NEXT,), NEXT)}
