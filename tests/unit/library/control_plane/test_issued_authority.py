"""cert-manager's Certificate of a mesh, and the verdict on what an issuer made of it."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any

import pulumi
import pulumi_hosted_mesh as hosted_mesh
import pytest
from cryptography import x509
from pulumi_hosted_mesh.clusters.api_server import RefusedError, UnreachableError
from pulumi_hosted_mesh.clusters.kubeconfig import minimal
from pulumi_hosted_mesh.control_plane import issued_authority
from pulumi_hosted_mesh.control_plane.certificate_manifests import (
    RefusedCertificateError,
    certificate_spec,
    obstacle,
)
from pulumi_hosted_mesh.control_plane.issued_authority import IssuerCheck, IssuerError
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.trust import Issuer

from tests.support.authorities import DAY, NOW, Authority, pem
from tests.unit.library.documents import CERTIFICATE, LOCAL, document
from tests.unit.library.program import Registered, run

TRUST = {"management": "cert-manager", "issuer": {"name": "company"}}
ISSUER = Issuer(name="company")
CONSTRAINED = Issuer(name="company", name_constraints=True)
ROOT = Authority("company root")
BETWEEN = Authority("company intermediate", ROOT)
OWN = Authority("demo intermediate CA", ROOT)
PERMITTED = [x509.UniformResourceIdentifier("demo.mesh.local"), x509.DNSName("mesh-demo.svc")]
PEM_OF_ROOT = pem(ROOT.certificate).decode()
KUBECONFIG = minimal("c", {"server": "https://cp.example.com", "certificate-authority-data": "QQ=="}, {"token": "t"})


def certificate(*, revision: int = 1, **ready: Any) -> dict[str, Any]:
    condition = {"type": "Ready", "status": "True", "observedGeneration": 1, **ready}
    metadata = {"name": "cacerts", "namespace": "mesh-demo", "uid": "u", "generation": 1}
    return {"metadata": metadata, "status": {"revision": revision, "conditions": [condition]}}


def request(
    *chain: Authority, ca: Authority | None = ROOT, revision: int = 1, uid: str = "u", **condition: Any
) -> dict[str, Any]:
    annotations = {
        "cert-manager.io/certificate-name": "cacerts",
        "cert-manager.io/certificate-revision": str(revision),
    }
    status: dict[str, Any] = {"conditions": [{"type": "Ready", "status": "True", **condition}]}
    if chain:
        status["certificate"] = base64.b64encode(b"".join(pem(one.certificate) for one in chain)).decode()
    if ca:
        status["ca"] = base64.b64encode(pem(ca.certificate)).decode()
    metadata = {"uid": f"request {revision}", "annotations": annotations, "ownerReferences": [{"uid": uid}]}
    return {"metadata": metadata, "status": status}


def judged(found: Any, *requests: Any, root: str = PEM_OF_ROOT, issuer: Issuer = ISSUER) -> str | None:
    return obstacle(found, requests, root=root, issuer=issuer)


@pytest.mark.parametrize(
    "issued",
    [request(OWN), request(Authority("demo", BETWEEN), BETWEEN), request(OWN, ROOT), request(OWN, ca=ROOT)],
    ids=["by the root", "by an intermediate", "with the root", "plain"],
)
def test_a_certificate_under_the_declared_root_is_taken(issued: Any) -> None:
    assert judged(certificate(), issued) is None
    # Beside a declared root that is going away.
    assert judged(certificate(), issued, root=CERTIFICATE + PEM_OF_ROOT) is None


OTHER = Authority("another root")
ENDED = Authority("demo", ROOT, ends=NOW - DAY)
LEAF = Authority("demo", ROOT, ca=False)
REFUSED = {
    "another root": (request(Authority("demo", OTHER), ca=OTHER), ISSUER, "has another root (CN=another root)"),
    "no root": (request(OWN, ca=None), ISSUER, "gives no root certificate (ca.crt)"),
    "an intermediate for the root": (request(OWN, ca=BETWEEN), ISSUER, "has another root (CN=company intermediate)"),
    "no authority": (request(LEAF), ISSUER, "may not sign"),
    "a broken chain": (request(Authority("demo", BETWEEN)), ISSUER, "does not lead to rootCertificate"),
    "another's chain": (request(Authority("demo", OTHER)), ISSUER, "does not lead to rootCertificate"),
    "constraints left out": (request(OWN), CONSTRAINED, "left the requested name constraints out"),
    "ended": (request(ENDED), ISSUER, "has ended"),
    "unreadable": (request(OWN) | {"status": {"certificate": "czNjcjN0", "ca": "x"}}, ISSUER, "cannot be read"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_certificate_that_cannot_be_the_meshs_is_refused(name: str) -> None:
    issued, issuer, words = REFUSED[name]
    with pytest.raises(RefusedCertificateError) as refused:
        judged(certificate(), issued, issuer=issuer)
    assert refused.value.rule.startswith("ClusterIssuer company ")
    assert words in refused.value.rule
    assert "s3cr3t" not in refused.value.rule + refused.value.fix


def test_requested_constraints_are_accepted() -> None:
    issued = request(Authority("demo", ROOT, permitted=PERMITTED))
    assert judged(certificate(), issued, issuer=CONSTRAINED) is None


FAILED = {"status": "False", "reason": "Failed", "message": "permission denied"}
WAITING = {"type": "Ready", "status": "False", "reason": "Pending", "message": "Referenced issuer\nis away"}


@pytest.mark.parametrize(
    ("found", "requests", "words"),
    [
        (None, [], "does not exist yet"),
        ({"metadata": certificate()["metadata"]}, [], "no condition Ready yet"),
        (certificate(status="False", message="Issuing certificate"), [], "Issuing certificate"),
        # Of the document before: its certificate is still valid.
        (certificate(observedGeneration=0, message="up to date"), [request(OWN)], "up to date"),
        (certificate(status="False", revision=0), [request(ca=None, **WAITING)], "Referenced issuer\\nis away"),
        (certificate(revision=2), [request(OWN)], "of its revision does not exist"),
        # Of a Certificate of the same name, before this one.
        (certificate(), [request(OWN, uid="former")], "of its revision does not exist"),
    ],
)
def test_there_is_a_reason_to_wait(found: Any, requests: list[Any], words: str) -> None:
    assert words in str(judged(found, *requests))


@pytest.mark.parametrize(
    "condition", [{"reason": "Failed"}, {"reason": "Denied"}, {"type": "Denied", "status": "True"}], ids=str
)
def test_a_refusal_ends_the_wait(condition: dict[str, Any]) -> None:
    refusing = request(ca=None, **{"status": "False", "message": "permission denied", **condition})
    with pytest.raises(RefusedCertificateError) as refused:
        judged(certificate(status="False", revision=0), refusing)
    assert refused.value.rule == "ClusterIssuer company refuses: permission denied"
    assert (refused.value.request, refused.value.is_issued) == ("request 1", False)
    # A mesh with a certificate goes on with it: the next `up` succeeds while a renewal fails.
    assert judged(certificate(), request(OWN), {**refusing, **_of_revision(2)}) is None


def _of_revision(number: int) -> dict[str, Any]:
    return {"metadata": request(revision=number)["metadata"]}


def test_a_refusal_of_the_spec_before_is_none() -> None:
    """cert-manager deletes the request after it has read the changed Certificate."""
    found = certificate(status="False", revision=0, observedGeneration=0, message="not issued")
    assert judged(found, request(ca=None, **FAILED)) == "not issued"


def test_a_certificate_that_cert_manager_rejects_is_refused() -> None:
    """It has ended already: its request succeeded, and the Secret stays empty."""
    found = certificate(status="False", revision=0)
    found["status"]["conditions"].append({"type": "Issuing", "status": "False", "message": "already\nexpired"})
    with pytest.raises(RefusedCertificateError) as refused:
        judged(found, request(ENDED))
    assert refused.value.rule == "cert-manager rejects the certificate of ClusterIssuer company: already\\nexpired"


def test_of_a_refused_certificate_and_a_later_request_the_later_one_counts() -> None:
    assert judged(certificate(), request(LEAF), request(ca=None, revision=2, **WAITING)) == (
        "Referenced issuer\\nis away"
    )
    with pytest.raises(RefusedCertificateError) as refused:
        judged(certificate(), request(LEAF), request(ca=None, revision=2, **FAILED))
    assert (refused.value.request, refused.value.is_issued) == ("request 2", True)


def control_plane(changes: dict[str, Any] | None = None, **more: Any) -> dict[str, Registered]:
    mesh = read_document(Mesh, document({"trust": TRUST, **(changes or {})}))
    user = {"server": "https://api.user.example.com:6443", "certificate-authority-data": "QQ=="}

    def program() -> None:
        hosted_mesh.ExternalControlPlane(
            "it",
            {
                "mesh": mesh.arguments(),
                "cluster": hosted_mesh.ControlPlaneCluster(kubeconfig=KUBECONFIG),
                "kubeconfigs": {"default": minimal(mesh.cluster_id(mesh.memberships[0]), user, {"token": "t"})},
                "root_certificate": CERTIFICATE,
                **more,  # type: ignore[typeddict-item]
            },
        )

    return {one.name: one for one in run(program)}


@pytest.mark.usefixtures("without_transforms")
def test_the_control_plane_has_a_certificate_and_no_secret_with_its_key() -> None:
    found = control_plane({"tenant": "acme"})
    made = found["it-cacerts"]
    assert made.type == "kubernetes:cert-manager.io/v1:Certificate"
    assert made.provider == found["it-istio-kubeconfig"].provider
    assert made.inputs["metadata"]["namespace"] == "tenant-acme--demo"
    # Where this program cannot read the cluster, Pulumi waits.
    assert made.inputs["metadata"]["annotations"] == {"pulumi.com/waitFor": "condition=Ready"}
    assert made.inputs["spec"] == {
        "secretName": "cacerts",
        "isCA": True,
        "commonName": "demo intermediate",
        "subject": {"organizations": ["hosted-mesh"]},
        "usages": ["cert sign", "crl sign", "digital signature"],
        "duration": "8760h0m0s",
        "renewBefore": "1440h0m0s",
        "privateKey": {"algorithm": "ECDSA", "size": 256, "encoding": "PKCS8", "rotationPolicy": "Always"},
        "issuerRef": {"name": "company", "kind": "ClusterIssuer", "group": "cert-manager.io"},
    }
    assert [one for one in found.values() if one.type == "kubernetes:core/v1:Secret"] == [found["it-istio-kubeconfig"]]
    with pytest.raises(InvalidInputError, match=r"cacerts: is set, but trust\.management is cert-manager"):
        control_plane(cacerts={"ca-key.pem": "s3cr3t"})


@pytest.mark.usefixtures("without_transforms")
def test_a_mesh_of_one_cluster_has_one_too() -> None:
    given = read_document(Mesh, document({"trust": TRUST, **LOCAL})).arguments()
    for one in given["memberships"]:
        one["cluster"] = hosted_mesh.ControlPlaneCluster(kubeconfig=KUBECONFIG)

    def program() -> None:
        hosted_mesh.HostedMesh("it", {**given, "root_certificate": CERTIFICATE})  # type: ignore[typeddict-item]

    found = {one.name: one for one in run(program)}
    assert found["it-cacerts"].inputs["metadata"]["namespace"] == "mesh-demo"
    assert not [one for one in found.values() if one.type.startswith("tls:")]


def test_key_and_constraints_are_the_documents() -> None:
    changes = {
        "trust": {**TRUST, "algorithm": "rsa-3072", "issuer": {"name": "x", "nameConstraints": True}},
        "tenant": "acme",
        "revisions.0.exposure.webhooks": {"host": "hooks.demo.example.com", "openToAll": True},
        "revisions.1": {"name": "next", "host": "next.demo.example.com", "exposure": {"openToAll": True}},
    }
    mesh = read_document(Mesh, document(changes))
    assert mesh.trust.issuer
    spec = certificate_spec(mesh, mesh.trust.issuer)
    assert (spec["privateKey"]["algorithm"], spec["privateKey"]["size"]) == ("RSA", 3072)
    hosts = ["istiod.demo.example.com", "hooks.demo.example.com", "next.demo.example.com", "mesh-demo.svc"]
    permitted = {"uriDomains": ["demo.acme.mesh.local"], "dnsDomains": hosts}
    assert spec["nameConstraints"] == {"critical": True, "permitted": permitted}


class Answers:
    """An API server's answers by the end of the path."""

    def __init__(self, kinds: list[str], objects: dict[str, Any]) -> None:
        self.kinds_found, self.objects = kinds, objects

    def kinds(self, _: str) -> list[str]:
        return self.kinds_found

    def get(self, path: str) -> Any:
        return self.objects.get(path.rpartition("/")[2])


