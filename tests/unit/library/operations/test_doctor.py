"""For each thing that can be wrong one observation that differs by exactly that: doctor names it, and nothing else."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pulumi_hosted_mesh.cli.command import app
from pulumi_hosted_mesh.clusters.api_server import Answer
from pulumi_hosted_mesh.federation.exports import offer, with_declared
from pulumi_hosted_mesh.operations.doctor.access import AccessObservation
from pulumi_hosted_mesh.operations.doctor.authority import authority
from pulumi_hosted_mesh.operations.doctor.check import not_looked_at, verdicts
from pulumi_hosted_mesh.operations.doctor.configuration import ProxyConfiguration
from pulumi_hosted_mesh.operations.doctor.connection import GatewayConnection
from pulumi_hosted_mesh.operations.doctor.exported import exported
from pulumi_hosted_mesh.operations.doctor.observation import MeshObservation, verified_by
from pulumi_hosted_mesh.operations.doctor.proxies import Injected, Proxy
from pulumi_hosted_mesh.operations.verdict import Verdict, report
from pulumi_hosted_mesh.operations.webhooks.crds import NEEDED
from typer.testing import CliRunner

from tests.support.authorities import DAY, NOW, Authority, pem
from tests.unit.library.federation.documents import HOST, REVIEWS, Manifest, federation
from tests.unit.library.operations import webhooks
from tests.unit.library.operations.doctor_reports import (
    PAGE,
    ROOT,
    SCOPED,
    SIGNED,
    _template,
    files,
    given,
    service,
    well,
)
from tests.unit.library.operations.webhooks import ENDPOINT, PLAIN, VALIDATION, refusal, uncalled

OTHER = Authority("other root", ends=NOW + 1000 * DAY)


def judged(observed: MeshObservation, what: Manifest | None = None) -> list[tuple[str, str]]:
    """Check and cause of what is wrong; each such verdict says what to do next."""
    known = federation(what or given())
    wrong = [one for one in verdicts(known, "east", with_declared(known, []), observed) if not one.ok]
    assert all(one.fix and one.seen for one in wrong)
    return [(one.check, str(one.cause)) for one in wrong]


def test_what_is_well_is_said_to_be() -> None:
    assert judged(well()) == []


def noticed(observed: MeshObservation, what: Manifest | None = None) -> list[Verdict]:
    """What is told although nothing is wrong; each says what to do."""
    known = federation(what or given())
    found = [one for one in verdicts(known, "east", with_declared(known, []), observed) if one.notice]
    assert all(one.ok and one.cause and one.fix and str(one).startswith("notice  ") for one in found)
    return found


def test_what_imports_leave_out_is_told_and_is_no_failure() -> None:
    what = given()
    what["peers"][0]["imports"] = [{"meshes": ["west"]}]
    what["peers"][1]["exports"].append({**REVIEWS, "service": "db", "port": 5432, "protocol": "TCP"})
    (one,) = noticed(well(what), what)
    assert (one.check, one.cause) == ("imports[0] of east", "left-out")
    assert "does not import db.books.shops.example.com of west, which is TCP" in one.seen
    assert "`{meshes: [west], namespace: books, service: db, port: 5432}`" in one.fix
    assert report([one]) == {"ok": True, "checks": [{**dataclasses.asdict(one), "ok": True}]}
    assert judged(well(what), what) == []
    assert noticed(well()) == []


def alone(observed: MeshObservation) -> list[tuple[str, str]]:
    """What is wrong with a mesh of no federation."""
    return [(one.check, str(one.cause)) for one in verdicts(None, "east", [], observed) if not one.ok]


def without(kind: str) -> Callable[[MeshObservation], MeshObservation]:
    def change(observed: MeshObservation) -> MeshObservation:
        return dataclasses.replace(observed, objects=tuple(o for o in observed.objects if o["kind"] != kind))

    return change


def edited(kind: str, edit: Callable[[Any], object]) -> Callable[[MeshObservation], MeshObservation]:
    def change(observed: MeshObservation) -> MeshObservation:
        found: list[Any] = copy.deepcopy(list(observed.objects))
        edit(next(one for one in found if one["kind"] == kind))
        return dataclasses.replace(observed, objects=tuple(found))

    return change


def replaced(**fields: Any) -> Callable[[MeshObservation], MeshObservation]:
    return lambda observed: dataclasses.replace(observed, **fields)


def stale(observed: MeshObservation) -> MeshObservation:
    old = copy.deepcopy(next(one for one in observed.objects if one["kind"] == "ServiceEntry"))
    old["metadata"]["name"] = "shops-gone"
    return dataclasses.replace(observed, objects=(*observed.objects, old))


def centre(**fields: Any) -> Callable[[MeshObservation], MeshObservation]:
    """What is seen of the control plane, with other fields."""

    def change(observed: MeshObservation) -> MeshObservation:
        assert observed.control_plane is not None
        return dataclasses.replace(observed, control_plane=dataclasses.replace(observed.control_plane, **fields))

    return change


def answers(mesh: str, cause: str | None, identity: str = "") -> Callable[[MeshObservation], MeshObservation]:
    def change(observed: MeshObservation) -> MeshObservation:
        other = {f"eastwest.{mesh}.example.com": GatewayConnection(cause, "192.0.2.8:15443", identity)}
        return dataclasses.replace(observed, reached={**observed.reached, **other})

    return change


def policy(selected: dict[str, str], **spec: Any) -> Manifest:
    kinds = [kind for kind in ("Ingress", "Egress") if kind.lower() in spec]
    return {
        "metadata": {"name": "strict"},
        "spec": {"podSelector": {"matchLabels": selected}, "policyTypes": kinds, **spec},
    }


ENTRY = f"ServiceEntry shops-{HOST} in namespace mesh-east"
GATEWAY = "gateway eastwest in namespace mesh-east"
ROOT_OF = "root certificate of east"
CACERTS = "Secret cacerts in namespace mesh-east of the control plane"
OWN = "gateway address eastwest.east.example.com of east"
PEERS = "gateway address eastwest.west.example.com of west"
OLD = NOW - DAY
PORT_OF_WEST = "port 15443 of the gateway of west"
ISTIOD = "istiod istiod in namespace mesh-east of the control plane"
ACCESS = "access of istiod of east to its data plane, by Secret istio-kubeconfig"
FROM_INSIDE: Manifest = {"from": [{"namespaceSelector": {}}]}
OTHER_PORT = policy({}, egress=[{"ports": [{"port": 443}]}])
OTHER_ADDRESS = policy({}, egress=[{"to": [{"ipBlock": {"cidr": "192.0.2.0/24", "except": ["192.0.2.16/28"]}}]}])


def clocks(**seconds: int) -> Callable[[MeshObservation], MeshObservation]:
    """By how much the API servers' are ahead."""
    return replaced(clocks={place.replace("_", " "): timedelta(seconds=by) for place, by in seconds.items()})


