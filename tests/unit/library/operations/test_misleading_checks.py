"""Checks that reported ok, or a wrong cause or fix, while something was wrong: each with its right verdict."""

from __future__ import annotations

import dataclasses
import errno
import socket
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from pulumi_hosted_mesh import yaml_text
from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.boundary.endpoint_check import require_matching_endpoints
from pulumi_hosted_mesh.data_plane.webhooks import injection
from pulumi_hosted_mesh.federation.exports import with_declared
from pulumi_hosted_mesh.operations.doctor import connection
from pulumi_hosted_mesh.operations.doctor.authority import authority, issuance
from pulumi_hosted_mesh.operations.doctor.check import verdicts
from pulumi_hosted_mesh.operations.doctor.connection import GatewayConnection, reached
from pulumi_hosted_mesh.operations.doctor.namespaces import misspelt, misspelt_in
from pulumi_hosted_mesh.operations.doctor.observation import MeshObservation
from pulumi_hosted_mesh.operations.doctor.proxies import Injected, Proxy, of_mesh, restart
from pulumi_hosted_mesh.operations.verdict import Verdict
from pulumi_hosted_mesh.operations.webhooks import check as webhook_check
from pulumi_hosted_mesh.spec.data_plane import DataPlane, Webhooks
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.mesh import Mesh

from tests.support.authorities import DAY, NOW, Authority, pem
from tests.unit.library.documents import CERTIFICATE, document
from tests.unit.library.federation.documents import federation
from tests.unit.library.operations.doctor_reports import ROOT, SIGNED, files, given, well
from tests.unit.library.operations.webhooks import ENDPOINT, installed, observed, refusal, uncalled

HOST = "reviews.books.shops.example.com"
IPV4, IPV6, OTHER_IPV4 = "192.0.2.8", "2001:db8::8", "192.0.2.9"


def cert_managers(cacerts: Mapping[str, str], *chain: Authority, **changes: str) -> dict[str, str]:
    """The same authority as cert-manager writes it. chain: intermediates, which it appends to tls.crt."""
    own = cacerts["ca-cert.pem"] + "".join(pem(one.certificate).decode() for one in chain)
    made = {"tls.crt": own, "tls.key": cacerts["ca-key.pem"], "ca.crt": cacerts["root-cert.pem"]}
    return made | {name.replace("_", "."): text for name, text in changes.items()}


def on_cacerts(cacerts: Mapping[str, str]) -> Verdict:
    seen = well()
    assert seen.control_plane is not None
    held = dataclasses.replace(seen.control_plane, cacerts=cacerts)
    (found,) = authority("east", dataclasses.replace(seen, control_plane=held))
    return found


MIDDLE = Authority("middle", ROOT, ends=NOW + 500 * DAY)
BELOW = files(Authority("east", MIDDLE, ends=NOW + 300 * DAY))


@pytest.mark.parametrize(
    ("cacerts", "cause", "seen"),
    [
        (cert_managers(SIGNED), None, "until"),
        (cert_managers(BELOW, MIDDLE), None, "until"),
        (cert_managers(BELOW), "mismatched-cacerts", "CN=east was issued by CN=middle"),
        (cert_managers(SIGNED, ca_crt=""), "incomplete-cacerts", "it lacks ca.crt"),
        (cert_managers(SIGNED, tls_key=BELOW["ca-key.pem"]), "mismatched-cacerts", "its key is not its certificate's"),
        (cert_managers(files(Authority("east", ROOT, ends=NOW + 10 * DAY))), "ends-soon", "ends on"),
        (cert_managers(files(Authority("east", ROOT, ends=NOW - DAY))), "expired", "ended on"),
    ],
    ids=["root's", "chain", "no chain", "no root", "another key", "ends", "ended"],
)
def test_cacerts_of_cert_managers_form(cacerts: Mapping[str, str], cause: str | None, seen: str) -> None:
    """istiod reads it (`detectSigningCABundle`). No `pulumi up` writes or renews it."""
    found = on_cacerts(cacerts)
    assert (found.cause, seen in found.seen) == (cause, True), found.seen
    assert "pulumi up" not in str(found.fix)
    assert ("kubectl describe certificates -n mesh-east" in str(found.fix)) == (cause is not None)