NOT_READY = {"status": {"conditions": [{"type": "Ready", "status": "False", "message": "sealed"}]}}
READY = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}


@pytest.mark.parametrize(
    ("issuer", "kinds", "objects", "words"),
    [
        ({}, [], {}, "has no kind Certificate of cert-manager.io/v1. Install cert-manager there"),
        ({}, ["Certificate"], {}, "trust.issuer: ClusterIssuer company does not exist"),
        ({}, ["Certificate"], {"company": NOT_READY}, "is not ready: sealed"),
        ({}, ["Certificate"], {"company": READY}, None),
        # In a namespace that may not exist yet, and of a kind that this program does not have.
        ({"kind": "Issuer"}, ["Certificate"], {}, None),
        ({"kind": "AWSPCAClusterIssuer", "group": "awspca.cert-manager.io"}, ["Certificate"], {}, None),
    ],
)
def test_a_cluster_that_cannot_issue_is_refused_first(
    monkeypatch: pytest.MonkeyPatch,
    issuer: dict[str, str],
    kinds: list[str],
    objects: dict[str, Any],
    words: str | None,
) -> None:
    monkeypatch.setattr(issued_authority, "ApiServer", lambda _: Answers(kinds, objects))
    seen: list[str] = []

    async def program() -> None:
        cluster = hosted_mesh.ControlPlaneCluster(kubeconfig=KUBECONFIG)
        try:
            await IssuerCheck(cluster, Issuer(name="company", **issuer)).before(None)
        except IssuerError as error:
            seen.append(str(error))

    run(program)
    assert (words is None) == (seen == [])
    assert all(words in one for one in seen if words)