@pytest.mark.parametrize(
    ("broken", "check", "cause"),
    [
        (without("ServiceEntry"), ENTRY, "missing-service-entry"),
        (
            without("DestinationRule"),
            f"DestinationRule shops-{HOST} in namespace mesh-east",
            "missing-destination-rule",
        ),
        (without("Gateway"), "Gateway shops in namespace mesh-east", "missing-gateway"),
        (
            without("AuthorizationPolicy"),
            "AuthorizationPolicy shops in namespace mesh-east",
            "missing-authorization-policy",
        ),
        (stale, "ServiceEntry shops-gone in namespace mesh-east", "stale-service-entry"),
        (
            edited("ServiceEntry", lambda one: one["spec"]["endpoints"][0].update(address="elsewhere.example.com")),
            ENTRY,
            "wrong-address",
        ),
        (edited("ServiceEntry", lambda one: one["spec"].pop("subjectAltNames")), ENTRY, "changed-service-entry"),
        (
            edited("AuthorizationPolicy", lambda one: one["spec"]["rules"].append({})),
            "AuthorizationPolicy shops in namespace mesh-east",
            "changed-authorization-policy",
        ),
        (
            edited("DestinationRule", lambda one: one["spec"]["trafficPolicy"]["tls"].pop("sni")),
            f"DestinationRule shops-{HOST} in namespace mesh-east",
            "changed-destination-rule",
        ),
        (replaced(service=None), GATEWAY, "no-gateway"),
        (replaced(deployment=None), GATEWAY, "no-gateway"),
        (replaced(service=service()), GATEWAY, "no-address"),
        (
            replaced(service={**well().service, "spec": {"ports": [{"port": 443}]}}),  # type: ignore[dict-item]
            GATEWAY,
            "no-port",
        ),
        (replaced(deployment={"status": {}}), GATEWAY, "not-ready"),
        (replaced(service=service(loadBalancer={"ingress": [{"ip": "192.0.2.99"}]})), OWN, "wrong-address"),
        (replaced(resolved={**well().resolved, "eastwest.west.example.com": ()}), PEERS, "name-not-found"),
        (replaced(resolved={**well().resolved, "eastwest.east.example.com": ()}), OWN, "name-not-found"),
        (replaced(root=None), ROOT_OF, "missing-root"),
        (replaced(root="nonsense"), ROOT_OF, "unreadable-root"),
        (centre(cacerts=None), CACERTS, "missing-cacerts"),
        (centre(cacerts={**SIGNED, "root-cert.pem": ""}), CACERTS, "incomplete-cacerts"),
        (
            centre(cacerts={**SIGNED, "ca-key.pem": files(OTHER)["ca-key.pem"]}),
            CACERTS,
            "mismatched-cacerts",
        ),
        (centre(cacerts=files(Authority("east", OTHER))), CACERTS, "mismatched-cacerts"),
        (centre(cacerts=files(Authority("east", OTHER, ends=NOW + 300 * DAY), OTHER)), CACERTS, "another-root"),
        (answers("west", "refused"), PORT_OF_WEST, "refused"),
        (answers("west", "time-out"), PORT_OF_WEST, "time-out"),
        (answers("west", "unreachable"), PORT_OF_WEST, "unreachable"),
        (answers("west", "no-tls"), PORT_OF_WEST, "no-tls"),
        (answers("west", "another-root"), PORT_OF_WEST, "another-root"),
        (answers("west", "expired"), PORT_OF_WEST, "expired"),
        (answers("west", None, "spiffe://west.mesh.local/ns/x/sa/y"), PORT_OF_WEST, "another-identity"),
        (answers("east", "refused"), "port 15443 of the gateway of east", "refused"),
        (replaced(policies=(policy({}, ingress=[]),)), GATEWAY, "network-policy"),
        (replaced(policies=(policy({"app": "eastwest"}, ingress=[FROM_INSIDE]),)), GATEWAY, "network-policy"),
        (centre(policies=(policy({"app": "istiod"}, ingress=[]),)), ISTIOD, "network-policy"),
        (centre(policies=(OTHER_PORT,)), ISTIOD, "network-policy"),
        (centre(policies=(OTHER_ADDRESS,)), ISTIOD, "network-policy"),
        (centre(istiods=()), "istiod of east", "no-istiod"),
        (centre(istiods=({"metadata": {"name": "istiod"}, "status": {}},)), ISTIOD, "not-ready"),
        *(
            (centre(access=AccessObservation(cause, "seen")), ACCESS, cause)
            for cause in (
                "missing-kubeconfig",
                "unreadable-kubeconfig",
                "token-refused",
                "another-authority",
                "missing-rights",
                "unreachable",
            )
        ),
        (replaced(revisions=frozenset({"canary"})), "proxies in namespace books", "unknown-revision"),
        (
            replaced(proxies=(Proxy("books", "page-1", "page", "default", False),)),
            "proxies in namespace books",
            "not-ready",
        ),
        (replaced(wishes={"books": "default", "old": "1-30"}), "namespace old", "unknown-revision"),
        (
            replaced(proxies=(Proxy("books", "page-1", "page", "default", False, is_started=False),)),
            "proxies in namespace books",
            "not-started",
        ),
        (
            replaced(configured=(ProxyConfiguration(PAGE, connected=False),)),
            "connection of proxies of revision default to istiod",
            "not-connected",
        ),
        (
            replaced(configured=(ProxyConfiguration(PAGE), ProxyConfiguration(PAGE, refused="Cluster: no such file"))),
            "configuration of proxies in namespace books",
            "update-rejected",
        ),
        (
            replaced(configured=(ProxyConfiguration(PAGE, answered=False, connected=False),)),
            "statistics of proxies in namespace books",
            "no-answer",
        ),
        (clocks(data_plane=0, control_plane=90), "clock of the API server of the control plane", "clock-skew"),
        (clocks(data_plane=-90, control_plane=0), "clock of the API server of the data plane", "clock-skew"),
        (clocks(data_plane=300, control_plane=301), "clock of this machine", "clock-skew"),
        (
            clocks(data_plane=40, control_plane=-40),
            "clocks of the API servers of the data plane and the control plane",
            "clock-skew",
        ),
        (centre(cacerts=files(Authority("east", ROOT, ends=OLD))), CACERTS, "expired"),
        (centre(cacerts=files(Authority("east", ROOT, ends=NOW + 10 * DAY))), CACERTS, "ends-soon"),
    ],
)
def test_each_fault_is_named_and_nothing_else(
    broken: Callable[[MeshObservation], MeshObservation], check: str, cause: str
) -> None:
    observed = broken(well())
    found = judged(observed)
    # The root's ConfigMap says what proxies have; without it the authority's cannot be held against it.
    assert [one for one in found if one != (CACERTS, "another-root") or check == CACERTS] == [(check, cause)]