READY, NOT_READY = {"type": "Ready", "status": "True"}, {"type": "Ready", "status": "False", "message": "no Secret"}
REFUSED = {"type": "Issuing", "status": "False", "message": "permission denied"}
RENEWS = {"type": "Issuing", "status": "True", "message": "is due"}


@pytest.mark.parametrize(
    ("conditions", "cause", "seen"),
    [
        ([READY], None, "ready, until 2027-08-03"),
        ([READY, RENEWS], None, "ready, until 2027-08-03"),
        ([READY, REFUSED], "not-renewed", "cannot renew it, and it ends on 2027-08-03: permission denied"),
        ([NOT_READY], "not-issued", "no Secret"),
        ([NOT_READY, REFUSED], "not-issued", "permission denied"),
        ([], "not-issued", "Does it run?"),
    ],
)
def test_cert_managers_certificate_is_judged_before_its_end(
    conditions: list[Mapping[str, str]], cause: str | None, seen: str
) -> None:
    """The Secret is as it was while each renewal is refused."""
    observed = well()
    assert observed.control_plane is not None
    status = {"conditions": conditions, "notAfter": "2027-08-03T10:00:00Z"}
    held = dataclasses.replace(observed.control_plane, certificate={"metadata": {}, "status": status}, tenant="acme")
    (found,) = issuance("east", dataclasses.replace(observed, control_plane=held))
    assert (found.cause, seen in found.seen) == (cause, True), found.seen
    assert ("cmctl renew cacerts -n tenant-acme--east" in found.fix) == (cause is not None)
    assert list(issuance("east", observed)) == []


