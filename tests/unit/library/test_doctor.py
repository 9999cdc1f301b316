"""For each thing that can be wrong one observation that differs by exactly that: doctor names it, and nothing else."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from pulumi_hosted_mesh.federation.exports import with_declared
from pulumi_hosted_mesh.federation.manifests import objects
from pulumi_hosted_mesh.operations.doctor.check import verdicts
from pulumi_hosted_mesh.operations.doctor.observation import Observed

from tests.support.authorities import DAY, NOW, Authority, pem
from tests.unit.library.test_federation import HOST, REVIEWS, Manifest, document, federation

ROOT = Authority("root", ends=NOW + 1000 * DAY)
OTHER = Authority("other root", ends=NOW + 1000 * DAY)


def files(authority: Authority, root: Authority = ROOT) -> dict[str, str]:
    key = authority.key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    certificate = pem(authority.certificate).decode()
    found = {"ca-cert.pem": certificate, "cert-chain.pem": certificate, "ca-key.pem": key.decode()}
    return found | {"root-cert.pem": pem(root.certificate).decode()}


SIGNED = files(Authority("east", ROOT, ends=NOW + 300 * DAY))


def given() -> Manifest:
    """East exports and imports, so that every kind of object is there."""
    both = document()
    both["peers"][0]["exports"] = [{**REVIEWS, "service": "page", "to": [{"mesh": "west", "identities": ["a/*"]}]}]
    return both


def well(what: Manifest | None = None) -> Observed:
    known = federation(what or given())
    service = {
        "spec": {"ports": [{"port": 15021}, {"port": 15443}]},
        "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}},
    }
    return Observed(
        objects=tuple(copy.deepcopy(objects(known, "east", with_declared(known, [])))),
        service=service,
        deployment={"status": {"readyReplicas": 1}},
        root=pem(ROOT.certificate).decode(),
        resolved={"eastwest.east.example.com": ("192.0.2.7",), "eastwest.west.example.com": ("192.0.2.8",)},
        now=datetime.now(UTC),
        cacerts=SIGNED,
        authority_was_read=True,
    )


def judged(observed: Observed, what: Manifest | None = None) -> list[tuple[str, str]]:
    """Check and cause of what is wrong; each such verdict says what to do next."""
    known = federation(what or given())
    wrong = [one for one in verdicts(known, "east", with_declared(known, []), observed) if not one.ok]
    assert all(one.fix and one.seen for one in wrong)
    return [(one.check, str(one.cause)) for one in wrong]


def test_what_is_well_is_said_to_be() -> None:
    assert judged(well()) == []


def without(kind: str) -> Callable[[Observed], Observed]:
    def change(observed: Observed) -> Observed:
        return dataclasses.replace(observed, objects=tuple(o for o in observed.objects if o["kind"] != kind))

    return change


def edited(kind: str, edit: Callable[[Any], object]) -> Callable[[Observed], Observed]:
    def change(observed: Observed) -> Observed:
        found: list[Any] = copy.deepcopy(list(observed.objects))
        edit(next(one for one in found if one["kind"] == kind))
        return dataclasses.replace(observed, objects=tuple(found))

    return change


def replaced(**fields: Any) -> Callable[[Observed], Observed]:
    return lambda observed: dataclasses.replace(observed, **fields)


def stale(observed: Observed) -> Observed:
    old = copy.deepcopy(next(one for one in observed.objects if one["kind"] == "ServiceEntry"))
    old["metadata"]["name"] = "shops-gone"
    return dataclasses.replace(observed, objects=(*observed.objects, old))


def service(**status: Any) -> Manifest:
    return {"spec": {"ports": [{"port": 15443}]}, "status": status}


ENTRY = f"ServiceEntry shops-{HOST} in namespace mesh-east"
GATEWAY = "gateway eastwest in namespace mesh-east"
ROOT_OF = "root certificate of east"
CACERTS = "Secret cacerts in namespace mesh-east of the control plane"
OWN = "gateway address eastwest.east.example.com of east"
PEERS = "gateway address eastwest.west.example.com of west"
OLD = NOW - DAY


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
        (replaced(cacerts=None), CACERTS, "missing-cacerts"),
        (replaced(cacerts={**SIGNED, "root-cert.pem": ""}), CACERTS, "incomplete-cacerts"),
        (
            replaced(cacerts={**SIGNED, "ca-key.pem": files(OTHER)["ca-key.pem"]}),
            CACERTS,
            "mismatched-cacerts",
        ),
        (replaced(cacerts=files(Authority("east", OTHER))), CACERTS, "mismatched-cacerts"),
        (replaced(cacerts=files(Authority("east", OTHER, ends=NOW + 300 * DAY), OTHER)), CACERTS, "another-root"),
        (replaced(cacerts=files(Authority("east", ROOT, ends=OLD))), CACERTS, "expired"),
        (replaced(cacerts=files(Authority("east", ROOT, ends=NOW + 10 * DAY))), CACERTS, "ends-soon"),
    ],
)
def test_each_fault_is_named_and_nothing_else(broken: Callable[[Observed], Observed], check: str, cause: str) -> None:
    observed = broken(well())
    found = judged(observed)
    # The root's ConfigMap says what proxies have; without it the authority's cannot be held against it.
    assert [one for one in found if one != (CACERTS, "another-root") or check == CACERTS] == [(check, cause)]


def test_a_root_that_ends_is_named_for_its_proxies() -> None:
    ending = Authority("root", ends=NOW + 3 * DAY)
    root = pem(ending.certificate).decode()
    observed = dataclasses.replace(well(), root=root, authority_was_read=False)
    assert judged(observed) == [(ROOT_OF, "ends-soon")]
    later = dataclasses.replace(observed, now=datetime.now(UTC) + timedelta(days=4))
    assert judged(later) == [(ROOT_OF, "expired")]


def test_roots_that_differ_from_the_documents_are_named() -> None:
    what = given()
    for peer in what["peers"]:
        peer["rootCertificate"] = pem(OTHER.certificate).decode()
    observed = dataclasses.replace(well(what), authority_was_read=False)
    assert judged(observed, what) == [(ROOT_OF, "roots-differ")]


def test_the_authority_is_only_looked_at_where_it_was_read() -> None:
    observed = dataclasses.replace(well(), cacerts=None, authority_was_read=False)
    assert judged(observed) == []


def test_no_verdict_and_no_repr_shows_a_key() -> None:
    broken = dataclasses.replace(well(), cacerts={**SIGNED, "ca-cert.pem": SIGNED["ca-key.pem"]})
    known = federation(given())
    said = "\n".join(str(one) for one in verdicts(known, "east", with_declared(known, []), broken))
    key = SIGNED["ca-key.pem"].splitlines()[1]
    assert "mismatched-cacerts" in said
    assert key not in said + repr(broken)


def test_an_import_that_is_gone_makes_its_entry_stale() -> None:
    what = given()
    what["peers"][0]["imports"] = []
    assert judged(well(), what) == [
        (f"DestinationRule shops-{HOST} in namespace mesh-east", "stale-destination-rule"),
        (ENTRY, "stale-service-entry"),
    ]