MIDDLE = Authority("middle", ROOT, ends=NOW + 500 * DAY)


def below_middle(*others: Authority, by: Authority = MIDDLE, root: Authority = ROOT) -> dict[str, str]:
    """cacerts of an authority that an intermediate signed. others: whose certificates are in cert-chain.pem too."""
    made = files(Authority("east", by, ends=NOW + 300 * DAY), root)
    chain = [made["ca-cert.pem"], *(pem(one.certificate).decode() for one in others)]
    return {**made, "cert-chain.pem": "".join(chain)}


@pytest.mark.parametrize(
    ("cacerts", "cause", "seen"),
    [
        (below_middle(MIDDLE), None, "until"),
        (below_middle(ROOT, MIDDLE), None, "until"),
        (
            below_middle(),
            "mismatched-cacerts",
            "CN=east was issued by CN=middle, but cert-chain.pem with root-cert.pem lacks",
        ),
        (
            below_middle(Authority("middle", ROOT)),
            "mismatched-cacerts",
            "CN=east was issued by CN=middle, but cert-chain.pem with root-cert.pem has one of that name that did",
        ),
        (below_middle(MIDDLE, root=OTHER), "mismatched-cacerts", "CN=middle was issued by CN=root"),
        (
            {**below_middle(MIDDLE), "cert-chain.pem": pem(MIDDLE.certificate).decode()},
            "mismatched-cacerts",
            "cert-chain.pem lacks the certificate of ca-cert.pem",
        ),
        (
            below_middle(narrow := Authority("narrow", ROOT, ends=NOW + 500 * DAY, below=0), by=narrow),
            "mismatched-cacerts",
            "CN=narrow may not sign for an authority",
        ),
        (
            below_middle(none := Authority("none", ROOT, ca=False), by=none),
            "mismatched-cacerts",
            "CN=none may not sign for an authority",
        ),
        (files(Authority("east", ROOT, ca=False)), "mismatched-cacerts", "CN=east may not sign for workloads"),
        (below_middle(old := Authority("old", ROOT, ends=OLD), by=old), "expired", "CN=old ended on"),
        ({**SIGNED, "cert-chain.pem": "nonsense"}, "mismatched-cacerts", "cannot be read"),
    ],
)
def test_an_authority_below_others_is_followed_to_the_root(
    cacerts: dict[str, str], cause: str | None, seen: str
) -> None:
    """What is named says where the chain breaks."""
    (found,) = authority("east", centre(cacerts=cacerts)(well()))
    assert (found.cause, seen in found.seen) == (cause, True), found.seen


def test_a_root_that_ends_is_named_for_its_proxies() -> None:
    ending = Authority("root", ends=NOW + 3 * DAY)
    root = pem(ending.certificate).decode()
    observed = dataclasses.replace(well(), root=root, control_plane=None)
    assert judged(observed) == [(ROOT_OF, "ends-soon")]
    later = dataclasses.replace(observed, now=datetime.now(UTC) + timedelta(days=4))
    assert judged(later) == [(ROOT_OF, "expired")]


def fixes(observed: MeshObservation, days: int) -> dict[str, str]:
    """What to do about certificates that end within these days, by check."""
    found = verdicts(None, "east", [], observed, soon=days * DAY)
    return {one.check: one.fix for one in found if one.cause == "ends-soon"}


def test_of_a_certificate_that_no_run_renews_yet_is_said_when_one_will() -> None:
    """By the default window; whoever set another is led to the state, which has it."""
    observed = replaced(**OF_FEDERATIONS, root=pem(ROOT.certificate).decode())(well())
    assert fixes(observed, 200) == {}
    (early,) = fixes(observed, 400).values()
    assert early.startswith(f"No run renews it yet. From {NOW + (300 - 60) * DAY:%Y-%m-%d} on, 60 days before its end")
    assert "unless trust.intermediate.renewBeforeDays sets another window: `hosted-mesh status`" in early
    root = fixes(observed, 1100)[ROOT_OF]
    assert f"From {NOW + (1000 - 400) * DAY:%Y-%m-%d} on, 400 days before its end" in root
    assert "trust.root.renewBeforeDays" in root


@pytest.mark.parametrize(("days", "is_due"), [(59, True), (61, False)])
def test_in_its_window_a_certificate_is_for_a_run_now(days: int, is_due: bool) -> None:
    ending = centre(cacerts=files(Authority("east", ROOT, ends=NOW + days * DAY)))
    (fix,) = fixes(replaced(**OF_FEDERATIONS)(ending(well())), 90).values()
    assert fix.startswith("Run `pulumi up` of the stacks root and control-plane of east") == is_due


def test_definitions_that_are_left_out_on_purpose_are_not_missed_in_doctor_either() -> None:
    gone = "envoyfilters.networking.istio.io"
    there = {name: "1.99.0" for name in NEEDED if name != gone}
    asked = replaced(**OF_FEDERATIONS, webhooks=webhooks.observed(crds=there))(well())
    known = [one.cause for one in verdicts(None, "east", [], asked, ENDPOINT) if not one.ok]
    assert known == ["missing-crds"]
    assert all(one.ok for one in verdicts(None, "east", [], asked, ENDPOINT, without={gone}))


def test_what_is_left_out_is_refused_where_nothing_is_looked_for() -> None:
    options = ["--mesh=east", "--without-crd=envoyfilters.networking.istio.io"]
    done = CliRunner().invoke(app, ["doctor", *options])
    assert (done.exit_code, "--without-crd: requires --endpoint" in done.output) == (1, True)