class Answering:
    """A network in which some addresses answer, and the others have no route or refuse."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answering: str, otherwise: int = errno.ENETUNREACH) -> None:
        def connect(place: tuple[str, int], *_: Any) -> Any:
            if place[0] in answering:
                return socket.socket()
            raise OSError(otherwise, "no")

        def shown(_context: Any, _plain: Any, _name: str, where: str) -> GatewayConnection:
            return GatewayConnection(None, where, "spiffe://west.mesh.local/ns/mesh-west/sa/eastwest")

        monkeypatch.setattr(connection.socket, "create_connection", connect)
        monkeypatch.setattr(connection, "_shown", shown)

    def look(self, *addresses: str) -> GatewayConnection:
        found = reached(addresses, 15443, HOST, pem(ROOT.certificate).decode())
        assert found is not None
        return found


def test_an_address_family_without_a_route_is_no_failure_if_the_other_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Answering(monkeypatch, IPV4).look(IPV4, IPV6)
    assert (found.cause, found.without_route) == (None, (IPV6,))
    found = Answering(monkeypatch, IPV6).look(IPV4, IPV6)
    assert (found.cause, found.without_route) == (None, (IPV4,))


def test_an_address_without_a_route_is_a_failure_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """With an answer of its own family the machine has a route to such addresses, so this one is wrong."""
    found = Answering(monkeypatch).look(IPV4, IPV6)
    assert (found.cause, found.seen) == ("unreachable", f"no way to {IPV4}:15443: no")
    assert Answering(monkeypatch, IPV4).look(IPV4, OTHER_IPV4).cause == "unreachable"
    found = Answering(monkeypatch, IPV4, otherwise=errno.ECONNREFUSED).look(IPV4, IPV6)
    assert (found.cause, found.seen) == ("refused", f"nothing listens at [{IPV6}]:15443")


def test_the_family_without_a_route_is_a_notice() -> None:
    known, seen = federation(given()), well()
    place = "eastwest.west.example.com"
    answer = dataclasses.replace(seen.reached[place] or GatewayConnection(None, ""), without_route=(IPV6,))
    found = verdicts(known, "east", with_declared(known, []), dataclasses.replace(seen, reached={place: answer}))
    (one,) = [one for one in found if one.cause == "no-route"]
    assert (one.ok, one.notice, one.check) == (True, True, "port 15443 of the gateway of west")
    assert f"this machine has no route to {IPV6}" in one.seen


EARLY = "x509: certificate has expired or is not yet valid: current time 2026-01-01T00:00:00Z is before 2026-01-02T0"
LATE = EARLY.replace(" before ", " after ")


def test_a_certificate_that_is_not_yet_valid_is_a_matter_of_clocks() -> None:
    found = [
        webhook_check.verdicts(ENDPOINT, observed(pods={"default": refusal(uncalled(one))})) for one in (EARLY, LATE)
    ]
    (early, late) = (judged[1] for judged in found)
    assert (early.cause, late.cause) == ("not-yet-valid", "certificate-expired")
    assert "compare the clocks" in str(early.fix)
    assert "renews it" not in str(early.fix)
    assert "renews it" in str(late.fix)


def test_a_gateways_certificate_of_tomorrow_is_a_matter_of_clocks_too() -> None:
    known, seen = federation(given()), well()
    place = "eastwest.west.example.com"
    answer = GatewayConnection("not-yet-valid", f"the certificate of {IPV4}:15443 is not yet valid by this machine")
    found = verdicts(known, "east", with_declared(known, []), dataclasses.replace(seen, reached={place: answer}))
    (one,) = [one for one in found if not one.ok]
    assert one.cause == "not-yet-valid"
    assert str(one.fix).startswith("Compare the clocks of this machine and of istiod's")


def test_an_answer_of_the_webhooks_has_the_age_of_its_connection() -> None:
    """No request makes an API server open a connection, so ok does not cover a change of source ranges."""
    (_, *pods, _) = webhook_check.verdicts(ENDPOINT, observed())
    assert len(pods) == 2
    for one in pods:
        assert one.ok
        assert "by a connection that may be older than a change of source ranges" in one.seen
        assert "Proxies connect from other addresses" in one.seen


@pytest.mark.parametrize("tags", [(), ("prod",)], ids=["no tags", "a tag"])
def test_an_old_file_that_denies_an_installed_injector_fails(tags: tuple[str, ...]) -> None:
    """Written while the tag `default` named another revision; the tag has moved back."""
    old = ENDPOINT.model_copy(update={"injects": False, "tags": tags})
    there = observed(configurations=installed(), pods={})
    (first, *_) = webhook_check.verdicts(old, there)
    assert first.cause == "stale-endpoint"
    assert "by the endpoint file its label chooses no Pods of revision default" in first.seen
    assert str(first.fix).startswith("Get a new endpoint file (`hosted-mesh endpoint > endpoint.yaml`)")
    in_doctor = dataclasses.replace(well(), webhooks=there)
    assert "stale-endpoint" in [one.cause for one in verdicts(None, "demo", [], in_doctor, old)]
    # A file of the present state is fine.
    assert webhook_check.verdicts(old, observed(configurations=installed(old), pods={}))[0].cause is None


def test_an_old_file_with_a_tag_of_another_revision_now_fails_by_its_age() -> None:
    canary = ENDPOINT.model_copy(update={"revision": "canary", "host": "istiod-canary.demo.example.com"})
    moved = [one for one in installed() if one["metadata"]["labels"].get("istio.io/tag") != "prod"]
    bundle = installed()[0]["webhooks"][0]["clientConfig"]["caBundle"]
    moved.append(injection(ControlPlaneEndpoint(canary, None), Webhooks(), bundle, "prod"))
    (first, *_) = webhook_check.verdicts(ENDPOINT, observed(configurations=moved))
    assert (first.cause, first.seen) == ("stale-endpoint", "tag prod is of revision canary, not of default")


def endpoint_of(**changes: Any) -> EndpointDocument:
    """The endpoint of a control plane with these facts, as its stack has it."""
    made = ENDPOINT.model_copy(update=changes)
    return made.model_copy(update={"generation": made.own_generation()})


def test_a_file_and_the_webhooks_made_from_it_have_one_generation() -> None:
    mesh = read_document(Mesh, document({"tags": {"prod": "default"}}))
    made = ControlPlaneEndpoint.of(mesh, mesh.revisions[0], mesh.memberships[0], CERTIFICATE)
    facts = {**made.as_output(), "rootCertificate": CERTIFICATE}
    file = read_document(EndpointDocument, yaml_text.load(yaml_text.dump(facts)))
    assert file.generation == made.document.own_generation() == facts["generation"]
    generation = "hosted-mesh.io/endpoint-generation"
    for one in installed(file):
        assert one["metadata"]["annotations"][generation] == file.generation
    assert all(generation not in one["metadata"]["annotations"] for one in installed())  # of an older one's file


@pytest.mark.parametrize(
    ("changes", "is_another"),
    [
        ({"tags": ("prod", "canary")}, True),
        ({"injects": False}, True),
        ({"host": "other.example.com"}, True),
        ({"cluster_id": "other"}, True),
        ({"tags": ENDPOINT.tags[::-1]}, False),
        ({"istio_version": "1.31.9"}, False),
        ({"root_certificate": None}, False),
    ],
    ids=str,
)
def test_a_generation_is_of_the_facts_that_decide_the_webhooks(changes: dict[str, Any], is_another: bool) -> None:
    """Another version of istiod alone makes no new webhooks."""
    assert (endpoint_of(**changes).generation != endpoint_of().generation) == is_another


def test_a_file_of_another_generation_fails_where_labels_do_not_show_it() -> None:
    """An integrator's own labels replace those of unmanaged webhooks; the URL and the annotation stay."""
    old, new = endpoint_of(), endpoint_of(tags=("canary", "prod"))
    own = installed(new)
    for one in own:
        one["metadata"]["labels"] = {"team": "platform"} | (
            {"istio.io/tag": "prod"} if "-prod-" in one["metadata"]["name"] else {}
        )
    assert webhook_check.verdicts(new, observed(configurations=own))[0].cause == "tag-not-present"
    (first, *_) = webhook_check.verdicts(old, observed(configurations=own))
    assert first.cause == "stale-endpoint"
    assert f"was made from generation {new.generation}, but the endpoint file has {old.generation}" in first.seen
    for older in (old.model_copy(update={"generation": None}), endpoint_of()):
        there = own if older.generation is None else installed(older)
        assert webhook_check.verdicts(older, observed(configurations=there))[0].cause is None