class Issuing(Answers):
    """One answer after the other of a certificate and its requests; an exception is raised."""

    def __init__(self, *answers: Any) -> None:
        super().__init__([], {})
        self.answers = list(answers)
        self.paths: list[str] = []
        self.patches: list[Any] = []
        self.istiods: list[Any] = []
        self.may_patch = True

    def get(self, path: str) -> Any:
        self.paths.append(path)
        found = self.answers[0][0] if isinstance(self.answers[0], tuple) else self.answers[0]
        if isinstance(found, Exception):
            self.answers.pop(0)
            raise found
        return found

    def list(self, path: str, *, metadata_only: bool = False) -> Any:
        if "/deployments?" in path:
            assert metadata_only
            return iter(self.istiods)
        self.paths.append(path)
        return self.answers.pop(0)[1]

    def clock(self) -> datetime:
        return datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)

    def patch(self, path: str, change: Any) -> None:
        if not self.may_patch:
            raise RefusedError("cannot patch certificates/status")
        self.patches.append((path, change))


def waited(monkeypatch: pytest.MonkeyPatch, api: Issuing, *, seconds: float = 60, preview: bool = False) -> Any:
    """The root that istiod's start waits for, or the error's text."""
    monkeypatch.setattr(issued_authority, "ApiServer", lambda _: api)
    monkeypatch.setattr(issued_authority, "POLL_SECONDS", 0)
    monkeypatch.setattr(issued_authority, "WAIT_SECONDS", seconds)
    seen: list[Any] = []

    async def program() -> None:
        check = IssuerCheck(hosted_mesh.ControlPlaneCluster(kubeconfig=KUBECONFIG), ISSUER)
        try:
            seen.append(await check.issued("mesh-demo", PEM_OF_ROOT, pulumi.ComponentResource("a:b:C", "parent")))
        except InvalidInputError as error:
            seen.append(str(error))

    run(program, preview=preview)
    (found,) = seen
    return found