def test_roots_that_differ_from_the_documents_are_named() -> None:
    what = given()
    for peer in what["peers"]:
        peer["rootCertificate"] = pem(OTHER.certificate).decode()
    observed = dataclasses.replace(well(what), control_plane=None)
    assert judged(observed, what) == [(ROOT_OF, "roots-differ")]


def test_a_tenants_verdicts_name_its_own_namespace() -> None:
    observed = centre(tenant="acme")(well())
    texts = [str(one) for one in verdicts(None, "east", [], observed)]
    assert sum("tenant-acme--east of the control plane" in one for one in texts) == 2, texts
    assert not any("mesh-east of the control plane" in one for one in texts)
    (gone,) = [one for one in verdicts(None, "east", [], centre(istiods=())(well())) if one.cause == "no-istiod"]
    assert gone.fix.endswith("If the mesh has a tenant, add --tenant")


@pytest.mark.parametrize("name", ["a--b", "Acme", "", "1st"])
def test_a_wrong_tenant_is_one_line(name: str) -> None:
    done = CliRunner().invoke(app, ["doctor", "--mesh=east", f"--tenant={name}", "--kubeconfig=/nowhere"])
    assert done.exit_code == 1
    assert "--tenant" in done.output
    assert "Traceback" not in done.output


def test_proxies_without_an_istiod_that_is_away_are_not_named_beside_it() -> None:
    apart = replaced(configured=(ProxyConfiguration(PAGE, connected=False),))(well())
    assert judged(centre(istiods=())(apart)) == [("istiod of east", "no-istiod")]


def test_a_gateway_that_policies_close_is_not_named_for_its_silence_too() -> None:
    silent = ProxyConfiguration(Proxy("mesh-east", "eastwest-1", "eastwest", "default", True), answered=False)
    closed = replaced(configured=(silent,), policies=(policy({}, ingress=[]),))(well())
    assert judged(closed) == [(GATEWAY, "network-policy")]
    assert judged(replaced(configured=(silent,))(well())) == [
        ("statistics of proxies in namespace mesh-east", "no-answer")
    ]


def test_the_authority_is_only_looked_at_where_it_was_read() -> None:
    observed = dataclasses.replace(well(), control_plane=None)
    assert judged(observed) == []


def test_no_verdict_and_no_repr_shows_a_key() -> None:
    broken = centre(cacerts={**SIGNED, "ca-cert.pem": SIGNED["ca-key.pem"]})(well())
    known = federation(given())
    said = "\n".join(str(one) for one in verdicts(known, "east", with_declared(known, []), broken))
    key = SIGNED["ca-key.pem"].splitlines()[1]
    assert "mismatched-cacerts" in said
    assert key not in said + repr(broken)


def asked(observed: MeshObservation, **changes: Any) -> list[tuple[str, str]]:
    """What is wrong where the webhooks were asked too."""
    both = dataclasses.replace(observed, webhooks=webhooks.observed(**changes))
    known = federation(given())
    found = verdicts(known, "east", with_declared(known, []), both, ENDPOINT)
    return [(one.check, str(one.cause)) for one in found if not one.ok]


def partial(**roots: Authority) -> Manifest:
    """Each mesh has a root of its own."""
    both = {**given(), "trust": "partial"}
    for one in both["peers"]:
        one["rootCertificate"] = pem(roots[one["mesh"]].certificate).decode()
    return both


def test_with_roots_of_their_own_a_mesh_is_held_to_its_own_in_the_document() -> None:
    """For that is the one that its peers verify it by. While it moves to another, they need both."""
    what = partial(east=ROOT, west=OTHER)
    assert judged(well(what), what) == []
    other = partial(east=Authority("third"), west=OTHER)
    assert judged(well(other), other) == [(ROOT_OF, "roots-differ")]
    moving = dataclasses.replace(well(what), root="".join(pem(one.certificate).decode() for one in (ROOT, OTHER)))
    assert judged(replaced(control_plane=None)(moving), what) == [(ROOT_OF, "roots-differ")]


def test_with_roots_of_their_own_filters_are_looked_at_and_a_strange_gateway_is_a_matter_of_the_document() -> None:
    what = partial(east=ROOT, west=OTHER)
    assert judged(without("EnvoyFilter")(well(what)), what) == [
        ("EnvoyFilter shops in namespace mesh-east", "missing-envoy-filter"),
        (f"EnvoyFilter shops-{HOST} in namespace mesh-east", "missing-envoy-filter"),
    ]
    known = federation(what)
    found = verdicts(known, "east", with_declared(known, []), answers("west", "another-root")(well(what)))
    (wrong,) = [one for one in found if not one.ok]
    assert (wrong.check, wrong.cause) == (PORT_OF_WEST, "another-root")
    assert "Put the root of west into its rootCertificate" in wrong.fix
    assert verified_by(known, "east", known.peer("west"), "its own") == pem(OTHER.certificate).decode()
    assert verified_by(known, "east", known.peer("east"), "its own") == "its own"
    assert verified_by(federation(given()), "east", known.peer("west"), "its own") == "its own"


def test_the_gateway_has_a_check_of_its_own_and_not_two() -> None:
    waiting = dataclasses.replace(well(), proxies=(Proxy("mesh-east", "eastwest-1", "eastwest", "default", False),))
    assert judged(waiting) == []
    assert judged(dataclasses.replace(waiting, deployment={"status": {}})) == [(GATEWAY, "not-ready")]


def leaving() -> Manifest:
    """East's calls leave through a gateway."""
    through = given()
    through["peers"][0]["egress"] = {"gateway": "egress", "port": 15444}
    return through


def through_egress(**fields: Any) -> list[tuple[str, str]]:
    """What is wrong in a mesh whose egress gateway is well, but for these fields."""
    there: Manifest = {
        "egress_service": {"spec": {"ports": [{"port": 15021}, {"port": 15444}]}},
        "egress_deployment": {"status": {"readyReplicas": 1}},
    }
    return judged(dataclasses.replace(well(leaving()), **(there | fields)), leaving())


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({"egress_service": None}, "no-gateway"),
        ({"egress_deployment": None}, "no-gateway"),
        ({"egress_service": {"spec": {"ports": [{"port": 15443}]}}}, "no-port"),
        ({"egress_deployment": {"status": {}}}, "not-ready"),
    ],
)
def test_an_egress_gateway_that_does_not_serve_is_named_and_nothing_else(fields: Manifest, cause: str) -> None:
    waiting = Proxy("mesh-east", "egress-1", "egress", "default", False)
    assert through_egress(proxies=(waiting,)) == []
    assert through_egress(proxies=(waiting,), **fields) == [("egress gateway egress in namespace mesh-east", cause)]