def test_a_data_plane_takes_a_file_without_a_generation() -> None:
    """It is of an older version of the control plane's side."""
    new = endpoint_of()
    require_matching_endpoints(
        read_document(DataPlane, {"mesh": "demo"}), [new.model_copy(update={"generation": None})], [new]
    )


def sidecar(mesh: str, name: str = "page", kind: str = "deployment", revision: str = "default") -> Proxy:
    workload = f"{kind}/{name}-1" if kind == "pod" else f"{kind}/{name}"
    return Proxy("books", f"{name}-1", name, revision, True, Injected(mesh, frozenset(), workload))


HOOKS = [{"hosted-mesh.io/mesh": "other", "istio.io/rev": "default"}]


def on_proxies(*found: Proxy, mesh: str = "other") -> list[Verdict]:
    revisions = frozenset({"default"})
    seen = dataclasses.replace(
        MeshObservation(pem(ROOT.certificate).decode(), (), revisions, {}, NOW, meshes=frozenset({"other"})),
        proxies=tuple(of_mesh(mesh, found, HOOKS)),
    )
    return [one for one in verdicts(None, mesh, [], seen, soon=timedelta(0)) if one.check.startswith("proxies")]


def test_sidecars_of_a_removed_mesh_are_named_by_doctor_of_another_mesh() -> None:
    """Its workloads keep the old configuration and certificates, and no other check counts them."""
    (one,) = on_proxies(sidecar("gone"), sidecar("gone", "cart"), sidecar("other", "new"))
    assert (one.check, one.cause) == ("proxies in namespace books", "removed-mesh")
    assert one.seen == "2 of mesh gone, which has no webhooks in the cluster: cart-1, page-1"
    assert "`kubectl rollout restart deployment -n books`" in str(one.fix)
    (fine,) = on_proxies(sidecar("other"))
    assert (fine.cause, fine.seen) == (None, "1, of default")