def test_istiod_waits_for_the_certificate_and_no_secret_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Issuing(
        (None, []),
        UnreachableError("the API server does not answer"),
        (certificate(status="False", revision=0), [request(ca=None, **WAITING)]),
        (certificate(), [request(OWN)]),
    )
    assert waited(monkeypatch, api) == PEM_OF_ROOT
    assert api.answers == []
    assert {path.rpartition("mesh-demo/")[2] for path in api.paths} == {"certificates/cacerts", "certificaterequests"}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((certificate(status="False", message="issuing"), []), "has issued no certificate after 0 s: issuing"),
        (UnreachableError("it does not answer"), "has issued no certificate after 0 s: it does not answer"),
        (RefusedError("cannot list certificaterequests"), "cannot be checked: cannot list certificaterequests. Grant"),
        ((certificate(), [request(LEAF)]), "ClusterIssuer company issued a certificate that may not sign"),
    ],
)
def test_a_wait_ends_with_the_reason(monkeypatch: pytest.MonkeyPatch, answer: Any, words: str) -> None:
    found = waited(monkeypatch, Issuing(answer), seconds=0)
    assert found.startswith("the control plane cannot be used, trust.issuer: ")
    assert words in found


def refusing(uid: str) -> dict[str, Any]:
    found = request(ca=None, **FAILED)
    found["metadata"]["uid"] = uid
    return found