def test_a_mesh_that_does_not_use_its_egress_gateway_yet_is_named_by_its_objects() -> None:
    """The document asks for it, and the stack has not run: callers connect to the peer still."""
    wrong = through_egress(objects=well().objects)
    assert (ENTRY, "wrong-address") in wrong
    assert {check.partition(" ")[0] for check, _ in wrong} == {
        "DestinationRule",
        "Gateway",
        "ServiceEntry",
        "VirtualService",
    }


def test_webhooks_are_judged_with_each_cause_once() -> None:
    """And without what follows from what is installed, or from an istiod that is away."""
    away, late = (refusal(uncalled(words)) for words in ("connection refused", "context deadline exceeded"))
    silent = refusal(uncalled("connection refused", VALIDATION, ENDPOINT.validation_url))
    pods = {"default": late, "prod": away}
    assert asked(well()) == []
    assert asked(well(), pods=pods, invalid=silent) == [("a Pod with istio.io/rev: default gets a sidecar", "time-out")]
    gone = centre(istiods=())(well())
    assert asked(gone, pods=pods, invalid=silent) == [("istiod of east", "no-istiod")]
    (only,) = asked(well(), configurations=[], pods={"default": PLAIN}, invalid=Answer(201, {}))
    assert only[1] == "revision-not-present"


def test_a_namespace_that_asks_for_what_is_not_there_is_told_with_what_is() -> None:
    """An old revision, or a mistyped one: no webhook is asked, and the Pods start in plain text."""
    (one,) = [
        one
        for one in verdicts(None, "east", [], replaced(wishes={"old": "1-30"})(well()))
        if one.check == "namespace old"
    ]
    assert "its labels name 1-30" in one.seen
    assert one.seen.endswith("There are: canary, default, prod")
    assert "`kubectl label namespace old istio-injection- istio.io/rev=... --overwrite`" in one.fix
    assert alone(replaced(wishes=None)(well())) == alone(well())


def test_a_namespace_is_not_told_of_webhooks_that_are_missed_already() -> None:
    asks = dataclasses.replace(well(), wishes={"books": "default"}, answered=frozenset({"canary"}), proxies=())
    assert ("namespace books", "unknown-revision") in asked(asks)
    assert ("namespace books", "unknown-revision") not in asked(asks, configurations=[])


def test_of_proxies_that_wait_those_with_a_log_are_told_apart() -> None:
    """One that never ran has none; what it waits for, its Pod's events say."""
    waiting = (
        Proxy("books", "new-1", "new", "default", False, is_started=False),
        Proxy("books", "page-1", "page", "default", False),
    )
    found = verdicts(None, "east", [], dataclasses.replace(well(), proxies=waiting))
    events, log = [one for one in found if one.check == "proxies in namespace books"]
    assert (events.cause, events.seen) == ("not-started", "1 did not start: new-1")
    assert "`kubectl describe pod new-1 -n books`" in events.fix
    assert (log.cause, log.seen) == ("not-ready", "1 got no configuration yet: page-1")
    assert "`kubectl logs page-1 -c istio-proxy -n books`" in log.fix


def istiod_of(ready: int, wanted: int | None, waiting: int = 0) -> Verdict:
    """What is told of istiod's Deployment with so many ready Pods, of so many that are asked for."""
    status = {"readyReplicas": ready, "unavailableReplicas": waiting}
    spec = {} if wanted is None else {"replicas": wanted}
    one = {"metadata": {"name": "istiod", "namespace": "mesh-east"}, "spec": spec, "status": status}
    found = verdicts(None, "east", [], centre(istiods=(one,))(well()))
    return next(verdict for verdict in found if verdict.check == ISTIOD)


def test_an_istiod_that_was_scaled_to_nothing_is_told_apart_from_one_that_does_not_start() -> None:
    scaled, failing = istiod_of(0, 0), istiod_of(0, 1, 1)
    assert scaled.cause == failing.cause == "not-ready"
    assert "scaled to zero Pods" in scaled.seen
    assert scaled.fix.startswith("Run `pulumi up --refresh` of the stack control-plane of east")
    assert "kubectl describe pods,replicasets" in failing.fix


def test_an_istiod_with_fewer_ready_pods_than_are_asked_for_is_a_notice() -> None:
    """One Pod of two answers, as the old one of a rollout does whose new one never gets ready."""
    one = istiod_of(1, 2, 1)
    assert (one.cause, one.notice, one.ok, one.seen) == ("some-not-ready", True, True, "1 ready, 1 not")
    assert str(istiod_of(2, 2)).startswith("ok")


@pytest.mark.parametrize(("hours", "cause"), [(3, None), (2, "token-ends-soon")])
def test_a_token_that_ends_is_named_before_it_does(hours: int, cause: str | None) -> None:
    """For nobody renews it here, and an istiod without one stays ready. Of a day two hours and a half are a tenth."""
    now = datetime(2026, 11, 23, 8, 0, tzinfo=UTC)
    ends = now + timedelta(hours=hours)
    given = AccessObservation(None, "https://192.0.2.20:6443", valid=(ends - timedelta(hours=24), ends))
    seen = dataclasses.replace(centre(access=given)(well()), now=now)
    (one,) = [one for one in verdicts(None, "east", [], seen) if one.check == ACCESS]
    assert (one.cause, one.ok) == (cause, cause is None)
    assert f"its token ends at 2026-11-23 {8 + hours:02}:00 UTC" in one.seen
    assert ("`hosted-mesh token`" in one.fix) == (cause is not None)


def test_an_account_that_was_deleted_comes_back_by_a_run_that_looks() -> None:
    """A next token is refused for as long as its account is not there, so a rotation ends in its first step."""
    (one,) = [
        one
        for one in verdicts(None, "east", [], centre(access=AccessObservation("token-refused", "seen"))(well()))
        if not one.ok
    ]
    assert "`pulumi up --refresh` of the stacks access and control-plane of east" in one.fix
    assert one.fix.index("--refresh") < one.fix.index("hosted-mesh rotate")