@pytest.mark.parametrize(
    ("pods", "fix"),
    [
        ([("page", "deployment")], "`kubectl rollout restart deployment -n books`"),
        ([("page", "pod")], "delete and create again pod/page-1, for example by `kubectl replace --force`"),
        (
            [("page", "deployment"), ("db", "statefulset"), ("log", "daemonset")],
            "`kubectl rollout restart daemonset,deployment,statefulset -n books`",
        ),
        ([("load", "job")], "run again job/load"),
        (
            [("page", "deployment"), ("probe", "pod")],
            "`kubectl rollout restart deployment -n books`, and delete and create again pod/probe-1, for example by "
            "`kubectl replace --force`",
        ),
    ],
    ids=["deployment", "bare", "kinds", "job", "mixed"],
)
def test_a_restart_is_of_the_pods_own_kind(pods: list[tuple[str, str]], fix: str) -> None:
    """A rollout of Deployments does not change a bare Pod, nor one of a StatefulSet."""
    found = [sidecar("gone", name, kind) for name, kind in pods]
    assert restart(found, "books") == fix
    (one,) = on_proxies(*found)
    assert str(one.fix).endswith(f"then {fix}")
    (old,) = on_proxies(*(dataclasses.replace(one, revision="1-30") for one in found))
    assert old.cause == "unknown-revision"
    assert str(old.fix).lower().startswith(fix.lower())


@pytest.mark.parametrize(
    ("label", "intended"),
    [
        ("istio-injection=enable", "istio-injection=enabled"),
        ("istio-injection=true", "istio-injection=enabled"),
        ("istio-injection=Enabled", "istio-injection=enabled"),
        ("istio-injection=disable", "istio-injection=disabled"),
        ("istio-injection=off", "istio-injection=disabled"),
        ("istio-injecton=enabled", "istio-injection=enabled"),
        ("istio_injection=enabled", "istio-injection=enabled"),
        ("istio.io/revision=prod", "istio.io/rev=prod"),
        ("istio.io/rev.=prod", "istio.io/rev=prod"),
        ("istio.io/rve=prod", "istio.io/rev=prod"),
    ],
)
def test_labels_that_look_like_a_wish_for_a_proxy_are_named(label: str, intended: str) -> None:
    key, _, value = label.partition("=")
    found = misspelt_in({"books": {key: value, "kubernetes.io/metadata.name": "books"}})
    assert found == {"books": (label, intended)}
    (one,) = misspelt(found)
    assert (one.check, one.cause, one.ok) == ("namespace books", "misspelt-label", False)
    assert f"its label {label} has no effect on injection" in one.seen
    assert intended in str(one.fix)
    assert (f" {key}- " in str(one.fix)) == (key != intended.partition("=")[0])
    in_doctor = verdicts(None, "east", [], dataclasses.replace(well(), misspelt=found))
    assert "misspelt-label" in [one.cause for one in in_doctor]


@pytest.mark.parametrize(
    "labels",
    [
        {"istio-injection": "enabled"},
        {"istio-injection": "disabled"},
        {"istio.io/rev": "anything"},
        {"istio.io/dataplane-mode": "ambient"},
        {"istio.io/use-waypoint": "waypoint"},
        {"istio-discovery": "enabled"},
        {"team": "books", "pod-security.kubernetes.io/enforce": "baseline"},
    ],
    ids=str,
)
def test_labels_with_a_meaning_of_their_own_are_not_named(labels: Mapping[str, str]) -> None:
    assert misspelt_in({"books": labels}) == {}