BACKING_OFF = certificate(status="False", revision=0)
BACKING_OFF["metadata"]["resourceVersion"] = "7"
BACKING_OFF["status"]["conditions"].append({"type": "Issuing", "status": "False", "message": "failed"})
RENEWING = certificate(status="False", revision=0)
RENEWING["status"]["conditions"].append({"type": "Issuing", "status": "True"})


def test_a_refusal_from_before_the_run_gets_one_more_request(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Issuing(
        (BACKING_OFF, [refusing("first")]),
        # cert-manager has not deleted the failed one yet.
        (RENEWING, [refusing("first")]),
        (RENEWING, []),
        (certificate(), [request(OWN)]),
    )
    assert waited(monkeypatch, api) == PEM_OF_ROOT
    ((path, change),) = api.patches
    assert path == "/apis/cert-manager.io/v1/namespaces/mesh-demo/certificates/cacerts/status"
    assert change["metadata"] == {"resourceVersion": "7"}
    ready, issuing = change["status"]["conditions"]
    assert ready == BACKING_OFF["status"]["conditions"][0]
    assert (issuing["type"], issuing["status"]) == ("Issuing", "True")
    assert issuing["lastTransitionTime"] == "2026-05-04T03:02:01Z"


@pytest.mark.parametrize(
    "answers",
    [
        [(BACKING_OFF, []), (BACKING_OFF, [refusing("first")])],
        [(BACKING_OFF, [refusing("first")]), (BACKING_OFF, [refusing("second")])],
    ],
    ids=["new", "repeated"],
)
def test_a_refusal_of_the_run_itself_ends_it(monkeypatch: pytest.MonkeyPatch, answers: list[Any]) -> None:
    found = waited(monkeypatch, Issuing(*answers))
    assert "ClusterIssuer company refuses: permission denied. Correct the issuer. Then run `pulumi up` again" in found


def test_a_refused_certificate_is_replaced_before_the_mesh_has_an_istiod(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = (certificate(), [request(LEAF)])
    api = Issuing(bad, bad, (certificate(revision=2), [request(LEAF), request(OWN, revision=2)]))
    assert waited(monkeypatch, api) == PEM_OF_ROOT
    assert len(api.patches) == 1
    # A running mesh could lose its workloads' trust by another authority.
    running = Issuing(bad)
    running.istiods = [{"metadata": {"name": "istiod"}}]
    found = waited(monkeypatch, running)
    assert "Then run `cmctl renew cacerts --namespace mesh-demo`, and `pulumi up` again" in found
    assert running.patches == []


def test_without_the_right_the_message_has_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Issuing((BACKING_OFF, [refusing("first")]))
    api.may_patch = False
    found = waited(monkeypatch, api)
    assert "ClusterIssuer company refuses: permission denied" in found
    assert "run `cmctl renew cacerts --namespace mesh-demo`" in found
    assert "patch of certificates/status of cert-manager.io" in found


def test_a_preview_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Issuing()
    assert waited(monkeypatch, api, preview=True) == PEM_OF_ROOT
    assert api.paths == []