def restarts(observed: MeshObservation, revision: str, **changes: Any) -> str:
    """What is to be done with the proxies of books, where the webhooks of a revision were asked for."""
    both = dataclasses.replace(observed, webhooks=webhooks.observed(**changes))
    told = ENDPOINT.model_copy(update={"revision": revision})
    return next(one.fix for one in verdicts(None, "east", [], both, told) if one.check == "proxies in namespace books")


def test_nobody_is_sent_to_restart_proxies_while_their_webhooks_are_away() -> None:
    """A Pod that is made then has no proxy, and no policy holds for it."""
    none = dataclasses.replace(well(), revisions=frozenset())
    (unasked,) = [one for one in verdicts(None, "east", [], none) if one.cause == "unknown-revision"]
    another = dataclasses.replace(well(), revisions=frozenset({"canary"}))
    for fix in (unasked.fix, restarts(another, "default", configurations=[])):
        assert fix.startswith("Do not restart them")
        assert "`pulumi up --refresh` of the stack data-plane" in fix
    # After an upgrade, with the endpoint of the revision that is there.
    assert restarts(another, "canary").startswith("`kubectl rollout restart deployment -n books`")


def crossing(
    labels: Manifest | None = None,
    ports: tuple[int, ...] = (15021, 15443),
    status: Manifest | None = None,
    selects: str = "eastwest",
    namespace: str = "mesh-east",
    **server: Any,
) -> list[str]:
    """Causes in a mesh whose networks gateways join. labels, ports, status: of the Service of the federation's gateway.

    selects: the gateway that Istio's Gateway is for. namespace, server: the Gateway's.
    """
    observed = well()
    assert observed.service is not None
    of_network = {"labels": {"topology.istio.io/network": "east", **(labels or {})}}
    balanced = {**observed.service, "metadata": of_network, "spec": {"ports": [{"port": one} for one in ports]}}
    balanced |= {} if status is None else {"status": status}
    passing = {"port": {"number": 15443}, "tls": {"mode": "AUTO_PASSTHROUGH"}}
    metadata = {"name": "cross-network", "namespace": namespace}
    found = {"metadata": metadata, "spec": {"selector": {"app": selects}, "servers": [{**passing, **server}]}}
    joined = dataclasses.replace(observed, service=balanced, gateways=(found,), is_joined=True)
    several = {**SCOPED, "volumes": [{"secret": {"secretName": "istio-remote-kubeconfigs"}}]}
    assert joined.control_plane is not None
    (istiod,) = joined.control_plane.istiods
    template = {"template": {**istiod["spec"]["template"], "spec": several}}
    wrong = judged(centre(istiods=({**istiod, "spec": template},))(joined))
    unknown = dataclasses.replace(joined, control_plane=None)
    assert judged(unknown) == wrong
    # In a mesh of one member there is nothing to pass on, and without an endpoint that says so no networks are joined.
    of_the_rest = [one for one in wrong if one[1] != "passes-nothing-on"]
    assert judged(joined) == judged(dataclasses.replace(unknown, is_joined=False)) == of_the_rest
    return [cause for _, cause in wrong]


@pytest.mark.parametrize(
    ("given", "causes"),
    [
        ({}, []),
        ({"tls": {"mode": "ISTIO_MUTUAL"}}, ["passes-nothing-on"]),
        ({"port": {"number": 15444}}, ["passes-nothing-on"]),
        ({"selects": "other"}, ["passes-nothing-on"]),
        ({"namespace": "books"}, ["passes-nothing-on"]),
        ({"ports": (15443, 15444), "labels": {"networking.istio.io/gatewayPort": "15444"}}, ["passes-nothing-on"]),
        ({"labels": {"networking.istio.io/gatewayPort": "15444"}, "tls": {}}, []),
        ({"labels": {"topology.istio.io/network": ""}, "tls": {}}, []),
        # Without an address istiod sends nobody there, and another check says so.
        ({"status": {}, "tls": {}}, ["no-address"]),
    ],
)
def test_a_gateway_that_istiod_takes_for_its_networks_has_to_pass_on(given: Manifest, causes: list[str]) -> None:
    assert crossing(**given) == causes


PODS_LABELS = {"app": "eastwest", "istio": "eastwest", "pod-template-hash": "5f7"}
OF_OTHERS = "Gateway shop in namespace books"


def gateway_pod(name: str = "eastwest", namespace: str = "mesh-east", **labels: str) -> Proxy:
    its = Injected("east", frozenset(), f"deployment/{name}", gateway={**PODS_LABELS, **labels})
    return Proxy(namespace, f"{name}-1", name, "default", True, its)


def gateway_object(namespace: str = "books", selector: dict[str, str] | None = None) -> Manifest:
    spec = {"servers": [], **({} if selector is None else {"selector": selector})}
    return {"metadata": {"name": "shop", "namespace": namespace}, "spec": spec}


@pytest.mark.parametrize("selector", [None, {}, {"istio": "eastwest"}, {"pod-template-hash": "5f7"}])
def test_a_gateway_object_of_another_namespace_is_told_and_by_istiods_setting_is_wrong(
    selector: dict[str, str] | None,
) -> None:
    seen = dataclasses.replace(well(), proxies=(gateway_pod(),), gateways=(gateway_object(selector=selector),))
    assert [(one.check, one.cause) for one in noticed(seen)] == [(OF_OTHERS, "without-effect")]
    assert judged(seen) == []
    (istiod,) = seen.control_plane.istiods if seen.control_plane else ()
    open_to_all = centre(istiods=({**istiod, "spec": _template({"app": "istiod"})},))(seen)
    assert judged(open_to_all) == [(OF_OTHERS, "foreign-gateway")]
    assert noticed(open_to_all) == []
    unknown = dataclasses.replace(seen, control_plane=None)
    assert [(one.check, one.cause) for one in noticed(unknown)] == [(OF_OTHERS, "foreign-gateway")]
    assert judged(unknown) == []


@pytest.mark.parametrize(
    "found", [gateway_object("mesh-east", {"istio": "eastwest"}), gateway_object(selector={"istio": "edge"})]
)
def test_a_gateway_object_beside_its_pods_or_of_other_pods_is_fine(found: Manifest) -> None:
    seen = dataclasses.replace(well(), proxies=(gateway_pod(),), gateways=(found,))
    assert (noticed(seen), judged(seen)) == ([], [])


def test_a_gateway_that_no_federation_uses_any_more_is_told() -> None:
    """Of a mesh that has left: its document is not given any more, and nothing is there but the gateway."""
    left = replaced(**OF_FEDERATIONS)(dataclasses.replace(well(), proxies=(gateway_pod(),)))

    def told(observed: MeshObservation) -> list[tuple[str, str | None]]:
        return [(one.check, one.cause) for one in verdicts(None, "east", [], observed) if one.notice]

    assert told(left) == [(GATEWAY, "unused-gateway")]
    assert alone(left) == []
    # One that others of the mesh use, one of another mesh, and one that a federation still has its policy for.
    assert told(dataclasses.replace(left, gateways=(gateway_object("mesh-east", {"app": "eastwest"}),))) == []
    theirs = dataclasses.replace(gateway_pod(), injected=Injected("west", frozenset(), "deployment/x", gateway={}))
    assert told(dataclasses.replace(left, proxies=(theirs,))) == []
    policies = tuple(one for one in well().objects if one["kind"] == "AuthorizationPolicy")
    assert told(dataclasses.replace(left, of_federations=policies)) == [
        ("federation shops of east", "another-federation")
    ]


def test_what_another_federation_or_a_mesh_that_is_gone_left_is_told() -> None:
    def of(mesh: str, federation: str) -> Manifest:
        labels = {"hosted-mesh.io/mesh": mesh, "hosted-mesh.io/federation": federation}
        return {"kind": "ServiceEntry", "metadata": {"name": "a", "namespace": "books", "labels": labels}, "spec": {}}

    there = (of("east", "old"), of("gone", "shops"), of("north", "shops"))
    seen = dataclasses.replace(well(), of_federations=there, meshes=frozenset({"east", "north"}))
    old, gone = noticed(seen)
    assert (old.check, old.cause) == ("federation old of east", "another-federation")
    assert (gone.check, gone.cause) == ("federation shops of gone", "left-behind")
    assert "1 object (1 ServiceEntry)" in gone.seen
    assert "-l hosted-mesh.io/federation=shops,hosted-mesh.io/mesh=gone`" in gone.fix
    assert judged(seen) == []


def managed(by: str) -> Callable[[MeshObservation], MeshObservation]:
    """A stale ServiceEntry with this field manager."""

    def change(observed: MeshObservation) -> MeshObservation:
        one = copy.deepcopy(stale(observed).objects[-1])
        one["metadata"]["managedFields"] = [{"manager": by}]
        return dataclasses.replace(observed, objects=(*observed.objects, one))

    return change


def fix_of(observed: MeshObservation, cause: str, what: Manifest | None = None) -> str:
    known = federation(what or given())
    (fix,) = {one.fix for one in verdicts(known, "east", with_declared(known, []), observed) if one.cause == cause}
    return fix


def test_what_pulumi_created_is_deleted_by_pulumi_importers_first() -> None:
    for seen in (managed("pulumi-kubernetes-0a1b2c3d")(well()), stale(well())):
        fix = fix_of(seen, "stale-service-entry")
        assert (
            "Run `pulumi up` of the stacks federation with today's document and offers, first of east, then of west"
            in fix
        )
        assert "kubectl delete" not in fix
    what = given()
    what["peers"][0]["exports"] = []
    assert "first of its importers, then of east" in fix_of(well(), "stale-virtual-service", what)


def test_what_another_created_is_deleted_by_hand() -> None:
    fix = fix_of(managed("kubectl-create")(well()), "stale-service-entry")
    assert fix.endswith("`kubectl delete serviceentries.networking.istio.io shops-gone -n mesh-east`")


PAGE_SERVICE: Manifest = {"metadata": {"name": "page", "namespace": "books"}, "spec": {"ports": [{"port": 9080}]}}


def test_an_exported_service_that_went_is_found_with_the_old_offer() -> None:
    """Its objects are all as the document requires, while callers get 503."""
    assert judged(dataclasses.replace(well(), exported=(PAGE_SERVICE,))) == []
    gone, moved = (
        dataclasses.replace(well(), exported=there)
        for there in ((), ({**PAGE_SERVICE, "spec": {"ports": [{"port": 80}]}},))
    )
    check = "exported Service page in namespace books"
    assert judged(gone) == [(check, "missing-service")]
    assert judged(moved) == [(check, "missing-port")]
    assert "first west, then east" in fix_of(gone, "missing-service")


def test_an_offer_older_than_the_labels_is_found() -> None:
    what = given()
    what["peers"][0]["exports"] = [
        {"namespace": "books", "labels": {"export": "yes"}, "to": [{"mesh": "west", "identities": ["a/*"]}]}
    ]
    known = federation(what)

    def labelled(name: str, **labels: str) -> Manifest:
        http = {"name": "http", "port": 80}
        return {"metadata": {"name": name, "namespace": "books", "labels": labels}, "spec": {"ports": [http]}}

    old = offer(known, "east", [labelled("one", export="yes")])

    def found(*services: Manifest) -> list[tuple[str, str, bool]]:
        seen = dataclasses.replace(well(), exported=services)
        told = list(exported(known, "east", [old], seen))
        return [(one.check, str(one.cause), one.ok) for one in told]

    one, two = labelled("one", export="yes"), labelled("two", export="yes")
    assert found(one) == [("exported Services of east", "None", True)]
    assert found(one, two) == [("offer of east", "outdated-offer", True)]
    assert found(labelled("one")) == [("offer of east", "outdated-offer", False)]
    assert found() == [("exported Service one in namespace books", "missing-service", False)]


def test_an_import_that_is_gone_makes_its_entry_stale() -> None:
    what = given()
    what["peers"][0]["imports"] = []
    assert judged(well(), what) == [
        (f"DestinationRule shops-{HOST} in namespace mesh-east", "stale-destination-rule"),
        ("ProxyConfig shops in namespace mesh-east", "stale-proxy-config"),
        (ENTRY, "stale-service-entry"),
    ]


# Of which a mesh has nothing outside of a federation: `observe` reads none of it.
OF_FEDERATIONS: Manifest = {"objects": (), "service": None, "deployment": None, "resolved": {}, "reached": {}}


@pytest.mark.parametrize(
    ("broken", "wrong"),
    [
        (replaced(), []),
        (replaced(root=None), [(ROOT_OF, "missing-root")]),
        (centre(cacerts=None), [(CACERTS, "missing-cacerts")]),
        (centre(istiods=()), [("istiod of east", "no-istiod")]),
        (centre(access=AccessObservation("token-refused", "seen")), [(ACCESS, "token-refused")]),
        (replaced(revisions=frozenset({"canary"})), [("proxies in namespace books", "unknown-revision")]),
        (
            replaced(proxies=(Proxy("mesh-east", "eastwest-1", "eastwest", "default", False),)),
            [("proxies in namespace mesh-east", "not-ready")],
        ),
        (
            replaced(configured=(ProxyConfiguration(PAGE, connected=False),)),
            [("connection of proxies of revision default to istiod", "not-connected")],
        ),
        (clocks(data_plane=-90), [("clock of the API server of the data plane", "clock-skew")]),
    ],
)
def test_a_mesh_without_a_federation_is_judged_by_the_rest(
    broken: Callable[[MeshObservation], MeshObservation], wrong: list[tuple[str, str]]
) -> None:
    assert alone(replaced(**OF_FEDERATIONS)(broken(well()))) == wrong


def test_after_a_tag_was_moved_a_restart_is_enough() -> None:
    observed = replaced(**OF_FEDERATIONS)(replaced(revisions=frozenset({"canary"}))(well()))
    [wrong] = [one for one in verdicts(None, "east", [], observed) if not one.ok]
    assert wrong.fix is not None
    assert wrong.fix.startswith("`kubectl rollout restart deployment -n books`")
    assert "after a tag was moved it has" in wrong.fix


def test_offers_without_a_federation_are_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["doctor", "--mesh=east", f"--offer={tmp_path / 'offer.yaml'}"])
    assert done.exit_code == 1
    assert "--offer: requires a federation. Add" in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--control-plane-kubeconfig=FILE"], "leads to the same API server as --kubeconfig, https://dp.example.com"),
        (["--control-plane-context=dp"], "Name each cluster's context, by --context and --control-plane-context"),
        (["--control-plane-context=nothing"], "--control-plane-context: there is no context 'nothing'"),
    ],
)
def test_one_cluster_given_twice_is_asked_nothing(tmp_path: Path, options: list[str], said: str) -> None:
    file = tmp_path / "kubeconfig"
    named = {"name": "dp", "cluster": {"server": "https://dp.example.com"}}
    context = {"name": "dp", "context": {"cluster": "dp", "user": "dp"}}
    user = {"name": "dp", "user": {"token": "t"}}
    file.write_text(json.dumps({"clusters": [named], "users": [user], "contexts": [context], "current-context": "dp"}))
    asked = [f"--kubeconfig={file}", *(one.replace("FILE", str(file)) for one in options)]
    done = CliRunner().invoke(app, ["doctor", "--mesh=east", *asked])
    assert (done.exit_code, said in " ".join(done.output.split())) == (1, True), done.output


@pytest.mark.parametrize("name", ["", "east/../../secrets", "East"])
def test_what_can_be_no_meshs_name_is_asked_of_no_server(name: str) -> None:
    done = CliRunner().invoke(app, ["doctor", f"--mesh={name}", "--kubeconfig=/nowhere"])
    assert (done.exit_code, "the command line cannot be used, --mesh: must" in done.output) == (1, True)


def test_an_endpoint_of_another_mesh_is_refused(tmp_path: Path) -> None:
    file, endpoint = tmp_path / "federation.yaml", tmp_path / "endpoint.yaml"
    file.write_text(json.dumps(given()))
    endpoint.write_text(ENDPOINT.model_dump_json(by_alias=True, exclude_none=True))
    done = CliRunner().invoke(app, ["doctor", str(file), "--mesh=east", f"--endpoint={endpoint}"])
    assert done.exit_code == 1
    assert "--endpoint: is of mesh demo, not east. Use the endpoint of the same mesh" in " ".join(done.output.split())


STALE = Proxy("books", "old-1", "page", "old", True)


@pytest.mark.parametrize(
    ("proxy", "fields", "is_left"),
    [
        (STALE, {}, True),
        (STALE, {"tags": {"prod": "canary", "stable": "old"}}, False),
        (STALE, {"wishes": {"books": "default", "shop": "prod", "till": "old"}}, False),
        (dataclasses.replace(STALE, label="old"), {}, False),
        (dataclasses.replace(STALE, label="prod"), {}, True),
        (dataclasses.replace(STALE, revision="canary"), {}, False),
        (STALE, {"wishes": None}, False),
    ],
    ids=["nothing", "a tag", "a namespace", "its own label", "a label of a tag", "the tag's", "unknown"],
)
def test_pods_of_a_revision_that_nothing_gives_any_more_are_named(
    proxy: Proxy, fields: dict[str, Any], *, is_left: bool
) -> None:
    """They work, and so were silent: but they keep the revision from being removed."""
    observed = dataclasses.replace(well(), proxies=(PAGE, proxy), **fields)
    has_old = {"revisions": observed.revisions | {"old"}, "answered": observed.answered | {"old"}}
    observed = dataclasses.replace(observed, **has_old, **OF_FEDERATIONS)
    wrong = [one for one in verdicts(None, "east", [], observed) if not one.ok]
    assert [(one.check, one.cause) for one in wrong] == [("proxies in namespace books", "left-revision")] * is_left
    if is_left:
        assert wrong[0].seen == "1 of revision old, which no tag and no namespace gives: old-1"
        assert wrong[0].fix.startswith("`kubectl rollout restart deployment -n books`")


def test_a_revision_can_be_left_once_no_pod_has_it() -> None:
    observed = dataclasses.replace(well(), proxies=(PAGE, STALE), **OF_FEDERATIONS)
    observed = dataclasses.replace(observed, revisions=observed.revisions | {"old"})
    wrong = [one for one in verdicts(None, "east", [], observed, leaving="old") if not one.ok]
    assert [(one.check, one.cause) for one in wrong] == [("revision old", "in-use")]
    assert wrong[0].seen == "1 still have it in namespace books: old-1"
    gone = verdicts(None, "east", [], dataclasses.replace(observed, proxies=(PAGE,)), leaving="old")
    assert all(one.ok for one in gone)
    assert ("revision old", "no Pod has it") in [(one.check, one.seen) for one in gone]


def test_a_report_that_looked_at_no_istiod_says_so() -> None:
    """With the data plane's credential alone it would be the same while istiod is down."""
    (notice,) = not_looked_at(dataclasses.replace(well(), control_plane=None, webhooks=None))
    assert (notice.check, notice.cause, notice.ok) == ("istiod", "not-looked-at", True)
    assert "Add --endpoint" in notice.fix
    assert not_looked_at(well()) == []
